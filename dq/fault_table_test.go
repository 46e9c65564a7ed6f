package dq_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	faultTest = regexp.MustCompile(`(?m)^func TestFault(\w+)\(`)
	quoted    = regexp.MustCompile("`(\\w+)`")
)

// The table of faults in the README names, in each row, the tests that show it; every
// test of a fault is named.
func TestTheTableOfFaultsNamesItsTests(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range faultTest.FindAllSubmatch(text, -1) {
			tests[string(found[1])] = false
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(readme), "| tests `TestFault…` |\n|---|---|---|---|---|\n")
	require.True(t, found, "README.md has the table")
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "|") {
			break
		}
		cells := strings.Split(row, " | ")
		require.Len(t, cells, 5, row)
		named := quoted.FindAllStringSubmatch(cells[4], -1)
		require.NotEmpty(t, named, "a row without a test: %s", row)
		for _, name := range named {
			_, exists := tests[name[1]]
			require.True(t, exists, "TestFault%s does not exist: %s", name[1], row)
			tests[name[1]] = true
		}
	}
	maps.DeleteFunc(tests, func(_ string, isNamed bool) bool { return isNamed })
	require.Empty(t, slices.Sorted(maps.Keys(tests)), "tests that no row names")
}
