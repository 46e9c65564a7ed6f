package load

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// history is the fate of one message, as the naive count keeps it.
type history struct {
	samples []program.Sample // in the order in which the agent reports them
	kept    bool             // at the end
}

// randomHistory lets anything happen to a message that may.
func randomHistory(rng *rand.Rand, item program.Item) (h history) {
	chance := func(p float64) bool { return rng.Float64() < p }
	index := item.Index
	sent := item.At + rng.Int64N(5e6)
	waited := uint32(0)
	if chance(.05) {
		sent += int64(2 * time.Second)
		waited = uint32(rng.IntN(2) * 2_000_000)
	}
	answered, due := sent+rng.Int64N(3e6), item.DueAt(sent)
	if chance(.5) {
		h.samples = append(h.samples, program.Sample{Kind: program.Offering, Index: index, A: sent, B: due})
	}
	kind := program.Offered
	switch draw := rng.IntN(20); {
	case draw == 0:
		kind = program.Failed
	case draw == 1:
		kind = program.Refused
	case draw == 2 && h.samples == nil:
		h.samples = append(h.samples, program.Sample{Kind: program.Skipped, Index: index})
		return h
	case draw == 3:
		return h // never answered
	}
	h.samples = append(h.samples, program.Sample{Kind: kind, Waited: waited, Index: index, A: sent, B: answered})
	if kind == program.Refused || kind == program.Failed && chance(.5) {
		return h
	}
	if item.CancelAfter > 0 {
		h.samples = append(h.samples, program.Sample{
			Kind: []program.Kind{program.Removed, program.TooLate, program.Unmoved}[rng.IntN(3)], Index: index, A: answered, B: answered + rng.Int64N(1e6),
		})
	}
	h.kept = chance(.1)
	for !h.kept && chance(.9) {
		h.samples = append(h.samples, program.Sample{Kind: program.Taken, Index: index, A: due, B: due + rng.Int64N(30e6) - 2e6})
		if !chance(.05) {
			break
		}
	}
	return h
}

// The collector counts what a naive count over all that happened counts, whatever that is.
func TestTheCollectorCountsAsANaiveCountDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 41))
		p := testPlan()
		p.Rate, p.Duration, p.Queues, p.Producers, p.Seed = plan.Rate(20+rng.IntN(200)), time.Duration(1+rng.IntN(2))*time.Second, 1+rng.IntN(3), 1+rng.IntN(4), seed
		p.Delay = plan.Between(0, time.Duration(rng.IntN(1000))*time.Millisecond)
		p.Cancel = plan.Cancel{Share: rng.Float64() / 2}
		p.Fleet = plan.Instances(1 + rng.IntN(3))
		e := newEngine(Options{Plan: p})
		c := e.newCollector(plan.Measured, time.Unix(1000, 0))
		end := c.start + int64(8*time.Second)

		all := make([]history, c.n)
		var order []int64
		for i := range c.n {
			m := e.members[rng.IntN(len(e.members))]
			c.hand(i, m)
			all[i] = randomHistory(rng, c.item(i))
			order = append(order, slices.Repeat([]int64{i}, len(all[i].samples))...)
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		next := make([]int, c.n)
		var told []program.Sample
		for _, i := range order {
			s := all[i].samples[next[i]]
			next[i]++
			told = append(told, s)
			require.NoError(t, c.add(e.members[c.owner[i]], s), "seed %d: %+v", seed, s)
		}
		for i, h := range all {
			if h.kept {
				c.keepHeld(uint32(i), 0, end)
			}
		}
		c.close(end, true)
		requireNaive(t, seed, c, all, told)
	}
}

// requireNaive counts again, each figure by its definition.
func requireNaive(t *testing.T, seed uint64, c *collector, all []history, told []program.Sample) {
	t.Helper()
	var want run.Counts
	var offers run.Offers
	var outstanding int64
	var rtts, lags []int64
	for i, h := range all {
		had := map[program.Kind]int64{}
		for _, s := range h.samples {
			had[s.Kind]++
			if s.Kind == program.Offered || s.Kind == program.Failed || s.Kind == program.Refused {
				lag := s.A - c.item(int64(i)).At
				rtts, lags = append(rtts, s.B-s.A), append(lags, lag)
				switch {
				case lag <= c.maxLag:
				case lag-int64(s.Waited)*1000 <= c.maxLag:
					offers.LateForSystem++
				default:
					offers.LateForTool++
				}
			}
		}
		failed := had[program.Failed] + had[program.Refused]
		want.OfferErrors += failed
		if had[program.Offering] > 0 && failed+had[program.Offered] == 0 {
			want.OfferErrors++
		}
		switch {
		case had[program.Taken] > 0:
			want.Delivered++
			want.Duplicate += had[program.Taken] - 1
			want.Revived += had[program.Removed]
		case had[program.Removed] > 0:
			want.Removed++
		case h.kept:
			want.Pending++
		case had[program.Offered] > 0:
			want.Lost++
		}
		if had[program.Offered] > 0 && had[program.Taken]+had[program.Removed] == 0 {
			outstanding++
		}
	}
	want.Offered = want.Delivered + want.Removed + want.Pending + want.Lost
	var first []program.Sample // deliveries
	seen := map[uint32]bool{}
	var lateness, pastDue []int64
	for _, s := range told {
		if s.Kind == program.Taken && !seen[s.Index] {
			seen[s.Index] = true
			first = append(first, s)
			lateness, pastDue = append(lateness, s.B-s.A), append(pastDue, s.B-s.A/1e6*1e6)
			if s.A-s.B > int64(time.Millisecond) {
				want.Early++
			}
		}
	}
	require.Equal(t, want, c.balance(false), "seed %d", seed)
	require.Equal(t, offers, c.offers, "seed %d", seed)
	require.Equal(t, outstanding, c.outstanding, "seed %d", seed)
	for name, of := range map[string]struct {
		values []int64
		h      *run.Histogram
	}{"lateness": {lateness, c.histograms.Lateness}, "past due": {pastDue, c.histograms.PastDue}, "rtt": {rtts, c.histograms.OfferRTT}, "lag": {lags, c.histograms.ScheduleLag}} {
		require.EqualValues(t, len(of.values), of.h.Count(), name)
		slices.Sort(of.values)
		for _, q := range []float64{.5, .9, .99, 1} {
			if n := len(of.values); n > 0 {
				exact := float64(of.values[max(int(q*float64(n)+.999999), 1)-1])
				require.InDelta(t, exact, float64(of.h.Quantile(q)), max(exact, -exact)*.001+128, "seed %d: %s at %v", seed, name, q)
			}
		}
	}
	slices.SortFunc(first, func(a, b program.Sample) int { return cmp.Or(cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A)) })
	inversions, delivered := int64(0), int64(0)
	for i, s := range first {
		if slices.ContainsFunc(first[:i], func(o program.Sample) bool {
			return int(o.Index)%len(c.order.queues) == int(s.Index)%len(c.order.queues) && o.A-s.A >= int64(time.Millisecond)
		}) {
			inversions++
		}
	}
	require.Equal(t, inversions, c.order.Inversions, "seed %d", seed)
	for _, i := range c.intervals {
		delivered += i.Delivered
	}
	require.Equal(t, want.Delivered, delivered, "seed %d: of all seconds", seed)
}
