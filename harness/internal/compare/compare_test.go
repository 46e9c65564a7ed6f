package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// runs returns n runs of a version, two minutes apart, the later minute for odd seeds.
func runs(seed uint64, n int, scale float64) (all []*run.Document) {
	for i := range uint64(n) {
		r := run.Sample(seed+2*i, 20_000, scale*(1+.02*float64(i%3)))
		r.Started = time.Date(2026, 1, 1, 0, int(2*i+seed%2), 0, 0, time.UTC)
		all = append(all, r)
	}
	return all
}

func judge(t *testing.T, old, new []*run.Document) *Comparison {
	t.Helper()
	c, err := Sets(t.Context(), []Set{{"old", old}, {"new", new}}, Options{})
	require.NoError(t, err)
	_, err = json.Marshal(c)
	require.NoError(t, err, "no figure is infinite")
	return c
}

func TestTwoSets(t *testing.T) {
	for name, row := range map[string]struct {
		n     int
		scale float64
		edit  func(old, new []*run.Document)
		want  Outcome
		text  string
	}{
		"a fifth later":  {8, 1.2, nil, Worse, "NEW is worse: lateness p50 +2"},
		"earlier":        {8, .8, nil, Better, "NEW is better: lateness p50 −"},
		"the same":       {8, 1, nil, NoDifference, "No difference: "},
		"one run a side": {1, 3, nil, Inconclusive, "Inconclusive: a judgement needs 6 runs a side, here are 1 and 1."},
		"five runs":      {5, 3, nil, Inconclusive, "needs 6 runs a side, here are 5 and 5"},
		"one loss":       {1, 1, func(_, new []*run.Document) { new[0].Counts.Lost = 1 }, Worse, "NEW is worse: 0.005 % of its messages were lost (BASE: 0 %)."},
		"loss of both":   {8, 1, func(old, new []*run.Document) { old[0].Counts.Lost, new[0].Counts.Lost = 5, 6 }, NoDifference, "No difference"},
		"a worse loss in one run": {8, 1, func(old, new []*run.Document) {
			old[0].Counts.Lost, new[0].Counts.Lost = 5, 60
		}, NoDifference, "Not more than the runs differ: 0.0375 % of its messages were lost"},
		"loss in half of the runs": {12, 1, func(old, new []*run.Document) {
			old[0].Counts.Lost = 1
			for i := range 8 {
				new[i].Counts.Lost = 7
			}
		}, Worse, "were lost (BASE: "},
		"a program that failed": {1, 1, func(_, new []*run.Document) {
			new[0].AgentFaults = []run.AgentFault{{Agent: "port.py:1", Second: 4.3, Text: "load.close: stopped answering"}}
		}, Worse, "NEW is worse: 100 % of its runs failed (BASE: 0 %): port.py:1 at 4.3 s: load.close: stopped answering."},
		"a base that failed": {8, 1, func(old, _ []*run.Document) {
			old[0].Verdict, old[0].Warmup = run.Verdict{Text: "Failed: 2 of the warm-up lost."}, &run.Warmup{Lost: 2}
		}, NoDifference, "No difference"},
		"overdue": {8, 1, func(_, new []*run.Document) { new[0].Counts.Pending = 1 }, Worse, "were due and never came"},
		"later the next day": {8, 1.2, func(_, new []*run.Document) {
			for _, r := range new {
				r.Started = r.Started.AddDate(0, 0, 1)
			}
		}, Worse, "NEW is worse"},
		"rising and later the next day": {12, 1.2, func(old, new []*run.Document) {
			for i, r := range new {
				*r = *run.Sample(uint64(100+i), 20_000, 1+.1*float64(i))
				r.Started = old[i].Started.AddDate(0, 0, 1)
			}
		}, Inconclusive, "Inconclusive: the sets were not measured by turns, so the hour may be what differs, for lateness p50 of NEW rises from run to run. Otherwise: NEW is worse"},
		"noisy, the server more": {8, 1, func(old, new []*run.Document) {
			for i, r := range slices.Concat(old, new) {
				r.Histograms = run.Sample(uint64(300+i), 20_000, 1+.5*float64(i%2)).Histograms
				r.ServerStats.CPUSeconds = .5 + float64(i%2)
			}
		}, Inconclusive, "Inconclusive: lateness p50"},
		"two invalid of eight": {8, 1.2, func(_, new []*run.Document) {
			new[1].Validity, new[4].Validity = &run.Validity{Reasons: []string{"the tool was slow"}}, &run.Validity{Reasons: []string{"the tool was slow"}}
		}, Worse, "NEW is worse"},
		"all interrupted": {6, 1.2, func(_, new []*run.Document) {
			for _, r := range new {
				r.Interrupted, r.Counts.Lost = true, 2
			}
		}, Inconclusive, "needs 6 runs a side, here are 6 and 0"},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := runs(100, row.n, 1), runs(1001, row.n, row.scale)
			if row.edit != nil {
				row.edit(old, new)
			}
			c := judge(t, old, new)
			require.Equal(t, row.want, c.Outcome, c.Text)
			require.Contains(t, c.Text, row.text)
			if c.Outcome == Inconclusive && row.n < MinRuns {
				require.Equal(t, "dq-bench run --driver dq:4.7.0 --driver dq:4.7.0 --warmup 1s --repeat 6", c.Next)
			}
			for _, s := range c.Judged() {
				require.NotEmpty(t, s.Runs)
			}
			switch name {
			case "two invalid of eight":
				require.Equal(t, 6, c.Sets[1].Runs)
				require.Len(t, c.LeftOut, 2)
				require.Contains(t, c.LeftOut[0], "dq:4.7.0 of 2026-01-01T00:03:00Z: it is invalid: the tool was slow")
			case "all interrupted":
				require.Contains(t, c.LeftOut[0], "it was interrupted, with 2 lost")
			case "a base that failed":
				require.Equal(t, []string{"1 of 8 runs of BASE failed; the first one: Failed: 2 of the warm-up lost"}, c.Notes)
			case "later the next day":
				require.Contains(t, c.Notes[0], "no drift was found within a set")
			}
		})
	}
}

// A headline figure that the runs are too short for is named, with the length that they need. The median needs few messages.
func TestShortRunsNameWhatTheyCannotJudge(t *testing.T) {
	short := func(seed uint64, messages int, scale float64) []*run.Document {
		all := runs(seed, 8, 1)
		for i, r := range all {
			r.Histograms = run.Sample(seed+2*uint64(i), messages, scale).Histograms
		}
		return all
	}
	c := judge(t, short(100, 4500, 1), short(1001, 4500, 5))
	require.Equal(t, Worse, c.Outcome)
	require.Regexp(t, `NEW is worse: lateness p50 \+\S+ % \(.*, lateness p90 \S+ %\. Not judged: lateness p99, response time p99\.$`, c.Text)
	require.Equal(t, []string{
		"lateness p99 not judged: 45 of 100 messages beyond it in the shortest run; make runs longer: --duration 23s",
		"response time p99 not judged: 45 of 100 messages beyond it in the shortest run; make runs longer: --duration 23s",
	}, c.Notes)

	old, new := short(100, 15, 1), short(1001, 15, 5)
	c = judge(t, old, new)
	require.Equal(t, Inconclusive, c.Outcome)
	require.Contains(t, c.Text, "Not judged: lateness p99, response time p99, lateness p50, response time p50.")
	require.Contains(t, c.Next, " --duration 6667s --warmup 1s --repeat 8")
	for _, r := range append(old, new...) {
		r.Scenario.Name, r.Scenario.Duration = "spring-demo/slow", "100ms"
	}
	require.Contains(t, judge(t, old, new).Next, " --file spring-demo --variant slow --duration 67s --repeat 8")

	old, new = inPairs(MinPairs, 5)
	for i := range old {
		a, b := run.Sample(uint64(i), 100, 1), run.Sample(uint64(50+i), 100, 5)
		old[i].Histograms, new[i].Histograms = a.Histograms, b.Histograms
	}
	c = judge(t, old, new)
	require.Equal(t, Worse, c.Outcome, c.Text)
	require.Contains(t, c.Text, "lateness p50")
}

func TestRunsThatDifferAreRefused(t *testing.T) {
	host := run.Environment{OS: "linux", Arch: "amd64", CPUs: 2, GoVersion: "go1.26", GOMAXPROCS: 2}
	for name, row := range map[string]struct {
		edit func(new []*run.Document)
		want string
	}{
		"rate": {func(new []*run.Document) { new[3].Scenario.Rate = 2 }, "rate: 1000/s is not 2/s"},
		"server": {func(new []*run.Document) {
			new[0].Server = &run.Server{Product: "valkey", Version: "8", How: "process"}
		}, "server"},
		"two versions within a set": {func(new []*run.Document) { new[3].Driver.Version = "5" }, "implementation within new: dq:4.7.0 is not dq:5"},
		"machine": {func(new []*run.Document) { // the first run says nothing of it
			new[1].Environment, new[2].Environment = host, host
			new[2].Environment.GOMAXPROCS = 1
		}, "configurations (machine: linux/amd64 with 2 CPUs, GOMAXPROCS 2 is not linux/amd64 with 2 CPUs, GOMAXPROCS 1), so"},
		"beside on one side": {func(new []*run.Document) { new[0].Beside = &run.Beside{Block: "b", Sides: 2} }, "beside: one side at a time is not 2 sides at the same time"},
	} {
		t.Run(name, func(t *testing.T) {
			old, new := runs(100, 6, 1), runs(1001, 6, 2)
			row.edit(new)
			_, err := Sets(t.Context(), []Set{{"old", old}, {"new", new}}, Options{})
			require.ErrorContains(t, err, row.want)
			require.ErrorIs(t, err, ErrDiffer)
			c, err := Sets(t.Context(), []Set{{"old", old}, {"new", new}}, Options{Force: true})
			require.NoError(t, err)
			require.Equal(t, Inconclusive, c.Outcome)
			require.Contains(t, c.Text, "Not judged: ")
			require.NotEmpty(t, c.Rows)
		})
	}
	old, new := runs(100, 6, 1), runs(1001, 6, 1)
	old[0].Environment, new[0].Environment = host, host
	new[0].Environment.GoVersion, new[0].Labels = "go1.27", map[string]string{"host": "b"}
	judge(t, old, new) // hosts of one size are told apart by a label
	_, err := Sets(t.Context(), []Set{{"old", old}, {"new", old[:1]}}, Options{})
	require.ErrorContains(t, err, "is given twice")
	_, err = Sets(t.Context(), []Set{{"old", old}}, Options{})
	require.ErrorContains(t, err, "expected two sets of runs or more")
	_, err = Sets(t.Context(), []Set{{"old", old}, {"new", nil}}, Options{})
	require.ErrorContains(t, err, "new: expected at least one run")
}

// inPairs returns runs of one instant: the machine makes both up to a hundred times as late, and new is scaled besides.
func inPairs(pairs int, scale float64) (old, new []*run.Document) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range uint64(pairs) {
		machine := 1 + 99*rng.Float64()
		a, b := run.Sample(2*i, 10_000, machine), run.Sample(2*i+1, 10_000, machine*scale)
		for _, r := range []*run.Document{a, b} {
			r.Beside = &run.Beside{Block: fmt.Sprint(i), Sides: 2}
		}
		old, new = append(old, a), append(new, b)
	}
	rng.Shuffle(pairs, func(i, k int) { new[i], new[k] = new[k], new[i] }) // the blocks tell the pairs
	return old, new
}

func TestPairs(t *testing.T) {
	old, new := inPairs(MinPairs, 1.2)
	c := judge(t, old, new)
	require.True(t, c.Paired)
	require.Equal(t, Worse, c.Outcome, c.Text)

	old, new = inPairs(MinPairs-1, 2)
	c = judge(t, old, new)
	require.Contains(t, c.Text, "needs 10 pairs, here are 9 and 9")
	require.Contains(t, c.Next, "--beside --repeat 10")
	for _, r := range new {
		r.Driver.Name = "port.py"
	}
	require.Empty(t, judge(t, old, new).Next, "a run file does not say how a program is started")

	old, new = inPairs(MinPairs, 2)
	new[3].Beside.Block = "of another run"
	c = judge(t, old, new)
	require.False(t, c.Paired)
	require.Contains(t, c.Notes[0], "not each has one partner")

	old, new = inPairs(MinPairs+1, 1.2)
	old[4].Validity = &run.Validity{Reasons: []string{"too slow"}}
	c = judge(t, old, new)
	require.Equal(t, Worse, c.Outcome, c.Text)
	require.Equal(t, MinPairs, c.Sets[0].Runs)
	require.Len(t, c.LeftOut, 2, "a run goes with its partner")

	// Two versions, each beside the reference: their ratios are compared.
	a, ref1 := inPairs(8, 1)
	b, ref2 := inPairs(8, 1/1.5)
	for i := range a {
		ref1[i].Driver.Name, ref2[i].Driver.Name = "redisson", "redisson"
		b[i].Beside = &run.Beside{Block: "b" + b[i].Beside.Block, Sides: 2}
		ref2[i].Beside = &run.Beside{Block: "b" + ref2[i].Beside.Block, Sides: 2}
		for _, r := range []*run.Document{b[i], ref2[i]} {
			r.Started, r.RunID = r.Started.AddDate(0, 1, 0), "b"+r.RunID
		}
	}
	c = judge(t, append(ref1, a...), append(ref2, b...))
	require.Equal(t, "redisson:4.7.0", c.Reference)
	require.Equal(t, Worse, c.Outcome, c.Text)
	require.InDelta(t, 1.5, c.Rows[0].Ratio.Value, .1)
}

// The p99 per second is compared second by second: what one second does to both is no difference.
func TestSecondsOfAPairAreTheSameSeconds(t *testing.T) {
	old, new := &run.Document{}, &run.Document{}
	for i, p99 := range []int64{1e6, 80e6, 3e6, 500e6, 2e6} {
		second := run.Interval{Second: float64(i + 1), Delivered: 1000, PastDueP99: p99, HiccupNs: p99}
		old.Intervals = append(old.Intervals, second)
		second.PastDueP99 += p99 / 10
		new.Intervals = append(new.Intervals, second)
	}
	new.Intervals = new.Intervals[1:] // one side may lack one
	require.InDelta(t, 1.1, ratioOfSeconds(old, new, run.PastDue), 1e-9)
	require.InEpsilon(t, 2e6, p99OfCalmSeconds(old, run.PastDue), 1e-9, "of the three seconds with the shortest hiccups")
	new.Intervals[0].Delivered, new.Intervals[1].Delivered = 10, 10
	require.NotEqual(t, 1.1, ratioOfSeconds(old, new, run.PastDue), "too few seconds that both fill")
}

func TestManySets(t *testing.T) {
	var all []*run.Document
	for v := range 8 {
		version := runs(uint64(100*v), 6, 1+float64(v/4))
		for i, r := range version {
			r.Driver.Version, r.Started = fmt.Sprintf("3.%d.0", v+7), time.Date(2026, 1, 1, i, v, 0, 0, time.UTC)
			r.Labels = map[string]string{"host": string(rune('h' - v))}
			r.RunID += fmt.Sprint(v)
		}
		all = append(version, all...) // not in the order of versions
	}
	by := func(by string) *Comparison {
		c, err := Sets(t.Context(), []Set{{Runs: all}}, Options{By: by})
		require.NoError(t, err)
		return c
	}
	c := by("version")
	require.Equal(t, []string{"3.7.0", "3.14.0"}, []string{c.Sets[0].Name, c.Sets[7].Name}, "in the order of versions")
	require.Equal(t, Worse, c.Outcome)
	require.Contains(t, c.Text, "3.14.0 is worse: lateness p50")
	require.Contains(t, c.Text, "measure each beside one reference")
	require.Len(t, c.Tracks[0].Values, 8)
	require.False(t, c.Tracks[0].Judged)
	require.Equal(t, "h", by("label:host").Sets[0].Name, "in the order of their first runs")
	for by, want := range map[string]string{"label:gone": "by label:gone: run ", "server": "expected two sets"} {
		_, err := Sets(t.Context(), []Set{{Runs: all}}, Options{By: by})
		require.ErrorContains(t, err, want)
	}
	for _, r := range all {
		r.Tool.Version = r.Driver.Version
	}
	require.Len(t, by("commit").Sets, 8)
	require.Error(t, CheckBy("label:"))
	require.NoError(t, CheckBy("label:a"))

	for _, r := range all {
		if compareVersions(r.Driver.Version, "3.12.0") > 0 {
			r.Counts.Duplicate = 3
		}
	}
	c = by("version")
	require.Equal(t, "3.13.0", c.FirstWorse, c.Text)
	require.Contains(t, c.Text, "Worse since 3.13.0: messages were delivered more than once: 0.015 %, before 0 %")
}

func TestVersionsInOrder(t *testing.T) {
	inOrder := []string{"1-dev", "1", "1.2-alpha1", "1.2-beta", "1.2-RC1", "1.2.0.Final", "1.2.1", "1.10", "2-custom", "v3.0"}
	for i, a := range inOrder {
		for k, b := range inOrder[i+1:] {
			require.Negative(t, compareVersions(a, b), "%s %s %d", a, b, k)
			require.Positive(t, compareVersions(b, a))
		}
	}
	require.Zero(t, compareVersions("4.0.0.Final", "v4.0.0"))
}

// chanceOf is the share of all ways, each a subset of the ranks, whose sum is as far from the mean as got.
func chanceOf(ranks []int, drawn func(n int) bool, got int) float64 {
	var sums []float64
	mean := 0.
	for mask := range 1 << len(ranks) {
		sum, n := 0, 0
		for i, r := range ranks {
			if mask>>i&1 == 1 {
				sum, n = sum+r, n+1
			}
		}
		if drawn(n) {
			sums, mean = append(sums, float64(sum)), mean+float64(sum)
		}
	}
	mean /= float64(len(sums))
	far := slices.DeleteFunc(slices.Clone(sums), func(s float64) bool { return math.Abs(s-mean) < math.Abs(float64(got)-mean)-1e-9 })
	return float64(len(far)) / float64(len(sums))
}

func TestExactTestsAreOverAllCases(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		a, b := make([]float64, 1+rng.IntN(6)), make([]float64, 1+rng.IntN(6))
		for _, s := range [][]float64{a, b} {
			for i := range s {
				s[i] = float64(rng.IntN(7)) // with ties
			}
		}
		ranks, sum := doubledRanks(a, b)
		require.InDelta(t, chanceOf(ranks, func(n int) bool { return n == len(a) }, sum), Independent(b, a, .95).P, 1e-9, "%v %v", a, b)

		differences, above := []float64{1, 2, 2, -3, 4, -5, 6}, 0
		rng.Shuffle(7, func(i, k int) { differences[i] *= float64(1 - 2*rng.IntN(2)) })
		ranks = []int{2, 5, 5, 8, 10, 12, 14}
		for i, d := range differences {
			if d > 0 {
				above += ranks[i]
			}
		}
		require.InDelta(t, chanceOf(ranks, func(int) bool { return true }, above), Paired(differences, .95).P, 1e-9)
	}
}

// The 95 % interval holds the true shift in 95 of 100 samples or more, of either test.
func TestIntervalsHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	independent, pairs := 0, 0
	const n = 400
	for range n {
		var a, b, d []float64
		for range 8 {
			x, y := rng.ExpFloat64(), rng.ExpFloat64()+2
			a, b, d = append(a, x), append(b, y), append(d, rng.NormFloat64()+2)
		}
		if s := Independent(a, b, .95); s.Low <= 2 && 2 <= s.High {
			independent++
		}
		if s := Paired(d, .95); s.Low <= 2 && 2 <= s.High {
			pairs++
		}
	}
	require.Greater(t, independent, n*93/100)
	require.Greater(t, pairs, n*93/100)
	s := Independent([]float64{1, 2}, []float64{3}, .95)
	require.Equal(t, []float64{1.5, math.Inf(-1), math.Inf(1)}, []float64{s.Estimate, s.Low, s.High}, "too few for an interval")
	require.True(t, s.Above)
	require.InDelta(t, 1, Independent(nil, nil, .95).P, 0)
	require.InDelta(t, 1, Paired(nil, .95).P, 0)
	require.True(t, math.IsNaN(Median(nil)))
}

// The published table of Kendall's S: 10 values in order have p 2/10!; one inversion of 4 has p 8/24.
func TestTrendHolmAndAtLeast(t *testing.T) {
	require.InDelta(t, 2/3628800., Trend([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 1e-12)
	require.InDelta(t, 8/24., Trend([]float64{1, 2, 4, 3}), 1e-12)
	require.InDelta(t, 1, Trend([]float64{1, 1, 1}), 1e-12)
	require.InDeltaSlice(t, []float64{.03, .06, .06, .02}, Holm([]float64{.01, .04, .03, .005}), 1e-9)
	chance := 0.
	for k := 7; k <= 10; k++ {
		chance += []float64{120, 45, 10, 1}[k-7] / 1024
	}
	require.InDelta(t, chance, AtLeast(7, 10, .5), 1e-12)
	require.InDelta(t, 1e-6, AtLeast(1_000_000, 1_000_000, math.Pow(1e-6, 1e-6)), 1e-9)
}

// The clearest place has the greatest energy distance of the two parts, by its definition.
func TestEnergyIsOfTheClearestPlace(t *testing.T) {
	mean := func(x, y []float64) (sum float64) {
		for _, v := range x {
			for _, w := range y {
				sum += math.Abs(v-w) / float64(len(x)*len(y))
			}
		}
		return sum
	}
	rng := rand.New(rand.NewPCG(1, 2))
	series, places := make([]float64, 20), []int(nil)
	for i := range series {
		if series[i] = rng.NormFloat64(); i > 0 {
			places = append(places, i)
		}
	}
	at, most := energy(series, places, 0, 20, 1)
	best, place := -1., 0
	for _, k := range places {
		a, b, n := series[:k], series[k:], float64(k)
		if e := n * (20 - n) / 20 * (2*mean(a, b) - mean(a, a) - mean(b, b)); e > best {
			best, place = e, k
		}
	}
	require.Equal(t, place, at)
	require.InDelta(t, best, most, 1e-9)
}

func TestChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	series, all := make([]float64, 60), []int(nil)
	for i := range series {
		series[i], all = rng.NormFloat64(), append(all, i)
		if i >= 20 && i < 40 {
			series[i] += 5
		}
	}
	found := findSteps(t.Context(), series, all, .05)
	require.Len(t, found, 2)
	require.Equal(t, []int{20, 40}, []int{found[0].At, found[1].At})
	require.LessOrEqual(t, found[0].P, .05)
	require.Equal(t, found, findSteps(t.Context(), series, all, .05), "the same series gives the same result")
	require.Empty(t, findSteps(t.Context(), series[:20], all[:20], .05))
	require.Empty(t, findSteps(t.Context(), series, nil, .05))
	for _, c := range findSteps(t.Context(), series, []int{30}, .05) {
		require.Equal(t, 30, c.At, "changes lie where sets begin")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.Empty(t, findSteps(ctx, series, all, .05))
}
