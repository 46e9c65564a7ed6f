package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command line that can never be right ends with 2, says why in one line, and writes nothing.
func TestUsage(t *testing.T) {
	lines, err := os.ReadFile("testdata/usage.txt")
	require.NoError(t, err)
	folder := t.TempDir()
	t.Chdir(folder)
	for line := range strings.Lines(string(lines)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(strings.TrimSpace(line), func(t *testing.T) {
			command, pattern, _ := strings.Cut(strings.TrimSpace(line), " =>")
			args := strings.Fields(command)
			for strings.HasPrefix(args[0], "DQ_") {
				name, value, _ := strings.Cut(args[0], "=")
				t.Setenv(name, value)
				args = args[1:]
			}
			var out, errs strings.Builder
			require.Equal(t, exitUsage, Execute(args, strings.NewReader(""), &out, &errs), errs.String())
			require.Empty(t, out.String())
			require.Regexp(t, strings.TrimSpace(pattern), errs.String())
		})
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, left)
}
