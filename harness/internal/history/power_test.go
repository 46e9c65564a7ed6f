package history

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// measured are the 20 pairs of runs of one implementation that the tests of package compare
// judge by: what a machine that is lent out does to runs of it alone, and to two at the same
// time.
func measured(t *testing.T) [][]*run.Document {
	t.Helper()
	file, err := os.Open("../compare/testdata/blocks.jsonl.gz")
	require.NoError(t, err)
	defer file.Close()
	text, err := gzip.NewReader(file)
	require.NoError(t, err)
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	places := map[string]int{}
	var blocks [][]*run.Document
	for lines.Scan() {
		r := &run.Document{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), r))
		h := &r.Histograms
		h.Lateness, h.OfferRTT, h.ScheduleLag = h.PastDue, h.ResponseTime, h.ResponseTime
		at, there := places[r.Beside.Block]
		if !there {
			at = len(blocks)
			places[r.Beside.Block] = at
			blocks = append(blocks, nil)
		}
		blocks[at] = append(blocks[at], r)
	}
	require.NoError(t, lines.Err())
	require.Len(t, blocks, 20)
	return blocks
}

const seriesRuns = 40

// simulated is a series of 40 versions, each measured once in a block that was drawn from
// the measured ones, beside a reference if so wanted; which of the two is which a coin says.
// From version at on the run is the one of slow in place of that of blocks.
func simulated(blocks, slow [][]*run.Document, seed uint64, at int, reference bool) []*run.Document {
	rng := rand.New(rand.NewPCG(2026, seed))
	var runs []*run.Document
	for i := range seriesRuns {
		n, side := rng.IntN(len(blocks)), rng.IntN(2)
		r, beside := *blocks[n][side], *blocks[n][1-side]
		if i >= at {
			r = *slow[n][side]
		}
		r.RunID, r.Started = fmt.Sprintf("%08x", i), time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC)
		r.Driver = run.Driver{Name: "redisson", Version: fmt.Sprintf("3.%d.0", i)}
		r.Beside = nil
		if reference {
			r.Beside = &run.Beside{Block: r.RunID, Sides: 2}
			beside.RunID, beside.Started, beside.Beside = "a"+r.RunID[1:], r.Started, r.Beside
			runs = append(runs, &beside)
		}
		runs = append(runs, &r)
	}
	return runs
}

// slower is a run in which everything took a fifth longer.
func slower(r *run.Document) *run.Document {
	longer := func(ns int64) int64 { return ns + ns/5 }
	stretched := func(h *run.Histogram) *run.Histogram {
		out := run.NewHistogram(run.TotalDigits)
		h.Buckets(func(_, to, count int64) {
			for range count {
				out.Record(longer(to))
			}
		})
		return out
	}
	slow := *r
	h := &slow.Histograms
	h.PastDue, h.ResponseTime = stretched(h.PastDue), stretched(h.ResponseTime)
	h.Lateness, h.OfferRTT, h.ScheduleLag = h.PastDue, h.ResponseTime, h.ResponseTime
	slow.Intervals = nil
	for _, i := range r.Intervals {
		i.PastDueP50, i.PastDueP99 = longer(i.PastDueP50), longer(i.PastDueP99)
		slow.Intervals = append(slow.Intervals, i)
	}
	stats := *r.ServerStats
	stats.CPUSeconds *= 1.2
	slow.ServerStats = &stats
	return &slow
}

// study makes the histories of 100 series, and counts by figure in how many there was a
// change for the worse within 3 versions of where it was planted, and in how many of the
// histories any change was seen.
func study(t *testing.T, blocks [][]*run.Document, at int, reference bool) (found map[string]int, seen int) {
	t.Helper()
	slow := make([][]*run.Document, len(blocks))
	for i, block := range blocks {
		slow[i] = []*run.Document{slower(block[0]), slower(block[1])}
	}
	o := DefaultOptions()
	if reference {
		o.Reference = blocks[0][0].Driver.String()
	}
	found = map[string]int{}
	for i := range uint64(100) {
		h, err := Of(t.Context(), simulated(blocks, slow, i, at, reference), o)
		require.NoError(t, err)
		if slices.ContainsFunc(h.Figures, func(f Figure) bool { return len(f.Changes) > 0 }) {
			seen++
		}
		for _, f := range h.Figures {
			if slices.ContainsFunc(f.Changes, func(c Change) bool { return c.Outcome == Worse && max(c.At-at, at-c.At) <= 3 }) {
				found[f.Name()]++
			}
		}
	}
	return found, seen
}

// Versions that were measured beside a reference: a fifth more is found within 3 versions of
// where it began, in most figures, and where nothing has changed seldom anything is seen. Once
// three versions are slower nearly every history says so.
func TestAFifthMoreIsFoundBesideAReference(t *testing.T) {
	simulates(t)
	blocks := measured(t)
	_, seen := study(t, blocks, seriesRuns, true)
	t.Logf("nothing has changed: a change is seen in %d of 100 series", seen)
	require.LessOrEqual(t, seen, 5)
	found, _ := study(t, blocks, seriesRuns/2, true)
	t.Logf("a fifth more from version 20 of 40, found within 3: %v", found)
	for _, name := range []string{"past due p50", "past due p99 per second", "response time p50", "server CPU per message"} {
		require.GreaterOrEqual(t, found[name], 90, name)
	}
	_, seen = study(t, blocks, seriesRuns-3, true)
	t.Logf("a fifth more in the newest 3 of 40: a change is seen in %d of 100 series", seen)
	require.GreaterOrEqual(t, seen, 90)
}

// The same without a reference, on the same machine: no lateness tells of a fifth more, as
// that of one run is ten times that of the next; nothing is claimed, either.
func TestAFifthMoreIsLostInTheNoiseOfABusyMachine(t *testing.T) {
	simulates(t)
	blocks := measured(t)
	_, seen := study(t, blocks, seriesRuns, false)
	require.LessOrEqual(t, seen, 5)
	found, _ := study(t, blocks, seriesRuns/2, false)
	t.Logf("found within 3: %v", found)
	require.Less(t, found["past due p99 per second"], 10)
	require.Greater(t, found["server CPU per message"], 40)
	require.Less(t, found["server CPU per message"], 90)
}
