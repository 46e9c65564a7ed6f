package compare

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// studied is how many comparisons a study makes: make power sets DQ_THOROUGH=1.
func studied(thorough int) int {
	return map[bool]int{true: thorough, false: thorough / 10}[os.Getenv("DQ_THOROUGH") == "1"]
}

// simulated is a run as machines give them: log-normal lateness whose level wanders from second to second (an AR(1) of ρ = 0.8) around a
// level of the run's own (5 %). Everything above the 95th percentile of the bare distribution is multiplied by tail.
func simulated(rng *rand.Rand, tail float64) *run.Document {
	const seconds, perSecond = 60, 170
	r := &run.Document{
		Histograms: run.Histograms{Lateness: run.NewHistogram(), OfferRTT: run.NewHistogram(), ScheduleLag: run.NewHistogram()},
		Counts:     run.Counts{Offered: seconds * perSecond, Delivered: seconds * perSecond},
	}
	r.Driver.Name, r.Scenario.Name = "simulated", "simulated"
	level := .05 * rng.NormFloat64()
	wander := .1 * rng.NormFloat64()
	for range seconds {
		wander = .8*wander + .06*rng.NormFloat64()
		for range perSecond {
			z := rng.NormFloat64()
			ns := 1e6 * math.Exp(.5*z+level+wander)
			if z > 1.645 {
				ns *= tail
			}
			r.Histograms.Lateness.Record(int64(ns))
		}
	}
	return r
}

// study compares 10 runs a side, n times, and counts the outcomes.
func study(t *testing.T, n int, tail float64) (outcomes map[Outcome]int) {
	t.Helper()
	found := make([]Outcome, n)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := w; i < n; i += 4 {
				rng := rand.New(rand.NewPCG(2026, uint64(i)))
				var old, new []*run.Document
				for k := range 10 {
					old, new = append(old, simulated(rng, 1)), append(new, simulated(rng, tail))
					old[k].Started, new[k].Started = time.Unix(int64(2*k), 0), time.Unix(int64(2*k+1), 0)
				}
				if c, err := Sets(t.Context(), []Set{{"OLD", old}, {"NEW", new}}, Options{}); err == nil {
					found[i] = c.Outcome
				}
			}
		})
	}
	workers.Wait()
	outcomes = map[Outcome]int{}
	for _, o := range found {
		require.NotEmpty(t, o)
		outcomes[o]++
	}
	return outcomes
}

func TestStudyOfEqualSidesAndOfAFifthAtTheTail(t *testing.T) {
	n := studied(200)
	found := study(t, n, 1)
	if alarms := found[Better] + found[Worse]; n == 200 {
		require.Equal(t, 4, alarms)
	} else {
		require.LessOrEqual(t, alarms, 1)
	}
	require.Equal(t, n/2, study(t, n/2, 1.2)[Worse])
}

// blocksFile holds the run files of 20 pairs of dq with itself, as they were written by
//
//	dq-bench run --driver dq --driver dq --beside --repeat 24 --redis process --rate 1000/s --duration 20s --delay 1s --warmup 2s
//
// on a virtual machine of two processors whose host gave up to half of their time to others, so that the p99 of past due is 1.4 ms in one
// pair and 1.26 s in another. Pairs with an invalid run are not in it, nor are the histograms of lateness, offer RTT and schedule lag.
//
//go:embed testdata/blocks.jsonl.gz
var blocksFile []byte

// readBlocks returns the runs of the first and of the second driver, pair by pair.
func readBlocks(t *testing.T) (first, second []*run.Document) {
	t.Helper()
	text, err := gzip.NewReader(bytes.NewReader(blocksFile))
	require.NoError(t, err)
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	seen := map[string]bool{}
	for lines.Scan() {
		r := &run.Document{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), r))
		h := &r.Histograms
		h.Lateness, h.OfferRTT, h.ScheduleLag = h.PastDue, h.ResponseTime, h.ResponseTime
		if seen[r.Beside.Block] {
			second = append(second, r)
		} else {
			first = append(first, r)
		}
		seen[r.Beside.Block] = true
	}
	require.NoError(t, lines.Err())
	partners, ok := pair(first, second)
	require.True(t, ok)
	require.Len(t, first, 20)
	return first, partners
}

func longer(ns int64) int64 { return ns + ns/5 }

// stretched is the run with its latencies a fifth longer, or the latest 5 % of past due.
func stretched(r *run.Document, tailOnly bool) *run.Document {
	slow := *r
	h, bound := &slow.Histograms, int64(-1)
	if tailOnly {
		bound = h.PastDue.Quantile(.95)
	}
	h.PastDue = above(h.PastDue, bound)
	slow.Intervals = nil
	for _, i := range r.Intervals {
		i.PastDueP99 = longer(i.PastDueP99)
		if !tailOnly {
			i.PastDueP50 = longer(i.PastDueP50)
		}
		slow.Intervals = append(slow.Intervals, i)
	}
	if !tailOnly {
		h.ResponseTime = above(h.ResponseTime, bound)
		s := *r.ServerStats
		s.CPUSeconds *= 1.2
		slow.ServerStats = &s
	}
	h.Lateness, h.OfferRTT, h.ScheduleLag = h.PastDue, h.ResponseTime, h.ResponseTime
	return &slow
}

// above makes values above a bound longer.
func above(h *run.Histogram, bound int64) *run.Histogram {
	out := run.NewHistogram()
	h.Buckets(func(_, to, count int64) {
		if to > bound {
			to = longer(to)
		}
		for range count {
			out.Record(to)
		}
	})
	return out
}

// duels compares ten pairs, drawn from all, n times.
func duels(t *testing.T, n int, old, new []*run.Document) (better, worse int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		var a, b []*run.Document
		for _, i := range rng.Perm(len(old))[:MinPairs] {
			a, b = append(a, old[i]), append(b, new[i])
		}
		c, err := Sets(t.Context(), []Set{{"OLD", a}, {"NEW", b}}, Options{})
		require.NoError(t, err)
		require.True(t, c.Paired)
		better += map[Outcome]int{Better: 1}[c.Outcome]
		worse += map[Outcome]int{Worse: 1}[c.Outcome]
	}
	return better, worse
}

// Ten pairs of real runs, whose sides a coin deals out: 2 false alarms of 200, and each p99 that is a fifth longer.
func TestStudyOfPairs(t *testing.T) {
	first, second := readBlocks(t)
	rng := rand.New(rand.NewPCG(3, 4))
	var old, new []*run.Document
	for i := range first {
		a, b := first[i], second[i]
		if rng.IntN(2) == 1 {
			a, b = b, a
		}
		old, new = append(old, a), append(new, b)
	}
	n := studied(200)
	better, worse := duels(t, n, old, new)
	t.Logf("without a difference: %d better, %d worse of %d", better, worse, n)
	require.LessOrEqual(t, better+worse, 2)
	for i := range new {
		new[i] = stretched(new[i], true)
	}
	better, worse = duels(t, n, old, new)
	t.Logf("p99 longer by a fifth: %d better, %d worse of %d", better, worse, n)
	require.Equal(t, n, worse)
}

// series draws 40 versions, one run each beside a reference; from at on each is a fifth later.
func series(sides, slow [2][]*run.Document, seed uint64, at int) []*run.Document {
	rng := rand.New(rand.NewPCG(2026, seed))
	var runs []*run.Document
	for i := range 40 {
		n, side := rng.IntN(len(sides[0])), rng.IntN(2)
		r, beside := *sides[side][n], *sides[1-side][n]
		if i >= at {
			r = *slow[side][n]
		}
		r.RunID, r.Started = fmt.Sprintf("%08x", i), time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		r.Driver.Name, r.Driver.Version = "redisson", fmt.Sprintf("3.%d.0", i)
		r.Beside = &run.Beside{Block: r.RunID, Sides: 2}
		beside.RunID, beside.Started, beside.Beside = "a"+r.RunID[1:], r.Started, r.Beside
		runs = append(runs, &beside, &r)
	}
	return runs
}

func TestStudyOfAFifthSinceAVersion(t *testing.T) {
	first, second := readBlocks(t)
	sides, slow := [2][]*run.Document{first, second}, [2][]*run.Document{}
	for k, side := range sides {
		for _, r := range side {
			slow[k] = append(slow[k], stretched(r, false))
		}
	}
	n := studied(100)
	for _, at := range []int{40, 20, 37} {
		placed, seen := map[string]int{}, 0
		for seed := range uint64(n) {
			c, err := Sets(t.Context(), []Set{{Runs: series(sides, slow, seed, at)}}, Options{By: "version"})
			require.NoError(t, err)
			require.Equal(t, first[0].Driver.String(), c.Reference)
			if slices.ContainsFunc(c.Tracks, func(f *Track) bool { return len(f.Changes) > 0 }) {
				seen++
			}
			for _, f := range c.Tracks {
				if slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Outcome == Worse && max(c.At-at, at-c.At) <= 3 }) {
					placed[f.Figure]++
				}
			}
		}
		t.Logf("a fifth from %d of 40: seen in %d of %d, within 3: %v", at, seen, n, placed)
		want := map[int]map[string]int{20: {"past due p50": 97, "past due p99 per second": 99, "response time p50": 98, "server CPU per message": 100}}[at]
		if n < 100 {
			require.Equal(t, at < 40, seen > 1)
			require.LessOrEqual(t, map[bool]int{true: 9}[at < 40], seen)
			continue
		}
		require.Equal(t, map[int]int{40: 3, 37: 99, 20: seen}[at], seen)
		for figure, least := range want {
			require.Equal(t, least, placed[figure], figure)
		}
	}
}

// Faults in single runs are no change; faults in half of the runs from the twentieth on are found.
func TestStudyOfFaultsSinceAVersion(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kinds := []func(*run.Counts) *int64{func(c *run.Counts) *int64 { return &c.Lost }, func(c *run.Counts) *int64 { return &c.Duplicate }, func(c *run.Counts) *int64 { return &c.Early }}
	study := func(n, count int, most int64, chance func(i int) float64) (alarms, found, placed int) {
		for range n {
			c := &Comparison{}
			for i := range 40 {
				r := &run.Document{Counts: run.Counts{Offered: 3000}}
				for _, in := range kinds[:count] {
					if random.Float64() < chance(i) {
						*in(&r.Counts) = 1 + random.Int64N(most)
					}
				}
				c.sets = append(c.sets, Set{fmt.Sprint(i), []*run.Document{r}})
			}
			c.follow(t.Context())
			changed, firstTime := false, false
			for _, tr := range c.Tracks {
				if newest := tr.newest(); newest.Since != "" {
					changed, firstTime = true, firstTime || newest.Before == 0
					if newest.Outcome == Worse {
						found++
						if newest.At >= 17 && newest.At <= 23 {
							placed++
						}
					}
				}
			}
			if changed && !firstTime {
				alarms++
			}
		}
		return alarms, found, placed
	}
	n, total := studied(200), 0
	for _, count := range []int{1, 3} {
		for _, chance := range []float64{.05, .2, .6} {
			for _, most := range []int64{1, 300} {
				alarms, _, _ := study(n, count, most, func(int) float64 { return chance })
				total += alarms
				t.Logf("flat: %d kinds with chance %g, at most %d: %d of %d", count, chance, most, alarms, n)
				require.LessOrEqual(t, alarms, max(2, n*6/100))
			}
		}
	}
	require.LessOrEqual(t, total, max(4, 12*n*45/1000))
	for _, row := range []struct {
		before, after float64
		found, placed int
	}{{0, .5, 79, 59}, {.05, .6, 0, 0}, {.05, .9, 0, 0}, {0, 1, 0, 0}} {
		_, found, placed := study(n/2, 1, 3, func(i int) float64 {
			if i < 20 {
				return row.before
			}
			return row.after
		})
		t.Logf("from %v to %v at 20: found %d, within 3 %d, of %d", row.before, row.after, found, placed, n/2)
		if n == 200 && row.found > 0 {
			require.Equal(t, []int{row.found, row.placed}, []int{found, placed})
		}
	}
}
