package load

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/text"
)

const (
	// lead is how long before its instant an item is with its agent.
	lead = 2 * time.Second
	// tick is how often items are handed out and handed over, and a phase is looked at.
	tick = 20 * time.Millisecond
	// readyBefore is how long before the start the items of its first second are handed over.
	readyBefore = 100 * time.Millisecond
	// settled is how long after its end a second is closed: later reports count for the next open one.
	settled = 500 * time.Millisecond
	// settleLimit is for duplicates after the last message: held messages are asked for until there are no more.
	settleLimit = time.Second
	quietAfter  = time.Second // the silence after which an interrupted run stops waiting
)

// begin starts a phase: its items go out, and its seconds are closed, the last one by end. Samples of it may still arrive afterwards.
func (e *engine) begin(which plan.Phase, start time.Time) (p *phase, end func()) {
	p = e.newPhase(which, start)
	e.mu.Lock()
	e.phases[which] = p
	e.mu.Unlock()
	stop := meanwhile(tick, func() bool {
		e.mu.Lock()
		p.handOut() // nothing once the phase is over
		e.mu.Unlock()
		p.close(time.Now().Add(-settled), false)
		return false
	})
	return p, func() {
		stop()
		p.close(time.Now(), true)
	}
}

// meanwhile has do called at once, and in intervals until it reports true, or until stop, which returns after the last call.
func meanwhile(interval time.Duration, do func() bool) (stop func()) {
	over := make(chan struct{})
	var calling sync.WaitGroup
	calling.Go(func() { every(interval, over, do) })
	return func() {
		close(over)
		calling.Wait()
	}
}

// every calls do at once, and in intervals until it reports true, or something is over. It says if do reported true.
func every(interval time.Duration, over <-chan struct{}, do func() bool) bool {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !do() {
		select {
		case <-tick.C:
		case <-over:
			return false
		}
	}
	return true
}

// awake returns a context that ends after a time in which this process runs: what arrives while it stands still is read first.
func awake(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	const parts = 20
	ctx, cancel := context.WithCancel(ctx)
	n := 0
	go every(limit/parts, ctx.Done(), func() bool {
		if n++; n > parts {
			cancel()
		}
		return false
	})
	return ctx, cancel
}

// phaseOf is the phase of a message, nil before it begins, and the message's index in it.
func (e *engine) phaseOf(index uint32) (*phase, uint32) {
	if index&program.Warm != 0 {
		return e.phases[plan.Warmup], index &^ program.Warm
	}
	return e.phases[plan.Measured], index
}

// add counts a sample of a member in its phase. The engine's lock is held.
func (e *engine) add(m *member, s program.Sample) error {
	p, index := e.phaseOf(s.Index)
	switch begun := cmp.Or(e.phases[plan.Measured], e.phases[plan.Warmup]); {
	case begun == nil: // nothing is counted before
	case s.Kind == program.Foreign, s.Kind == program.Corrupt, s.Kind == program.TakeFail:
		begun.told[s.Kind]++
	case s.Kind == program.Dropped && (s.A < 0 || s.A > 1e12): // more than any agent makes
		return wrong(s, "a", s.A, "a number of samples")
	case s.Kind == program.Dropped:
		begun.told[s.Kind] += s.A
	case p == nil:
		return wrong(s, "index", fmt.Sprintf("%#x", s.Index), "a message that was handed out")
	default:
		s.Index = index
		return p.add(m, s)
	}
	return nil
}

// allOut reports whether no more is to be handed out.
func (p *phase) allOut() bool { return p.stopped || p.next == p.n }

// handOut gives each message to a member shortly before its instant.
func (p *phase) handOut() {
	for until := time.Since(p.start) + lead; !p.allOut() && p.schedule.At(p.next) <= until; {
		m := p.offerer(p.next)
		if m == nil || m.state == toCome {
			p.stopped = m == nil // there is no member, and never will be
			return
		}
		m.outbox = program.Append(m.outbox, p.item(p.next))
		p.hand(m)
	}
}

// offerer is the member that is to offer a message: each one at its instant by turns, or else the one that begins next.
func (p *phase) offerer(i int64) *member {
	at, from := p.schedule.At(i), time.Duration(math.MaxInt64)
	var there []*member
	for _, m := range p.engine.members {
		away := p.which == plan.Warmup && m.From > 0 || p.which == plan.Measured && m.To > 0 && at >= m.To
		if !m.Offers || m.state == over || away {
			continue
		}
		begins := max(m.From, at)
		if begins < from {
			from, there = begins, nil
		}
		if begins == from {
			there = append(there, m)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return there[i%int64(len(there))]
}

// expects reports whether a member of some kind is still to begin.
func (p *phase) expects(kind func(*member) bool) bool {
	return p.which == plan.Measured && slices.ContainsFunc(p.engine.members, func(m *member) bool { return m.state == toCome && kind(m) })
}

// awaitAnswers waits until offers that are under way are answered. It gives up after a while.
func (p *phase) awaitAnswers(open func() int64) {
	began := time.Now()
	every(tick, nil, func() bool {
		p.engine.mu.Lock()
		defer p.engine.mu.Unlock()
		return open() == 0 || time.Since(began) > min(askTimeout, p.engine.Silence, time.Duration(p.engine.patience.Load()))
	})
}

// halt hands out no more, and has all members drop unsent items; with abandon they cancel offers under way.
func (p *phase) halt(ctx context.Context, abandon bool) {
	e := p.engine
	e.mu.Lock()
	p.stopped = true
	e.mu.Unlock()
	for _, m := range e.members {
		if m.Offers && m.there() && !m.handOver() {
			if _, err := m.call(ctx, e.Silence, "load.halt", map[string]any{"abandon": abandon}); err != nil {
				m.leave(err)
			}
		}
	}
}

// offerAll waits until all offers are made and answered. Unanswered offers are cancelled in time; an interrupt ends the
// offers, and so does a warm-up in which nothing falls any more.
func (p *phase) offerAll(ctx context.Context) {
	e := p.engine
	limit, interrupted := p.schedule.Duration()+e.Plan.DrainTimeout, false // since the start
	look := func() bool {
		e.mu.Lock()
		isWarm := p.which == plan.Warmup && e.Plan.WarmupEnds && !p.stopped && still(p.recent)
		p.warm = p.warm || isWarm
		more := p.expects(func(m *member) bool { return m.Offers && m.From < p.schedule.Duration() })
		done := !more && p.allOut() && p.offering() == 0
		late := !more && time.Since(p.start) > limit && time.Since(p.lastChange) > e.Plan.DrainTimeout || e.patience.Load() == 0
		e.mu.Unlock()
		switch {
		case !done && late:
			p.abandoned = interrupted
			p.halt(ctx, true)
			p.awaitAnswers(p.offering) // of agents that are to give up
		case !done && ctx.Err() != nil && !interrupted:
			interrupted, limit = true, min(limit, time.Since(p.start)+e.Plan.DrainTimeout)
			p.halt(ctx, false)
		case isWarm:
			p.halt(ctx, false)
		}
		return done || late
	}
	if !every(tick, ctx.Done(), look) { // an interrupt stops the offers at once
		every(tick, nil, look)
	}
}

// drain waits until every confirmed message is delivered, or after an interrupt, all that are due within the drain timeout. It gives up
// after silence for the timeout since the last due instant or the last beginning of a member that takes, and when no such member is left.
func (p *phase) drain(ctx context.Context) {
	e := p.engine
	var limit, lastDue int64 // of an interrupted run: when to give up, and the last instant before that is worth waiting for
	every(tick, nil, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		now := time.Now()
		wall := e.epoch.Wall(now)
		if ctx.Err() != nil && limit == 0 { // what is due later is not waited for
			limit = wall + int64(e.Plan.DrainTimeout)
			p.horizon, p.outstanding = min(cmp.Or(p.horizon, limit), limit), 0
			for i := range p.n {
				if p.awaited(i) && p.pends(i) {
					lastDue, p.outstanding = max(lastDue, p.due[i]), p.outstanding+1
				}
			}
		}
		quiet := min(wall-max(p.lastDue, p.lastCame), int64(now.Sub(p.lastChange)))
		switch {
		case p.outstanding <= 0:
			// A failed offer may have been accepted, and be delivered later.
			return p.unsure() == 0 || wall > p.lastDue || limit != 0
		case !p.expects(func(m *member) bool { return m.Takes }) && (quiet > int64(e.Plan.DrainTimeout) || !slices.ContainsFunc(e.members, func(m *member) bool { return m.Takes && m.state == there })):
			return true
		}
		return limit != 0 && (e.patience.Load() == 0 || wall > min(limit, max(lastDue, p.lastCame))+int64(quietAfter+p.plan.Poll))
	})
}

// settle waits until the implementation holds nothing: the consumers still take, so that a second copy of a message is counted too.
func (p *phase) settle(ctx context.Context) {
	e := p.engine
	e.mu.Lock()
	outstanding, unsure := p.outstanding, p.unsure()
	e.mu.Unlock()
	if outstanding > 0 || p.horizon > 0 {
		return
	}
	limit := time.Now().Add(settleLimit)
	if unsure > 0 {
		limit = limit.Add(e.Plan.DrainTimeout)
	}
	every(tick, nil, func() bool {
		asking, cancel := e.asking(ctx, askTimeout)
		defer cancel()
		n := 0
		p.copies = map[uint32]bool{}
		err := e.held(asking, func(s program.Sample) error {
			e.mu.Lock()
			defer e.mu.Unlock()
			n++
			if of, i := e.phaseOf(s.Index); of == p && int64(i) < p.n && p.state[i]&delivered != 0 {
				p.copies[i] = true
			}
			return nil
		})
		return err != nil || n == 0 || !time.Now().Before(limit)
	})
}

// openAndCloseMembers opens and closes members at their instants, until ctx ends. At one instant, members end before others begin.
func (e *engine) openAndCloseMembers(ctx context.Context, p *phase) {
	var instants []time.Duration
	for _, m := range e.members {
		instants = append(instants, m.From, m.To)
	}
	slices.Sort(instants)
	note := func(m *member, err error) {
		if err != nil && ctx.Err() == nil {
			e.note("%s: %v", m.Member, err)
		}
	}
	for _, at := range slices.Compact(instants) {
		if at == 0 {
			continue // it is there, or stays to the end
		}
		if !program.Pause(ctx, time.Until(p.start.Add(at))) {
			break
		}
		for _, m := range e.members {
			if m.To != at || !m.there() { // one that could not be opened has been noted
				continue
			}
			if m.Kill { // in the middle of its work; its reports count, for the kernel keeps them
				m.leave(nil)
				m.link.Kill(nil)
			} else {
				p.awaitAnswers(func() int64 { return p.open[m.number] })
				m.close(ctx)
			}
			note(m, e.shareConsumers(ctx))
		}
		for _, m := range e.members {
			if m.From == at {
				note(m, m.open(ctx))
				if !m.there() {
					m.leave(nil)
				}
			}
		}
	}
	for _, m := range e.members {
		if !m.there() {
			m.leave(nil) // or will not begin any more
		}
	}
}

// Rule of a warm-up that ends by itself: from a window of stillSeconds to the next one, the median and the 90th percentile of
// lateness and of the offer's round trip fall by less than a stillShare of the earlier value, or by less than stillNs. A window of
// fewer than stillMessages says nothing: such a warm-up takes its full length, but no more than thinWarmup.
const (
	stillSeconds  = 3
	stillShare    = .15
	stillNs       = int64(50 * time.Microsecond)
	stillMessages = 100
	thinWarmup    = 5 * time.Second
)

// still reports whether nothing falls any more in the last seconds of a warm-up.
func still(seconds []run.Histograms) bool {
	n := len(seconds)
	if n < 2*stillSeconds {
		return false
	}
	window := func(of run.Distribution, from int) *run.Histogram {
		all := run.NewHistogram()
		for _, s := range seconds[n-from:][:stillSeconds] {
			all.Merge(of.Of(s))
		}
		return all
	}
	for _, figure := range []run.Distribution{run.Lateness, run.OfferRTT} {
		before, after := window(figure, 2*stillSeconds), window(figure, stillSeconds)
		if min(before.Count(), after.Count()) < stillMessages {
			return false
		}
		for _, q := range []float64{.5, .9} {
			old := before.Quantile(q)
			if fell := old - after.Quantile(q); fell > stillNs && float64(fell) > stillShare*float64(max(old, -old)) {
				return false
			}
		}
	}
	return true
}

// warmUp runs the warm-up until its last message is consumed, so that nothing of it is under way when the measurement begins.
func (e *engine) warmUp(ctx context.Context) {
	if e.Plan.Warmup <= 0 {
		return
	}
	p, end := e.begin(plan.Warmup, time.Now().Add(readyBefore))
	p.offerAll(ctx)
	e.warmup = &run.Warmup{Seconds: min(time.Since(p.start), e.Plan.Warmup).Seconds(), Fixed: !e.Plan.WarmupEnds, Warm: p.warm}
	p.drain(ctx)
	end()
	if e.Plan.WarmupEnds && !p.warm {
		e.note("the warm-up ended after %.0f s, before lateness and round trip were stable", e.warmup.Seconds)
	}
	e.mu.Lock()
	n, first := p.unsure(), cmp.Or(e.errs["offer"], "without an error")
	e.mu.Unlock()
	if n > 0 {
		e.note("%s of the warm-up failed, the first: %s", text.Plural(n, "offer"), first)
	}
}
