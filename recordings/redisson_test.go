package recordings_test

import (
	"io/fs"
	"os"
	"strconv"
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
	unpacked := map[string]map[string][]byte{}
	for _, release := range releases {
		unpacked[release] = recordings.Redisson(release)
	}
	require.Nil(t, recordings.Redisson("3.20.1"))
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(row, "\t")
		require.Len(t, cells, len(releases)+1, row)
		section, _, _ := strings.Cut(cells[0], "/")
		for i, from := range cells[1:] {
			if from == "" {
				continue
			}
			absent, _, cases := recordings.Split(unpacked[releases[i]][section])
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
		_, order, cases := recordings.Split(text)
		require.Len(t, cases, len(order), "%s: a case is there twice", path)
		for _, id := range order {
			release := strings.Split(path, "/")[1]
			require.True(t, used[release+" "+id], "%s at %s is stored and not in the index", id, release)
		}
	}
}

// Each recorded release has a row of dq and a row of Redisson, in that order, and all rows count the same cases.
func TestCounts(t *testing.T) {
	text, err := os.ReadFile("counts.tsv")
	require.NoError(t, err)
	head, rows, _ := strings.Cut(string(text), "\n")
	require.Equal(t, "release\tlevel\tdriver\tpass\tskip\tfail", head)
	var counted []string
	cases := 0
	for i, row := range strings.Split(strings.TrimSuffix(rows, "\n"), "\n") {
		cells := strings.Split(row, "\t")
		require.Len(t, cells, 6, row)
		require.Contains(t, []string{"wire", "exchange", "state"}, cells[1], row)
		require.Equal(t, []string{"dq", "redisson"}[i%2], cells[2], row)
		if i%2 == 0 {
			counted = append(counted, cells[0])
		}
		require.Equal(t, counted[len(counted)-1], cells[0], row)
		sum := 0
		for _, cell := range cells[3:] {
			n, err := strconv.Atoi(cell)
			require.NoError(t, err, row)
			sum += n
		}
		if cases == 0 {
			cases = sum
		}
		require.Equal(t, cases, sum, row)
	}
	require.ElementsMatch(t, recordings.Releases(), counted)
}
