package recordings_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/recordings"
)

// Each release has each of its cases with a mark and lines, or a reason why not; each stored form is used.
func TestIndexIsWhole(t *testing.T) {
	index, err := recordings.Files.ReadFile("redisson/index.tsv")
	require.NoError(t, err)
	head, rows, _ := strings.Cut(strings.TrimSuffix(string(index), "\n"), "\n")
	releases := strings.Split(head, "\t")[1:]
	used := map[string]bool{}
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(row, "\t")
		section, _, _ := strings.Cut(cells[0], "/")
		for i, from := range cells[1:] {
			if from == "" {
				continue
			}
			text, err := fs.ReadFile(recordings.Redisson(), releases[i]+"/"+section+".monitor")
			require.NoError(t, err)
			absent, _, cases := recordings.Split(text)
			if why, ok := strings.CutPrefix(from, recordings.Absent); ok {
				require.Equal(t, why, absent[cells[0]])
				continue
			}
			require.Contains(t, string(cases[cells[0]]), "\n", "%s at %s", cells[0], releases[i])
			used[from+" "+cells[0]] = true
		}
	}
	paths, err := fs.Glob(recordings.Files, "redisson/*/*.monitor")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := recordings.Files.ReadFile(path)
		require.NoError(t, err)
		_, order, _ := recordings.Split(text)
		for _, id := range order {
			release := strings.Split(path, "/")[1]
			require.True(t, used[release+" "+id], "%s at %s is stored and not in the index", id, release)
		}
	}
}
