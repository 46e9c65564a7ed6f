package load

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/agent"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// phase is a phase of a run under way.
type phase struct {
	*collector
	engine *engine
	which  plan.Phase
	plan   plan.PhasePlan
	start  time.Time
	told   func(Progress)

	handing sync.Mutex // held while a message is handed out

	mu         sync.Mutex // guards what follows
	next       int64      // the first message that was not handed out
	stopped    bool
	coming     []*member // those that are still to begin
	lastChange int64     // the latest that a member has begun, Unix ns

	over    chan struct{}
	working sync.WaitGroup
}

// lead is how long before its instant an item is with its agent.
const lead = 2 * time.Second

// handOutEvery is how often items are handed out.
const handOutEvery = 20 * time.Millisecond

// begin starts a phase: its items go out, and its seconds are closed.
func (e *engine) begin(ctx context.Context, which plan.Phase, start time.Time, told func(Progress)) *phase {
	p := &phase{
		engine: e, which: which, plan: e.Plan.Phase(which), start: start, told: told,
		collector: e.newCollector(which, start), over: make(chan struct{}),
	}
	for _, m := range e.members {
		if which == plan.Measured && m.From > 0 {
			p.coming = append(p.coming, m)
		}
	}
	e.mu.Lock()
	e.phases[which] = p
	e.mu.Unlock()
	p.working.Go(func() { p.handOut(ctx) })
	p.working.Go(p.closeSeconds)
	return p
}

// end closes the last second of a phase. Samples of it may come yet.
func (p *phase) end() {
	close(p.over)
	p.working.Wait()
	seconds := p.close(p.engine.epoch.Wall(time.Now()), true)
	for i, s := range seconds {
		p.told(p.progress(s, i == len(seconds)-1))
	}
}

func (p *phase) closeSeconds() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			for _, s := range p.close(p.engine.epoch.Wall(time.Now().Add(-settled)), false) {
				p.told(p.progress(s, false))
			}
		case <-p.over:
			return
		}
	}
}

// add counts a sample of a member in its phase.
func (e *engine) add(m *member, s agent.Sample) error {
	which := plan.Measured
	if s.Index&agent.Warm != 0 {
		which, s.Index = plan.Warmup, s.Index&^agent.Warm
	}
	e.mu.Lock()
	p := e.phases[which]
	if p == nil && (s.Kind == agent.Foreign || s.Kind == agent.Corrupt || s.Kind == agent.TakeFail) {
		p = e.phases[plan.Warmup] // which counts for nothing
	}
	e.mu.Unlock()
	switch {
	case p != nil:
		return p.add(m, s)
	case s.Kind == agent.Foreign || s.Kind == agent.Corrupt || s.Kind == agent.TakeFail:
		return nil
	}
	return &ReportError{string(s.Kind) + ".index", s.Index, "a message that was handed out"}
}

// lostMember has no phase wait for a member that is gone.
func (e *engine) lostMember(m *member) {
	e.mu.Lock()
	phases := []*phase{e.phases[plan.Warmup], e.phases[plan.Measured]}
	e.mu.Unlock()
	for _, p := range phases {
		if p != nil {
			p.lost(m)
		}
	}
}

// stop hands out no more.
func (p *phase) stop() {
	p.handing.Lock()
	defer p.handing.Unlock()
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
}

// allOut reports whether no more is to be handed out.
func (p *phase) allOut() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped || p.next == p.n
}

// handOut gives each message to a member shortly before its instant.
func (p *phase) handOut(ctx context.Context) {
	tick := time.NewTicker(handOutEvery)
	defer tick.Stop()
	for {
		until := time.Since(p.start) + lead
		for ctx.Err() == nil && p.handNext(until) {
		}
		if p.allOut() {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-p.over:
			return
		}
	}
}

// handNext hands out the next message, if it is to be sent until then; it reports whether it did.
func (p *phase) handNext(until time.Duration) bool {
	p.handing.Lock() // so that nothing goes out once stop has returned
	defer p.handing.Unlock()
	if p.allOut() || p.plan.Schedule.At(p.next) > until {
		return false
	}
	m, wait := p.offerer(p.next)
	if wait {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m == nil { // no member is there, and none will be
		p.stopped = true
		return false
	}
	item := p.item(p.next)
	if p.which == plan.Warmup {
		item.Index |= agent.Warm
	}
	p.hand(p.next, m)
	m.hand(item)
	p.next++
	return true
}

// offerer is the member that is to offer a message. Where nobody offers at its instant, that is the one which begins
// next. wait says that it is still to open.
func (p *phase) offerer(i int64) (m *member, wait bool) {
	at := p.plan.Schedule.At(i)
	var there []*member
	next := time.Duration(-1)
	for _, m := range p.engine.members {
		if !m.Offers || m.isEnded() {
			continue
		}
		if p.which == plan.Warmup {
			if m.From == 0 {
				there = append(there, m)
			}
			continue
		}
		switch {
		case m.To > 0 && at >= m.To:
		case at >= m.From:
			there = append(there, m)
		case next < 0 || m.From < next:
			next = m.From
		}
	}
	if len(there) == 0 {
		for _, m := range p.engine.members {
			if m.Offers && !m.isEnded() && p.which == plan.Measured && m.From == next {
				there = append(there, m)
			}
		}
	}
	if len(there) == 0 {
		return nil, false
	}
	m = there[i%int64(len(there))]
	return m, !m.there() && p.expects(func(other *member) bool { return other == m })
}

// expects reports whether a member of some kind is still to begin.
func (p *phase) expects(kind func(*member) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.coming, kind)
}

// came notes that a member has begun, or never will.
func (p *phase) came(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming = slices.DeleteFunc(p.coming, func(other *member) bool { return other == m })
	if !m.there() {
		m.mu.Lock()
		m.ended = true
		m.mu.Unlock()
	}
}

// changed notes that a member has begun, from when on messages are waited for anew.
func (p *phase) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastChange = p.engine.epoch.Wall(time.Now())
}

// lastChanged is when a member has begun last.
func (p *phase) lastChanged() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.engine.epoch.Instant(p.lastChange)
}

// awaitAnswers waits until offers that are under way are answered. It gives up after a while.
func awaitAnswers(offering func() int64) {
	for began := time.Now(); offering() > 0 && time.Since(began) < askTimeout; {
		time.Sleep(drainTick)
	}
}

// halt has all members forget what they have not sent, and with abandon cancel what is under way.
func (p *phase) halt(ctx context.Context, abandon bool) {
	p.stop()
	for _, m := range p.engine.members {
		if !m.Offers || !m.there() {
			continue
		}
		for _, item := range m.takeBack() {
			_ = p.engine.add(m, agent.Sample{Kind: agent.Skipped, Index: item.Index}) // as the agent would report it
		}
		if _, err := m.call(ctx, p.engine.Silence, "load.halt", map[string]any{"abandon": abandon}); err != nil {
			m.fail(err)
		}
	}
}

const (
	// drainTick is how often a phase is looked at.
	drainTick = 20 * time.Millisecond
	// settleLimit is for duplicates that come after the last message: what is held is
	// asked for until it is nothing.
	settleLimit = time.Second
	// quietAfter is how long nothing came when an interrupted run waits for no more.
	quietAfter = time.Second
)

// offerAll waits until all offers are made and answered. What is not answered in time is cancelled;
// an interrupt ends the offers, and so do until and a server that is gone.
func (p *phase) offerAll(ctx context.Context, until <-chan struct{}) {
	limit := p.start.Add(p.plan.Schedule.Duration() + p.engine.Plan.DrainTimeout)
	interrupt := ctx.Done()
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-p.engine.gone:
			p.halt(ctx, true)
			return
		case <-until:
			until = nil
			p.halt(ctx, false)
		case <-interrupt:
			interrupt = nil
			p.halt(ctx, false)
			if end := time.Now().Add(p.engine.Plan.DrainTimeout); end.Before(limit) {
				limit = end
			}
		}
		more := p.expects(func(m *member) bool { return m.Offers && m.From < p.plan.Schedule.Duration() })
		if p.allOut() && p.stands().offering == 0 && !more {
			return
		}
		if time.Now().After(limit) && time.Since(p.lastChanged()) > p.engine.Plan.DrainTimeout && !more {
			p.halt(ctx, true)
			awaitAnswers(func() int64 { return p.stands().offering }) // of agents that were told to give up
			return
		}
	}
}

// drain waits until every confirmed message came. It gives up when nothing
// came for the drain timeout since the last due instant, or since the last member that
// takes has begun, when the drain limit is over, when no member that takes is left or the server
// gone, and after an interrupt once the timeout is, or at once if nothing comes due within it.
func (p *phase) drain(ctx context.Context) {
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	interrupt := ctx.Done()
	var limit time.Time
	var lastDue int64 // of an interrupted run: the last instant that is worth waiting for
	for !p.drained(limit, lastDue) {
		select {
		case <-tick.C:
		case <-interrupt:
			interrupt = nil
			limit = time.Now().Add(p.engine.Plan.DrainTimeout)
			lastDue = p.lastDueBefore(limit)
		}
	}
}

// drained reports whether to wait no longer. limit is zero unless interrupted.
func (p *phase) drained(limit time.Time, lastDue int64) bool {
	e, s := p.engine, p.stands()
	now := time.Now()
	wall := e.epoch.Wall(now)
	taker := func(m *member) bool { return m.Takes }
	switch {
	case s.outstanding <= 0:
		// A failed offer may have been accepted and come yet.
		return s.unsure == 0 || wall > s.lastDue || !limit.IsZero()
	case e.isGone():
		return true
	case !slices.ContainsFunc(e.members, func(m *member) bool { return m.Takes && m.there() }) && !p.expects(taker):
		return true
	}
	if over := e.Plan.DrainLimit; over > 0 && wall-s.lastDue > int64(over) {
		return true
	}
	p.mu.Lock()
	quiet := wall - max(s.lastDue, s.lastCame, p.lastChange)
	p.mu.Unlock()
	if quiet > int64(e.Plan.DrainTimeout) && !p.expects(taker) {
		return true
	}
	return !limit.IsZero() && (now.After(limit) || wall-max(lastDue, s.lastCame) > int64(quietAfter))
}

// lastDueBefore returns the last due instant up to limit of a message that has been
// offered, as the schedule intended it, in Unix ns.
func (p *phase) lastDueBefore(limit time.Time) int64 {
	last := time.Time{}
	now := time.Since(p.start)
	for i := range p.n {
		if p.plan.Schedule.At(i) > now {
			break
		}
		if due := p.start.Add(p.plan.Due(p.engine.Plan.Seed, i, p.n)); !due.After(limit) && due.After(last) {
			last = due
		}
	}
	return p.engine.epoch.Wall(last)
}

// settle waits until the implementation holds nothing that is waited for, so
// that a second copy of a message is taken and counted too. The consumers still
// take.
func (p *phase) settle(ctx context.Context) {
	e, s := p.engine, p.stands()
	all := e.holdings()
	if e.isGone() || len(all) == 0 || s.outstanding > 0 || p.plan.Horizon > 0 {
		return
	}
	limit := time.Now().Add(settleLimit)
	if s.unsure > 0 {
		limit = limit.Add(e.Plan.DrainTimeout)
	}
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for time.Now().Before(limit) {
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		still := false
		for _, h := range all {
			n, err := h.held(asking)
			if still = still || n > 0; err != nil {
				cancel()
				return
			}
		}
		cancel()
		if !still {
			return
		}
		<-tick.C
	}
}
