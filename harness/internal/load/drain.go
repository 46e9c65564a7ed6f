package load

import (
	"context"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

const (
	// watchTick is how often the parts are asked how they stand while they offer, and
	// drainTick how often while what was offered is waited for.
	watchTick = time.Second
	drainTick = 20 * time.Millisecond
	// settleLimit is for duplicates that come after the last message: what is held is
	// asked for until it is nothing.
	settleLimit = time.Second
	// quietAfter is how long nothing came when an interrupted run waits for no more.
	quietAfter = time.Second
)

// offerAll waits until all parts have offered their share. What is not answered in
// time is cancelled; an interrupt ends the offers, and so does a server that is gone.
func (w *work) offerAll(ctx context.Context, until <-chan struct{}) error {
	limit := w.start.Add(w.plan.Schedule.Duration() + w.engine.Plan.DrainTimeout)
	interrupt := ctx.Done()
	for {
		next := min(max(time.Until(w.start.Add(w.plan.Schedule.Duration())), drainTick), watchTick)
		if interrupt == nil || until == nil {
			next = drainTick
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-w.engine.gone:
			timer.Stop()
			return w.stop(ctx, true)
		case <-until:
			until = nil
			if err := w.stop(ctx, false); err != nil {
				return err
			}
		case <-interrupt:
			interrupt = nil
			if err := w.stop(ctx, false); err != nil {
				return err
			}
			if end := time.Now().Add(w.engine.Plan.DrainTimeout); end.Before(limit) {
				limit = end
			}
		}
		timer.Stop()
		more := w.expects(func(m *member) bool { return m.Offers && m.From < w.plan.Schedule.Duration() })
		c, err := w.counts(ctx)
		if err != nil {
			return err
		}
		if !c.Offering && !more {
			return nil
		}
		if time.Now().After(limit) {
			return w.stop(ctx, true)
		}
	}
}

// drain waits until every confirmed message came. It gives up when nothing
// came for the drain timeout since the last due instant, or since the last member that
// takes has begun, when the drain limit is over, or the server gone, and after an interrupt
// once the timeout is, or at once if nothing comes due within it.
func (w *work) drain(ctx context.Context) error {
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	interrupt := ctx.Done()
	var limit time.Time
	var lastDue int64 // of an interrupted run: the last instant that is worth waiting for
	for {
		c, err := w.counts(ctx)
		if err != nil || w.drained(ctx, c, limit, lastDue) {
			return err
		}
		select {
		case <-tick.C:
		case <-interrupt:
			interrupt = nil
			limit = time.Now().Add(w.engine.Plan.DrainTimeout)
			lastDue = w.lastDueBefore(limit)
		}
	}
}

// drained reports whether to wait no longer. limit is zero unless interrupted.
func (w *work) drained(ctx context.Context, c counts, limit time.Time, lastDue int64) bool {
	e := w.engine
	now := time.Now()
	wall := e.epoch.wall(now)
	if c.Outstanding <= 0 {
		// A failed offer may have been accepted and come yet.
		if c.unknown() > 0 && wall <= c.LastDue && limit.IsZero() {
			return false
		}
		// The sum is too low by what two parts have taken, and by what came of another
		// part's failed offer.
		if len(e.members) == 1 || w.plan.Horizon > 0 || e.nothingHeld(ctx) {
			return true
		}
	}
	if e.isGone() {
		return true
	}
	if over := e.Plan.DrainLimit; over > 0 && wall-c.LastDue > int64(over) {
		return true
	}
	quiet := wall - max(c.LastDue, c.LastCame, w.lastChange.ns.Load())
	if quiet > int64(e.Plan.DrainTimeout) && !w.expects(func(m *member) bool { return m.Takes }) {
		return true
	}
	return !limit.IsZero() && (now.After(limit) || wall-max(lastDue, c.LastCame) > int64(quietAfter))
}

// lastDueBefore returns the last due instant up to limit of a message that has been
// offered, as the schedule intended it, in Unix ns.
func (w *work) lastDueBefore(limit time.Time) int64 {
	last := time.Time{}
	n, seed := w.plan.Schedule.Messages(), w.engine.Plan.Seed
	now := time.Since(w.start)
	for i := range n {
		if w.plan.Schedule.At(i) > now {
			break
		}
		if due := w.start.Add(w.plan.Due(seed, i, n)); !due.After(limit) && due.After(last) {
			last = due
		}
	}
	return w.engine.epoch.wall(last)
}

// holdings is what tells of what is still held: the open parts that can, and the
// keys on the server.
func (e *engine) holdings() []holding {
	var all []holding
	open := e.openMembers()
	onServer := len(open) == 0
	for _, m := range open {
		if h := m.part.holding(); h != nil {
			all = append(all, h)
		} else {
			onServer = true
		}
	}
	if onServer && e.Redis != nil {
		v := values{part: plan.Part{RunID: e.RunID, Plan: e.Plan}, epoch: e.epoch}
		for _, name := range e.Plan.QueueNames() {
			v.holders = append(v.holders, e.stores(name))
		}
		all = append(all, v)
	}
	return all
}

// held is how many messages are held anywhere.
func (e *engine) held(ctx context.Context, all []holding) (int64, error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	total := int64(0)
	for _, h := range all {
		n, err := h.held(asking)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (e *engine) nothingHeld(ctx context.Context) bool {
	held, err := e.held(ctx, e.holdings())
	return err == nil && held == 0
}

// settle waits until the implementation holds nothing that is waited for, so
// that a second copy of a message is taken and counted too. The consumers still
// run.
func (w *work) settle(ctx context.Context, c counts) {
	e := w.engine
	all := e.holdings()
	if e.isGone() || e.Worker.Shared() || len(all) == 0 || c.Outstanding > 0 || w.plan.Horizon > 0 {
		return
	}
	limit := time.Now().Add(settleLimit)
	if c.unknown() > 0 {
		limit = limit.Add(e.Plan.DrainTimeout)
	}
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	for time.Now().Before(limit) {
		held, err := e.held(ctx, all)
		if err != nil || held == 0 {
			return
		}
		<-tick.C
	}
}
