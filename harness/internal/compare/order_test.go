package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/run/runtest"
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

// What an evening does to its later runs looks the same as a change, however often the sides were measured.
func TestASideThatComesFirstInEachSitting(t *testing.T) {
	for order, want := range map[string]string{
		"aaabbb aaabbb aaabbb aaabbb aaabbb aaabbb": "OLD came first in each of 6 sittings",
		"aaabbb aaabbb":           "OLD came first in each of 2 sittings",
		"ba ba ba ba ba ba ba ba": "NEW came first in each of 8 sittings",
		"ab ab ab ab ab ab ba ab": "OLD came first in 7 of 8 sittings",
		"aa ab ab ab ab ab ab bb": "OLD came first in each of 6 sittings",
		"ab ba ab ba ab ba ab ba": "",
		"abababababab":            "",
		"ababab ababab ababab":    "",
		"abba abba abba abba":     "",
		"aabb bbaa aabb bbaa":     "",
	} {
		var old, new []*run.Document
		at := time.Date(2026, 11, 1, 20, 0, 0, 0, time.UTC)
		for evening, runs := range strings.Fields(order) {
			for i, side := range runs {
				r := runtest.Sample(uint64(100*evening+i), 10_000, 1)
				r.Started = at.AddDate(0, 0, evening).Add(time.Duration(i) * time.Minute)
				if side == 'a' {
					old = append(old, r)
				} else {
					r.Histograms = runtest.Sample(uint64(100*evening+i), 10_000, 1.5).Histograms
					new = append(new, r)
				}
			}
		}
		c := compare(t, old, new)
		require.Equal(t, Worse, c.Outcome, order)
		if want == "" {
			require.Empty(t, c.Warnings, order)
			continue
		}
		require.Len(t, c.Warnings, 1, order)
		require.Contains(t, c.Warnings[0], "the sides were not measured in turn")
		require.Contains(t, c.Warnings[0], ": "+want+",", order)
	}
}

// Runs at the same time came in no order, also where some have lost their partner.
func TestRunsAtTheSameTimeHaveNoFirst(t *testing.T) {
	start := time.Date(2026, 11, 1, 20, 0, 0, 0, time.UTC)
	old, new := made(1, 8, start, 24*time.Hour, 1, 0), made(100, 8, start, 24*time.Hour, 1.5, 0)
	for i := range old {
		old[i].Beside, new[i].Beside = &run.Beside{Block: fmt.Sprint("a", i), Sides: 2}, &run.Beside{Block: fmt.Sprint("b", i), Sides: 2}
	}
	c := compare(t, old, new)
	require.Equal(t, Worse, c.Outcome, c.Text)
	require.NotContains(t, strings.Join(c.Warnings, " "), "came first")
}

// A fault is worse whenever it was measured.
func TestLossIsWorseWheneverItCame(t *testing.T) {
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	lossy := made(100, 8, start.Add(time.Hour), time.Minute, 1.24, .03)
	lossy[3].Counts.Lost = 1
	c := compare(t, made(1, 8, start, time.Minute, 1, .03), lossy)
	require.Equal(t, Worse, c.Outcome, c.Text)
}
