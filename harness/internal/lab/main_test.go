package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const results = "../../../docs/results.md"

var update = flag.Bool("update", false, "write the conformance section of docs/results.md")

// The conformance section of docs/results.md is the table of recordings/counts.tsv.
func TestConformanceSection(t *testing.T) {
	counts, err := os.ReadFile("../../../recordings/counts.tsv")
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(counts)), "\n")[1:]
	var releases [][]string
	for i := 0; i < len(rows); i += 2 {
		dq, redisson := strings.Split(rows[i], "\t"), strings.Split(rows[i+1], "\t")
		releases = append(releases, append(append(dq[:1:1], dq[3:]...), redisson[3:]...))
	}
	section := asTable([]string{"release", "dq: pass", "skip", "fail", "Redisson: pass", "skip", "fail"}, releases)
	if *update {
		require.NoError(t, writeSection(results, "conformance", section))
	}
	page, err := os.ReadFile(results)
	require.NoError(t, err)
	require.Contains(t, string(page), section, "write it by: go test ./harness/internal/lab -update")
	require.LessOrEqual(t, len(strings.Fields(string(page))), 900)
}

func TestWriteKeepsTheRest(t *testing.T) {
	page := filepath.Join(t.TempDir(), "results.md")
	require.NoError(t, os.WriteFile(page, []byte("a\n<!-- one: make one -->\nold\n<!-- end -->\nb\n<!-- two: make two -->\n<!-- end -->\n"), 0o600))
	require.NoError(t, writeSection(page, "one", asTable([]string{"n"}, [][]string{{"-1,234,567"}, {"123"}})))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- one: make one -->\n\n|n|\n|-|\n|-1,234,567|\n|123|\n\n<!-- end -->\nb\n<!-- two: make two -->\n<!-- end -->\n", string(text))
	require.ErrorContains(t, writeSection(page, "three", ""), "<!-- three: command -->")
}
