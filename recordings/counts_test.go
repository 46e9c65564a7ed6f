package recordings_test

import (
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dq-bench/dq-bench/recordings"
	"github.com/stretchr/testify/require"
)

// Each recorded release has a row of dq and a row of Redisson, in that order, and all rows count
// the same cases.
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
	folders, err := fs.ReadDir(recordings.Redisson(), ".")
	require.NoError(t, err)
	require.Len(t, counted, len(folders))
	for _, f := range folders {
		require.True(t, slices.Contains(counted, f.Name()), f.Name())
	}
}
