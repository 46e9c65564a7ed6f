package scenarios_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var questionRow = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| [^|]+\\? \\|$")

// The README has a question for every scenario of its folder, in the order of their names.
func TestScenariosAnswerAQuestion(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"load", "fault"} {
		readme, err := os.ReadFile(folder + "/README.md")
		require.NoError(t, err)
		var asked, there []string
		for _, row := range questionRow.FindAllSubmatch(readme, -1) {
			asked = append(asked, string(row[1]))
		}
		files, err := filepath.Glob(folder + "/*.yaml")
		require.NoError(t, err)
		for _, file := range files {
			there = append(there, strings.TrimSuffix(filepath.Base(file), ".yaml"))
		}
		slices.Sort(there)
		require.Equal(t, there, asked)
	}
}
