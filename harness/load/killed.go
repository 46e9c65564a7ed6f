package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/plan"
	"github.com/dq-bench/dq-bench/harness/run"
)

// ledgerFeature is what a program needs to be killed, in the words of PROTOCOL.md.
const ledgerFeature = program.LoadOp + "(ledger)"

// prepareKilled starts a process of its own for a member that is to be killed, and makes
// the file of its ledger.
func (e *engine) prepareKilled(ctx context.Context, m *member) error {
	p, err := e.programs.startKilled(ctx, m, e.Serve, e.Notice)
	if err != nil {
		return fmt.Errorf("open driver %s: %w", m.driver.Identity(), err)
	}
	m.driver = p
	lacks := missing(p, e.Plan)
	if lacks == "" && !p.Hello.Can(ledgerFeature) {
		lacks = ledgerFeature
	}
	if lacks != "" {
		return &driver.CapabilityError{Driver: p.Identity(), Need: "be killed (" + lacks + ")"}
	}
	m.ledger, err = makeLedgerFile(e.Plan.Messages())
	return err
}

// killMember kills the process of a member, in the middle of whatever it does, and keeps
// what its ledger holds.
func (e *engine) killMember(ctx context.Context, w *work, m *member) error {
	e.leave(m)
	r, ok := m.part.(*remote)
	if !ok {
		return errors.New("expected a part in a program, which alone can be killed")
	}
	return w.endPart(ctx, m, r.kill)
}

// removeLedgers removes the files of those that were to be killed.
func (e *engine) removeLedgers() error {
	var errs []error
	for _, m := range e.members {
		if m.ledger != "" {
			errs = append(errs, os.Remove(m.ledger))
		}
	}
	return errors.Join(errs...)
}

// startKilled starts the program that is a member by itself: an implementation of this
// process by the command serve and its name.
func (all programs) startKilled(ctx context.Context, m *member, serve []string, notice func(string)) (p *program.Process, err error) {
	name := m.driver.Identity().String()
	spec, outside := m.driver.(program.Spec)
	switch {
	case outside:
		p, err = spec.StartProcess(ctx, notice, nil)
	case len(serve) == 0:
		err = errors.New("expected a command that serves it in a process of its own, so that this one can be killed")
	default:
		p, err = program.Start(ctx, append(slices.Clone(serve), name), nil)
	}
	if err == nil {
		all[fmt.Sprintf("%s, member %d", name, m.role.Member)] = p
	}
	return p, err
}

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

// kill ends the program of the part by SIGKILL, in the middle of whatever it does. What
// came of the part is what its ledger holds.
func (r *remote) kill(_ context.Context, phase plan.Phase) (*outcome, error) {
	r.killed.Store(true)
	r.process.Kill()
	after := time.Since(r.start)
	limit := time.NewTimer(silenceLimit)
	defer limit.Stop()
	var a answered
	select {
	case a = <-r.answers[phase]:
	case <-limit.C:
		return nil, fmt.Errorf("driver %s: load.run did not end within %s of the end of its program", r.process.Identity(), silenceLimit)
	}
	if a.err == nil {
		return nil, fmt.Errorf("driver %s: load.run was answered before load.end", r.process.Identity())
	}
	records, err := readLedgerFile(r.ledger, r.part.Plan.Messages())
	if err != nil {
		return nil, err
	}
	o, err := killedOutcome(r.part, records, r.start, a.told, after.Seconds())
	if err != nil {
		return nil, fmt.Errorf("driver %s: %w", r.process.Identity(), err)
	}
	o.notes = []string{fmt.Sprintf("the process of %s was killed %s after the start; values that were not of this run and takes that failed, which its ledger does not hold, "+
		"are counted up to when it was last asked, and its processor time is not known", r.process.Identity(), after.Round(time.Millisecond))}
	last := r.lastCounts()
	o.counts.Foreign, o.counts.Corrupt, o.counts.TakeErrors = last.Foreign, last.Corrupt, last.TakeErrors
	return o, nil
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
	for _, r := range lastBy(k.offers, int64(len(k.offers))-t.answers, func(r record) int64 { return max(r.Answered, -r.Answered) }) {
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

func (r record) rtt() int64       { return max(r.Answered, -r.Answered) - r.Sent }
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
