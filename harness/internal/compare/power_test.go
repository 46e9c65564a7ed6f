package compare

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// blocksFile holds the run files of 20 pairs of dq with itself, as they were written by
//
//	dq-bench run --driver dq --driver dq --beside --repeat 24 --redis process --rate 1000/s --duration 20s --delay 1s --warmup 2s
//
// on a virtual machine of two processors whose host gave up to half of their time to others,
// so that the p99 of past due is 1.4 ms in one pair and 1.26 s in another. Pairs of which a run
// is invalid are not there, nor are the histograms of lateness, offer RTT and schedule lag.
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
	var all []*run.Document
	for lines.Scan() {
		r := &run.Document{}
		require.NoError(t, json.Unmarshal(lines.Bytes(), r))
		h := &r.Histograms
		h.Lateness, h.OfferRTT, h.ScheduleLag = h.PastDue, h.ResponseTime, h.ResponseTime
		all = append(all, r)
	}
	require.NoError(t, lines.Err())
	first, second, ok := halves(all)
	require.True(t, ok)
	require.Len(t, first, 20)
	return first, second
}

// planted is the run as if the latest 5 % of its messages had been past due by a fifth more.
func planted(r *run.Document) *run.Document {
	later, late := *r, r.Histograms.PastDue
	bound := late.Quantile(.95)
	later.Histograms.PastDue = run.NewHistogram(run.TotalDigits)
	late.Buckets(func(_, to, count int64) {
		if to > bound {
			to += to / 5
		}
		for range count {
			later.Histograms.PastDue.Record(to)
		}
	})
	later.Intervals = nil
	for _, i := range r.Intervals {
		i.PastDueP99 += i.PastDueP99 / 5
		later.Intervals = append(later.Intervals, i)
	}
	return &later
}

// duels compares ten pairs, drawn from all, with the sides of each dealt out by a coin, and
// counts in how many of n NEW comes out better or worse.
func duels(t *testing.T, n int, old, new []*run.Document) (better, worse int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		var a, b []*run.Document
		for _, i := range rng.Perm(len(old))[:MinPairs] {
			a, b = append(a, old[i]), append(b, new[i])
		}
		c, err := Runs(a, b, DefaultOptions())
		require.NoError(t, err)
		require.True(t, c.Paired)
		switch c.Outcome {
		case Better:
			better++
		case Worse:
			worse++
		}
	}
	return better, worse
}

// dealt deals out the runs of each pair by a coin.
func dealt(first, second []*run.Document) (old, new []*run.Document) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range first {
		a, b := first[i], second[i]
		if rng.IntN(2) == 1 {
			a, b = b, a
		}
		old, new = append(old, a), append(new, b)
	}
	return old, new
}

// Ten pairs of real runs find that the p99 is a fifth longer in four of five cases or more,
// and see a difference where there is none in one of twenty or fewer.
func TestPairsFindAFifthAtTheTail(t *testing.T) {
	old, new := dealt(readBlocks(t))
	n := studied(200)
	better, worse := duels(t, n, old, new)
	t.Logf("without a difference: %d better, %d worse of %d", better, worse, n)
	require.LessOrEqual(t, better+worse, n/20)
	for i := range new {
		new[i] = planted(new[i])
	}
	better, worse = duels(t, n, old, new)
	t.Logf("p99 longer by a fifth: %d better, %d worse of %d", better, worse, n)
	require.Zero(t, better)
	require.GreaterOrEqual(t, worse, n*4/5)
}

// Which driver is named first makes no difference.
func TestNoSideOfAPairIsFavoured(t *testing.T) {
	first, second := readBlocks(t)
	c, err := Runs(first, second, DefaultOptions())
	require.NoError(t, err)
	require.NotEqual(t, Better, c.Outcome, c.Text)
	require.NotEqual(t, Worse, c.Outcome, c.Text)
}

// halves splits runs of one implementation into two sides of those that were made at the
// same time, and is false unless there are two of each block.
func halves(same []*run.Document) (a, b []*run.Document, ok bool) {
	first := map[string]bool{}
	for _, r := range same {
		switch {
		case r.Beside == nil:
			return nil, nil, false
		case first[r.Beside.Block]:
			b = append(b, r)
		default:
			first[r.Beside.Block] = true
			a = append(a, r)
		}
	}
	return paired(a, b)
}
