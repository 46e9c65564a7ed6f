package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// toldSoFar is what a part has told of a phase second by second.
type toldSoFar struct {
	end                        float64
	offered, delivered, failed int64
	answers, deliveries        int64 // those in the histograms
}

func (t toldSoFar) add(s second) toldSoFar {
	return toldSoFar{
		max(t.end, s.End), t.offered + s.Offered, t.delivered + s.Delivered, t.failed + s.Failed,
		t.answers + countOf(s.OfferRTT), t.deliveries + countOf(s.Lateness),
	}
}

// countOf is 0 for a histogram that was not told.
func countOf(h *run.Histogram) int64 {
	if h == nil {
		return 0
	}
	return h.Count()
}

// killedOutcome makes the outcome of a part's measured phase, which began at start, from
// its ledger. What it had not told of when it ended, so many seconds after the start,
// becomes a second of its own.
func killedOutcome(part plan.Part, records []record, start time.Time, t toldSoFar, end float64) (*outcome, error) {
	p := part.Plan.Phase(plan.Measured)
	k := killed{part: part, plan: p, roster: plan.RosterOf(part.Plan, part.Role, plan.Measured), start: start.UnixNano()}
	k.histograms, k.latest = run.NewHistograms(), newLatest(int64(len(records)))
	n := (len(records) + 7) / 8
	k.sets = run.Sets{Confirmed: make([]byte, n), Delivered: make([]byte, n), Removed: make([]byte, n)}
	for i, r := range records {
		k.offer(int64(i), r)
		k.take(int64(i), r)
	}
	c := k.counts
	if c.Confirmed < t.offered || c.Delivered < t.delivered || int64(len(k.offers)) < t.answers || int64(len(k.takes)) < t.deliveries {
		return nil, fmt.Errorf("ledger: expected at least what was told, %d offers confirmed and %d messages delivered, got %d and %d",
			t.offered, t.delivered, c.Confirmed, c.Delivered)
	}
	if whole := math.Floor(end); whole > t.end {
		end = whole // which it was about to tell of
	}
	last := second{
		End: end, Offered: c.Confirmed - t.offered, Delivered: c.Delivered - t.delivered, Failed: c.Failed - t.failed,
		Outstanding: c.Outstanding,
		Lateness:    run.NewHistogram(run.IntervalDigits), PastDue: run.NewHistogram(run.IntervalDigits), OfferRTT: run.NewHistogram(run.IntervalDigits),
	}
	for _, r := range lastBy(k.offers, int64(len(k.offers))-t.answers, record.answered) {
		last.OfferRTT.Record(r.rtt())
	}
	for _, r := range lastBy(k.takes, int64(len(k.takes))-t.deliveries, func(r record) int64 { return r.Came }) {
		last.Lateness.Record(r.Came - r.Due)
		last.PastDue.Record(r.arrival().pastDue())
	}
	return &outcome{counts: c, histograms: k.histograms, sets: k.sets, latest: append([]arrival{}, k.latest.all...), seconds: []second{last}}, nil
}

// killed adds up what a ledger holds.
type killed struct {
	part   plan.Part
	plan   plan.PhasePlan
	roster *plan.Roster
	start  int64 // Unix ns

	counts        counts
	histograms    run.Histograms
	sets          run.Sets
	latest        *latest
	offers, takes []record // those that were answered, and that came
}

func (r record) rtt() int64       { return r.answered() - r.Sent }
func (r record) arrival() arrival { return newArrival(r.Due, r.Came) }

// offer adds what became of the offer of message i.
func (k *killed) offer(i int64, r record) {
	if r.Sent == 0 {
		return
	}
	k.counts.Attempted++
	if k.awaits(r.Due) {
		k.counts.LastDue = max(k.counts.LastDue, r.Due)
	}
	switch {
	case r.Answered == 0:
		return // it was under way
	case r.Answered < 0:
		k.counts.Failed++
	default:
		k.counts.Confirmed++
		k.sets.Confirmed[i/8] |= 1 << (i % 8)
		if r.Came == 0 && k.awaits(r.Due) {
			k.counts.Outstanding++
		}
	}
	intended := k.start + int64(k.plan.Schedule.At(i))
	k.histograms.OfferRTT.Record(r.rtt())
	k.histograms.ResponseTime.Record(r.rtt() + r.Sent - intended)
	k.histograms.ScheduleLag.Record(r.Sent - intended)
	k.offers = append(k.offers, r)
}

// take adds what is known of the delivery of message i.
func (k *killed) take(i int64, r record) {
	if r.Came == 0 {
		return
	}
	k.counts.Delivered++
	k.counts.Duplicate += r.Again
	k.counts.LastCame = max(k.counts.LastCame, r.Came)
	k.sets.Delivered[i/8] |= 1 << (i % 8)
	if r.Came-r.Due < -int64(run.EarlyTolerance) {
		k.counts.Early++
	}
	own := k.roster.Offers(int(i%int64(k.part.Plan.Producers)), k.plan.Schedule.At(i))
	if !own && k.awaits(r.Due) {
		k.counts.Outstanding--
	}
	k.histograms.Lateness.Record(r.Came - r.Due)
	k.histograms.PastDue.Record(r.arrival().pastDue())
	k.latest.add(r.arrival())
	k.takes = append(k.takes, r)
}

// awaits reports whether the run waits for a message that is due at an instant.
func (k *killed) awaits(due int64) bool {
	return k.plan.Horizon == 0 || due <= k.start+int64(k.plan.Schedule.At(k.part.Plan.Messages()-1)+k.plan.Horizon)
}

// lastBy returns the n records of the latest instants.
func lastBy(records []record, n int64, at func(record) int64) []record {
	slices.SortFunc(records, func(a, b record) int { return cmp.Compare(at(a), at(b)) })
	return records[int64(len(records))-n:]
}
