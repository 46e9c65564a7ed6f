package load

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCPUTimesReadsProcStat(t *testing.T) {
	before := parseCPUTimes("cpu  100 2 30 400 5 6 7 80 9 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	require.Equal(t, cpuTimes{total: 630, idle: 405, steal: 80}, before)
	after := parseCPUTimes("cpu  110 2 30 410 5 6 7 95 9 1\n")
	require.Equal(t, cpuTimes{total: 35, idle: 10, steal: 15}, after.since(before))
}

// A kernel that tells less, or something else, tells nothing.
func TestCPUTimesThatAreNotTold(t *testing.T) {
	for _, stat := range []string{"", "cpu", "cpu 1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x", "\ncpu 1 2 3 4 5 6 7 8"} {
		require.Zero(t, parseCPUTimes(stat), stat)
	}
}

func FuzzCPUTimes(f *testing.F) {
	f.Add("cpu  100 2 30 400 5 6 7 80 9 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	f.Add("cpu -1 9223372036854775807 9223372036854775807 4 5 6 7 8")
	f.Fuzz(func(_ *testing.T, stat string) { _ = parseCPUTimes(stat) })
}
