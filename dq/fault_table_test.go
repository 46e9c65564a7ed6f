package dq_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	faultTest = regexp.MustCompile(`(?m)^func TestFault(\w+)\(`)
	quoted    = regexp.MustCompile("`(\\w+)`")
)

// The README's Worker is the one of ExampleWorker_Shutdown.
func TestTheWorkerOfTheREADMEIsAnExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	examples, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, snippet, found := strings.Cut(string(readme), "at least once.\n\n```go\n")
	require.True(t, found)
	snippet, _, _ = strings.Cut(snippet, "```")
	require.Contains(t, snippet, "worker.Shutdown(ending)")
	for line := range strings.Lines(snippet) {
		require.Contains(t, string(examples), "\t"+line)
	}
}

// Each row of the README's table of faults names the tests that show it.
func TestTheTableOfFaultsNamesItsTests(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range faultTest.FindAllSubmatch(text, -1) {
			tests[string(found[1])] = true
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
		require.Regexp(t, quoted, cells[4], "a row without a test")
		for _, name := range quoted.FindAllStringSubmatch(cells[4], -1) {
			require.True(t, tests[name[1]], "TestFault%s does not exist: %s", name[1], row)
		}
	}
}
