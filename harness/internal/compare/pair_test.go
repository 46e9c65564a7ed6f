package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
)

// inPairs are runs that were made at the same time: of each pair both are as many times as
// late, up to a hundred times, and NEW is scaled besides.
func inPairs(pairs int, scale float64) (old, new []*run.Document) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range uint64(pairs) {
		machine := 1 + 99*rng.Float64()
		a, b := runtest.Sample(2*i, 10_000, machine), runtest.Sample(2*i+1, 10_000, machine*scale)
		for _, r := range []*run.Document{a, b} {
			r.Beside = &run.Beside{Block: fmt.Sprint(i), Sides: 2}
		}
		old, new = append(old, a), append(new, b)
	}
	rng.Shuffle(pairs, func(i, k int) { new[i], new[k] = new[k], new[i] }) // the blocks say which belong together
	return old, new
}

// What the machine does to both runs of a pair is no difference, however great it is.
func TestPairsSeeWhatTheMachineHides(t *testing.T) {
	old, new := inPairs(MinPairs, 1.2)
	c := compare(t, old, new)
	require.True(t, c.Paired)
	require.Equal(t, Worse, c.Outcome, c.Text)
	old, new = inPairs(MinPairs, 1)
	c = compare(t, old, new)
	require.NotEqual(t, Worse, c.Outcome, c.Text)
	require.NotEqual(t, Better, c.Outcome, c.Text)
}

func TestPairsAreRefusedWhereTheyCannotJudge(t *testing.T) {
	old, new := inPairs(MinPairs-1, 2)
	c := compare(t, old, new)
	require.True(t, c.Paired)
	require.Equal(t, Inconclusive, c.Outcome)
	require.Contains(t, c.Text, "in pairs needs at least 10 runs")

	old, new = inPairs(MinPairs, 2)
	new[3].Beside.Block = "of another run"
	c = compare(t, old, new)
	require.False(t, c.Paired)
	require.Contains(t, c.Warnings[0], "not each has one partner")

	old, new = inPairs(MinPairs+1, 1.2)
	old[4].Validity = &run.Validity{Reasons: []string{"too slow"}}
	_, err := Runs(old, new, DefaultOptions())
	require.ErrorContains(t, err, "it is invalid: too slow", "which may be its own doing")
	for _, r := range new {
		if r.Beside.Block == old[4].Beside.Block {
			r.Validity = old[4].Validity
		}
	}
	c = compare(t, old, new)
	require.Equal(t, Worse, c.Outcome, c.Text)
	require.Equal(t, MinPairs, c.Old.Runs)
	require.Contains(t, c.Warnings[0], "left out 1 of 11 pairs")

	old, _ = inPairs(MinPairs, 2)
	_, err = Runs(old, side(100, MinPairs, 1), DefaultOptions())
	require.ErrorContains(t, err, "beside: 2 sides at the same time is not one side at a time")
}

// The p99 per second is compared second by second: what one second does to both is no
// difference.
func TestSecondsOfAPairAreTheSameSeconds(t *testing.T) {
	old, new := &run.Document{}, &run.Document{}
	for i, p99 := range []int64{1e6, 80e6, 3e6, 500e6, 2e6} {
		second := run.Interval{Second: float64(i + 1), Delivered: 1000, PastDueP99: p99}
		old.Intervals = append(old.Intervals, second)
		second.PastDueP99 += p99 / 10
		new.Intervals = append(new.Intervals, second)
	}
	new.Intervals = new.Intervals[1:] // one side may lack one
	require.InDelta(t, 1.1, ratioOfSeconds(old, new, "past_due"), 1e-9)
	new.Intervals[0].Delivered = 10
	new.Intervals[1].Delivered = 10
	require.NotEqual(t, 1.1, ratioOfSeconds(old, new, "past_due"), "too few seconds that both fill")
}
