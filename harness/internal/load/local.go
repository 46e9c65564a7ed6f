package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// local is a part in this process.
type local struct {
	plan.Part
	identity driver.Identity
	queues   []driver.Queue // in the order of the plan's names
	clock    clock.Clock
	epoch    epoch
	stages   map[plan.Phase]*stage // complete before the first consumer starts

	taking    context.Context
	endTaking context.CancelFunc
	consumers sync.WaitGroup
	begun     map[int]bool // consumers that have been

	foreign     atomic.Int64
	corrupt     atomic.Int64
	takeErrors  atomic.Int64
	takeFailure firstError
}

// stage is one phase of a part.
type stage struct {
	phase  plan.Phase
	plan   plan.PhasePlan
	roster *plan.Roster
	ledger *ledger
	file   *ledgerFile // nil unless the part is to be killed, or keeps account
	offers stripes     // offer RTT, response time, schedule lag
	takes  stripes     // lateness, past due

	start    time.Time
	lastDue  instant // the latest due instant that was offered and is waited for
	lastCame instant // the latest delivery
	failure  firstError
	// horizon is the Unix time in ns after which messages are not waited for; 0
	// waits for all.
	horizon atomic.Int64

	halt    context.CancelFunc // ends the offers that have not begun
	abandon context.CancelFunc // ends those under way
	offered chan struct{}      // closed when no more come
	seconds *seconds

	removals      *stripe     // nil where nothing is cancelled
	cancellers    *cancellers // nil too
	tooLate       atomic.Int64
	removeErrors  atomic.Int64
	removeFailure firstError
}

// openLocal opens the queues of a part. It refuses an implementation that lacks what
// the plan needs.
func openLocal(ctx context.Context, d driver.Driver, redisURL string, p plan.Part, k clock.Clock, e epoch) (*local, error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	queues, err := d.Open(opening, driver.Target{RedisURL: redisURL}, p.Plan.QueueNames()...)
	if err != nil {
		return nil, fmt.Errorf("open driver %s: %w", d.Identity(), err)
	}
	l := &local{Part: p, identity: d.Identity(), queues: queues, clock: k, epoch: e, stages: map[plan.Phase]*stage{}, begun: map[int]bool{}}
	if err := l.able(); err != nil {
		return nil, errors.Join(err, l.closeQueues())
	}
	l.taking, l.endTaking = context.WithCancel(context.WithoutCancel(ctx))
	l.stages[plan.Measured] = l.newStage(plan.Measured)
	if p.Plan.Warmup > 0 {
		l.stages[plan.Warmup] = l.newStage(plan.Warmup)
	}
	return l, nil
}

// keepIn keeps the ledger of the measured phase in a file.
func (l *local) keepIn(path string) (err error) {
	s := l.stages[plan.Measured]
	s.file, err = openLedgerFile(path, s.ledger.messages)
	return err
}

// able refuses an implementation that lacks what the plan needs.
func (l *local) able() error {
	m := l.Plan.Members()[l.Role.Member]
	_, polls := l.queues[0].(driver.Poller)
	_, removes := l.queues[0].(driver.Remover)
	switch {
	case l.Plan.Poll > 0 && m.Takes && !polls:
		return &driver.CapabilityError{Driver: l.identity, Need: "look for a message without waiting for one"}
	case l.Plan.Cancel.Share > 0 && m.Offers && !removes:
		return &driver.CapabilityError{Driver: l.identity, Need: "cancel a message"}
	}
	return nil
}

func (l *local) newStage(phase plan.Phase) *stage {
	p := l.Plan.Phase(phase)
	s := &stage{phase: phase, plan: p, roster: plan.RosterOf(l.Plan, l.Role, phase), halt: func() {}, abandon: func() {}}
	s.ledger = newLedger(l.Plan.Producers, p.Schedule.Messages(), s.owns)
	n := max(maxStripes/len(l.Plan.Members()), 2)
	if phase == plan.Warmup {
		n = 2
	}
	s.offers, s.takes = newStripes(min(n, l.Plan.Producers), 3), newStripes(min(n, l.Plan.Consumers), 2)
	if phase == plan.Measured {
		s.takes.keepLatest(s.ledger.messages)
	}
	if p.Cancel.Share > 0 {
		s.removals = &stripe{figures: []figure{newFigure()}}
	}
	return s
}

// owns reports whether a message is this part's to offer.
func (s *stage) owns(p int, seq int64) bool {
	return s.roster.Offers(p, s.plan.Schedule.At(s.ledger.index(p, seq)))
}

// awaits reports whether the run waits for a message that is due at an instant.
func (s *stage) awaits(due int64) bool {
	horizon := s.horizon.Load()
	return horizon == 0 || due <= horizon
}

// intended is when message i should be sent.
func (s *stage) intended(i int64) time.Time { return s.start.Add(s.plan.Schedule.At(i)) }

// delayOf is the delay of message i, sent now. What should have been due already
// is due at once.
func (s *stage) delayOf(seed uint64, i int64, now time.Time) time.Duration {
	delay := s.plan.Delay.Of(seed, i, s.ledger.messages)
	if !s.plan.Delay.Together {
		return delay
	}
	// Whole milliseconds of the wall clock, as the due time is made of.
	due, sent := s.start.Add(delay).UnixMilli(), now.UnixMilli()
	return max(time.Duration(due-sent), 0) * time.Millisecond
}

func (l *local) begin(ctx context.Context, phase plan.Phase, at time.Time, told func(second)) error {
	s := l.stages[phase]
	s.start = at
	if s.plan.Horizon > 0 {
		last := s.plan.Schedule.At(s.ledger.messages - 1)
		s.horizon.Store(l.epoch.wall(at.Add(last + s.plan.Horizon)))
	}
	outlives := context.WithoutCancel(ctx)
	stop, halt := context.WithCancel(outlives)
	offers, abandon := context.WithCancel(outlives)
	s.halt, s.abandon = halt, abandon
	if ctx.Err() != nil {
		halt() // interrupted before it began
	}
	s.seconds = l.watch(s, told)
	s.cancellers = l.startCancellers(outlives, s)
	l.startConsumers(s)
	s.offered = l.offerAll(stop, offers, s)
	return nil
}

func (l *local) stop(_ context.Context, phase plan.Phase, abandon bool) error {
	s := l.stages[phase]
	s.halt()
	if abandon {
		s.abandon()
	}
	return nil
}

func (l *local) counts(_ context.Context, phase plan.Phase) (counts, error) {
	s := l.stages[phase]
	select {
	case <-s.offered:
		return l.countsOf(s, false), nil
	default:
		return l.countsOf(s, true), nil
	}
}

func (l *local) countsOf(s *stage, offering bool) counts {
	c := counts{
		Attempted: s.ledger.attempted.Load(), Confirmed: s.ledger.confirmed.Load(), Failed: s.ledger.failed.Load(),
		Delivered: s.ledger.delivered.Load(), Duplicate: s.ledger.duplicate.Load(), Early: s.ledger.early.Load(),
		TooLate: s.tooLate.Load(), RemoveErrors: s.removeErrors.Load(), Outstanding: s.ledger.outstanding.Load(),
		LastDue: s.lastDue.ns.Load(), LastCame: s.lastCame.ns.Load(), Offering: offering,
	}
	if s.phase == plan.Measured {
		c.Foreign, c.Corrupt, c.TakeErrors = l.foreign.Load(), l.corrupt.Load(), l.takeErrors.Load()
	}
	return c
}

func (l *local) end(_ context.Context, phase plan.Phase) (*outcome, error) {
	s := l.stages[phase]
	o := &outcome{}
	s.halt()
	s.abandon()
	if !finished(func() { <-s.offered }) {
		o.notes = append(o.notes, fmt.Sprintf("offers did not end within %s when cancelled", abandonAfter))
	}
	s.cancellers.end()
	if phase == plan.Measured {
		l.endTaking()
		if !finished(l.consumers.Wait) {
			o.notes = append(o.notes, fmt.Sprintf("consumers did not end within %s when told to", abandonAfter))
		}
	}
	if err := s.seconds.stop(); err != nil {
		return nil, err
	}
	o.counts = l.countsOf(s, false)
	o.errs = failures{Offer: s.failure.text(), Remove: s.removeFailure.text()}
	if phase == plan.Measured {
		o.errs.Take = l.takeFailure.text()
		o.latest = s.takes.latest(s.ledger.messages)
	}
	o.sets = run.Sets{
		Confirmed: s.ledger.bitmap(confirmedBit), Delivered: s.ledger.bitmap(deliveredBit), Removed: s.ledger.bitmap(removedBit),
	}
	return o, s.histograms(&o.histograms)
}

func (s *stage) histograms(into *run.Histograms) error {
	taken, errTakes := s.takes.totals()
	offered, errOffers := s.offers.totals()
	if err := errors.Join(errTakes, errOffers); err != nil {
		return err
	}
	into.Lateness, into.PastDue = taken[0], taken[1]
	into.OfferRTT, into.ResponseTime, into.ScheduleLag = offered[0], offered[1], offered[2]
	if s.removals != nil {
		removed, err := stripes{s.removals}.totals()
		if err != nil {
			return err
		}
		into.RemoveRTT = removed[0]
	}
	return nil
}

// holding asks the queues, if all of them can tell.
func (l *local) holding() holding {
	all := values{part: l.Part, epoch: l.epoch}
	for _, q := range l.queues {
		h, ok := q.(driver.Holder)
		if !ok {
			return nil
		}
		all.holders = append(all.holders, h)
	}
	return all
}

func (l *local) close() error {
	l.endTaking()
	calls := finished(l.consumers.Wait)
	var err error
	closed := finished(func() { err = l.closeQueues() })
	switch {
	case !calls:
		return fmt.Errorf("takes of %s did not end within %s", l.identity, abandonAfter)
	case !closed:
		return fmt.Errorf("driver %s did not close within %s", l.identity, abandonAfter)
	case err != nil:
		return fmt.Errorf("closing driver %s: %w", l.identity, err)
	}
	return nil
}

func (l *local) closeQueues() error {
	errs := make([]error, 0, len(l.queues))
	for _, q := range l.queues {
		errs = append(errs, q.Close())
	}
	return errors.Join(errs...)
}

// finished reports whether f returned within abandonAfter.
func finished(f func()) bool {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	timer := time.NewTimer(abandonAfter)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
