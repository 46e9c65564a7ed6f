package compare

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/run"
	"github.com/dq-bench/dq-bench/harness/run/runtest"
)

// made is a side of runs a minute apart, each by a share later than the one before.
func made(first uint64, runs int, from time.Time, every time.Duration, scale, perRun float64) []*run.Document {
	var all []*run.Document
	for i := range uint64(runs) {
		r := runtest.Sample(first+i, 10_000, scale*(1+perRun*float64(i)))
		r.Started = from.Add(time.Duration(i) * every)
		all = append(all, r)
	}
	return all
}

// A machine that becomes slower makes the side that was measured later the worse one.
func TestSidesOneAfterTheOther(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	const perRun = .03
	c := compare(t, made(1, 8, start, time.Minute, 1, perRun), made(100, 8, start.Add(time.Hour), time.Minute, 1.24, perRun))
	require.Equal(t, Inconclusive, c.Outcome, c.Text)
	require.Contains(t, c.Text, "not measured in turn")
	require.Contains(t, c.Text, "of OLD rises")

	c = compare(t, made(1, 8, start, time.Minute, 1, 0), made(100, 8, start.Add(time.Hour), time.Minute, 1.24, 0))
	require.Equal(t, Worse, c.Outcome, "nothing rises, so it is not the hour")
	require.Len(t, c.Warnings, 1)

	c = compare(t, made(1, 8, start, 2*time.Minute, 1, perRun), made(100, 8, start.Add(time.Minute), 2*time.Minute, 1, perRun))
	require.NotEqual(t, Worse, c.Outcome, "in turn both have the same hours")
	require.Empty(t, c.Warnings)
}

// A fault is worse whenever it was measured.
func TestLossIsWorseWheneverItCame(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	lossy := made(100, 8, start.Add(time.Hour), time.Minute, 1.24, .03)
	lossy[3].Counts.Lost = 1
	c := compare(t, made(1, 8, start, time.Minute, 1, .03), lossy)
	require.Equal(t, Worse, c.Outcome, c.Text)
}
