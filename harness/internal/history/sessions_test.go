package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// madeInARow are the values of versions each of which was measured so many times in a row: every session is off by
// apart, and every run of it by within, both standard deviations of the logarithm. From a version on they are as many
// times as great.
func madeInARow(random *rand.Rand, sessions []int, apart, within float64, at int, times float64) *Figure {
	f := &Figure{Histogram: "lateness", Stat: "p50", Unit: "ns", isTime: true}
	for i, n := range sessions {
		level := math.Exp(apart * random.NormFloat64())
		if i >= at {
			level *= times
		}
		var values []*float64
		for range n {
			v := 1e6 * level * math.Exp(within*random.NormFloat64())
			values = append(values, &v)
		}
		f.Values, f.Medians = append(f.Values, values), append(f.Medians, medianOf(values))
	}
	return f
}

// Versions that are measured six times in a row each, on a machine whose hours differ: none is worse in 95 of 100
// series, although the runs show a change at every one; what is twice as much is seen with four sessions before it, and
// what is half as much again with nine.
func TestSessionsThatDifferAreNoChange(t *testing.T) {
	simulates(t)
	const series, all, ofTen = 200, .05, .005 // levels: of one figure, and of each of ten
	for i, row := range []struct {
		versions, newest int // and runs of the newest
		apart, times     float64
		level            float64
		least, most      int // per cent of the series in which the newest is worse
	}{
		{10, 6, 0, 1, all, 0, 5},
		{10, 6, .05, 1, all, 0, 5},
		{10, 6, .1, 1, all, 0, 5},
		{4, 6, .1, 1, all, 0, 5},
		{5, 6, .1, 1, all, 0, 5},
		{40, 6, .1, 1, all, 0, 5},
		{10, 2, .05, 1, all, 0, 7}, // a session of fewer runs is off by more than the others
		{10, 6, .05, 2, ofTen, 100, 100},
		{10, 6, .1, 2, ofTen, 95, 100},
		{10, 6, .05, 1.5, ofTen, 95, 100},
		{10, 6, .05, 1.2, ofTen, 25, 50},
		{6, 6, .05, 2, ofTen, 95, 100},
		{5, 6, .05, 2, ofTen, 80, 100},
		{4, 6, .05, 2, ofTen, 30, 60},
		{3, 6, .05, 10, ofTen, 0, 0},
	} {
		random := rand.New(rand.NewPCG(uint64(i), 6))
		runs := slices.Repeat([]int{6}, row.versions)
		runs[row.versions-1] = row.newest
		of, inTime := &strata{sittings: 1}, 0
		for at, n := range runs {
			of.order = append(of.order, nil)
			for range n {
				of.order[at] = append(of.order[at], inTime)
				inTime++
			}
			of.sitting, of.session = append(of.sitting, make([]int, n)), append(of.session, slices.Repeat([]int{at}, n))
		}
		worse := 0
		for range series {
			f := madeInARow(random, runs, row.apart, .05, row.versions-1, row.times)
			c := of.contrasts(f)
			f.set(c.find(t.Context(), make([]Point, row.versions), row.level), c.levels, DefaultOptions())
			if c := f.newest(); c != nil && c.Outcome == Worse {
				worse++
			}
		}
		percent := float64(100*worse) / series
		t.Logf("%2d versions, the newest of %d runs, %3g times as much, hours %2g %% apart, level %g: worse in %g %% of the series",
			row.versions, row.newest, row.times, 100*row.apart, row.level, percent)
		require.GreaterOrEqual(t, percent, float64(row.least), "%+v", row)
		require.LessOrEqual(t, percent, float64(row.most), "%+v", row)
	}
}

// samplesInARow are so many runs of each version, made in a row.
func samplesInARow(each int, scale ...float64) []*run.Document {
	var versions []string
	for i := range scale {
		versions = append(versions, slices.Repeat([]string{fmt.Sprintf("1.%d", i)}, each)...)
	}
	return samples(func(i int) float64 { return scale[i/each] }, versions...)
}

// Of runs in a row it is the sessions that tell.
func TestRunsInARowShareTheirHour(t *testing.T) {
	h, err := Of(t.Context(), samplesInARow(4, 1, 1.1, .9, 1.05, 1, .95, 1.15, 3), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
	require.Equal(t, "1.7", h.FirstWorse)
	require.Contains(t, h.Text, " It is more than 8 sessions differ by.")
	require.Equal(t, []string{"the runs of 8 points of 8, such as 1.7, were made in a row and share their hour: " +
		"each such session counts once, and it takes 4 sessions or runs in turn at the least"}, h.Notes)

	h, err = Of(t.Context(), samplesInARow(4, 1, 1.2, .8, 1.1, 1, .8, 1.3, 1.5), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Unchanged, h.Outcome, h.Text)
	require.Regexp(t, `^No change was seen in 32 runs at 8 points\. By the runs lateness p[0-9]+ is [0-9.]+ [mµ]?s since 1\.[67], and was [0-9.]+ [mµ]?s before; `+
		`but the runs of 8 points of 8 were made in a row, and that is no more than 8 sessions differ by: `+
		`to be sure, measure both in turn and compare\.$`, h.Text)

	h, err = Of(t.Context(), samplesInARow(8, 1, 1, 3), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, Inconclusive, h.Outcome)
	require.Contains(t, h.Text, "Inconclusive: 24 runs were made in 3 sessions; at least 4 are needed to see a change. By the runs lateness p")
	require.Contains(t, h.Text, " and 3 sessions cannot tell that from a change: to be sure, measure both in turn and compare.")
}

// Runs that were made in turn, or one of each version, are each for itself, and so are those beside a reference.
func TestRunsThatShareNoHour(t *testing.T) {
	for name, row := range map[string]struct {
		versions []string
		note     string
	}{
		"in turn":           {repeated(12, "1", "2"), ""},
		"there and back":    {repeated(6, "1", "2", "2", "1"), ""},
		"one run each":      {append(oneEach(15), "2", "3", "4", "5", "6"), ""},
		"the newest is not": {append(oneEach(20), repeated(6, "2")...), "the runs of 1 point of 21, such as 2, were made in a row"},
		"three at a time":   {repeated(4, "1", "1", "1", "2", "2", "2"), "the runs of 2 points of 2, such as 2, were made in a row"},
	} {
		h, err := Of(t.Context(), samples(func(i int) float64 {
			if row.versions[i] >= "2" {
				return 3
			}
			return 1
		}, row.versions...), DefaultOptions())
		require.NoError(t, err)
		require.Equal(t, Worse, h.Outcome, "%s: %s", name, h.Text)
		if row.note == "" {
			require.Empty(t, h.Notes, name)
			require.NotContains(t, h.Text, "in a row", name)
		} else {
			require.Contains(t, h.Notes[0], row.note, name)
		}
	}
	var runs []*run.Document
	for i, r := range samplesInARow(8, 1, 3) {
		reference := samples(flat, "0")[0]
		reference.RunID, reference.Started = fmt.Sprintf("a%07x", i), r.Started
		r.Beside = &run.Beside{Block: fmt.Sprint(i), Sides: 2}
		reference.Beside = r.Beside
		runs = append(runs, r, reference)
	}
	o := DefaultOptions()
	o.Reference = "dq:0"
	h, err := Of(t.Context(), runs, o)
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
	require.Empty(t, h.Notes)

	for _, r := range runs[16:] { // the newer ones and what was beside them
		r.Started = r.Started.AddDate(0, 0, 1)
	}
	h, err = Of(t.Context(), runs, o)
	require.NoError(t, err)
	require.Equal(t, Worse, h.Outcome)
	require.Len(t, h.Notes, 1)
	require.Contains(t, h.Notes[0], "no sitting has runs from before 1.1 and since")
}

// Hours in which messages are lost are one fault each, however many of their runs lose some.
func TestSessionsThatLoseAreNoChange(t *testing.T) {
	const series, versions, each = 200, 10, 6
	inARow := func(bySession bool, random *rand.Rand, chance func(i int) float64) bool {
		s := &sorted{}
		for i := range versions {
			p := point{name: fmt.Sprint(i)}
			bad := random.Float64() < chance(i)
			for k := range each {
				r := &run.Document{Counts: run.Counts{Offered: 3000}, Started: time.Unix(int64(i*each+k), 0)}
				if bad && random.Float64() < .7 {
					r.Counts.Lost = 1 + random.Int64N(5)
				}
				p.runs = append(p.runs, r)
			}
			s.points, s.runs = append(s.points, p), append(s.runs, p.runs...)
		}
		if bySession {
			s.strata = strataOf(s.points)
		}
		changes, alarm := changesOf(t, s)
		return alarm && changes["lost"].Outcome == Worse
	}
	for _, chance := range []float64{.2, .5} {
		alarms := map[bool]int{}
		for _, bySession := range []bool{false, true} {
			random := rand.New(rand.NewPCG(7, 8))
			for range series {
				if inARow(bySession, random, func(int) float64 { return chance }) {
					alarms[bySession]++
				}
			}
		}
		t.Logf("hours that lose with chance %g: worse in %d of %d series, by the runs alone in %d", chance, alarms[true], series, alarms[false])
		require.LessOrEqual(t, alarms[true], series*5/100)
	}
	found := 0
	random := rand.New(rand.NewPCG(9, 10))
	for range series {
		if inARow(true, random, func(i int) float64 { return []float64{.15, 1}[i/5] }) {
			found++
		}
	}
	t.Logf("one hour in seven loses, and from version 5 on each: worse in %d of %d series", found, series)
	require.GreaterOrEqual(t, found, series*50/100)
}

// simulates marks a test that computes hundreds of series, in one goroutine: beside the others, and not for the race
// detector, under which they take minutes.
func simulates(t *testing.T) {
	t.Helper()
	if redistest.Racing {
		t.Skip("one goroutine that computes for minutes: nothing can race")
	}
	t.Parallel()
}
