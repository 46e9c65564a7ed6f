package compare

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// hiccups are runs of ten seconds of which the machine spoils two, so that the p99 of a
// run is that of the hiccup.
func hiccups(first uint64, runs int, tail float64) []*run.Document {
	var all []*run.Document
	rng := rand.New(rand.NewPCG(first, 1))
	for i := range uint64(runs) {
		r := runtest.Sample(first+i, 10_000, 1)
		stall := 5e6 * (1 + 9*rng.Float64())
		for range 300 {
			r.Histograms.Lateness.Record(int64(stall))
			r.Histograms.PastDue.Record(int64(stall))
		}
		r.Intervals = nil
		for second := range 10 {
			p99 := tail * 1e6 * (1 + .1*rng.Float64())
			if second%5 == 0 {
				p99 = stall
			}
			r.Intervals = append(r.Intervals, run.Interval{Second: float64(second + 1), Delivered: 1000, P99: int64(p99), PastDueP99: int64(p99)})
		}
		all = append(all, r)
	}
	return all
}

func TestAHiccupDoesNotMoveTheMedianSecond(t *testing.T) {
	c := compare(t, hiccups(1, 10, 1), hiccups(100, 10, 1.2))
	require.Equal(t, Worse, c.Outcome, c.Text)
	require.Equal(t, "NEW is worse in lateness at p99 per second.", c.Text)
	for _, row := range c.Rows {
		if row.Stat == PerSecond {
			require.InDelta(t, 1.2, *row.Ratio, .04)
			require.Less(t, *row.RatioLow, *row.Ratio)
			require.Greater(t, *row.RatioHigh, *row.Ratio)
		}
	}
	c = compare(t, hiccups(1, 10, 1), hiccups(200, 10, 1))
	require.Contains(t, []Outcome{NoDifference, Inconclusive}, c.Outcome, c.Text)
}

// Where the meter says which seconds the machine has spoilt, more than half of them may be.
func TestTheCalmerSecondsAreJudged(t *testing.T) {
	stormy := func(first uint64, tail float64) []*run.Document {
		runs := hiccups(first, 10, tail)
		rng := rand.New(rand.NewPCG(first, 2))
		for _, r := range runs {
			for i := range r.Intervals {
				if second := &r.Intervals[i]; i%5 != 2 && i%5 != 3 {
					stall := int64(5e6 * (1 + 9*rng.Float64()))
					second.P99, second.PastDueP99, second.HiccupNs = stall, stall, 2*stall
				}
			}
			r.Intervals = append(r.Intervals, r.Intervals[2], r.Intervals[3])
		}
		return runs
	}
	c := compare(t, stormy(1, 1), stormy(100, 1.2))
	require.Equal(t, "NEW is worse in lateness at p99 per second.", c.Text)
	c = compare(t, stormy(1, 1), stormy(200, 1))
	require.Contains(t, []Outcome{NoDifference, Inconclusive}, c.Outcome, c.Text)
}

// Seconds in which hardly anything was delivered do not count.
func TestSecondsWithFewMessagesDoNotCount(t *testing.T) {
	few := hiccups(1, 6, 1)
	for _, r := range few {
		for i := range r.Intervals {
			r.Intervals[i].Delivered = 100
		}
	}
	for _, row := range compare(t, few, hiccups(100, 6, 1)).Rows {
		require.NotEqual(t, PerSecond, row.Stat)
	}
}

// One run that did not measure response time takes it from the others, which a reader is to know.
func TestARunWithoutResponseTimeIsNamed(t *testing.T) {
	var with, without []*run.Document
	for i := range uint64(12) {
		with, without = append(with, runtest.Sample(i, 1000, 1)), append(without, runtest.Sample(100+i, 1000, 1))
	}
	c := compare(t, with, without)
	require.Empty(t, c.Warnings)
	without[3].Histograms.ResponseTime = nil
	c = compare(t, with, without)
	require.Len(t, c.Warnings, 1)
	require.Contains(t, c.Warnings[0], "judged by offer RTT, as 1 of 24 runs have no response time")
	require.Contains(t, c.Warnings[0], without[3].RunID)
	for _, r := range append(with, without...) {
		r.Histograms.ResponseTime = nil
	}
	require.Empty(t, compare(t, with, without).Warnings)
}
