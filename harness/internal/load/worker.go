package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

const (
	// readyBefore is how long before the start the warm-up is over, for what is
	// asked of the server between the two.
	readyBefore = 250 * time.Millisecond
	// clockSamples is how often the server's clock is asked.
	clockSamples = 16
)

// LateStartError says that a worker was not ready at the agreed start.
type LateStartError struct{ By time.Duration }

func (e *LateStartError) Error() string {
	return fmt.Sprintf("--start-at passed %s before this worker was ready; choose a later instant", e.By.Round(time.Millisecond))
}

// checkWorker refuses what can never be right.
func (o Options) checkWorker() error {
	if o.Worker.Shared() && o.Redis == nil {
		return fmt.Errorf("worker: expected a driver whose messages are on a server that all workers share, got %s", o.Driver.Identity())
	}
	if o.Worker.Shared() && o.StartAt.IsZero() {
		return errors.New("worker: expected --start-at, so that all workers begin at one instant")
	}
	return o.Worker.Check(o.Plan)
}

// heldByWorkers reports whether all that a queue holds is of this run: other
// workers warm up already.
func (o Options) heldByWorkers(ctx context.Context, queue string) bool {
	if !o.Worker.Shared() {
		return false
	}
	foreign := false
	err := o.stores(queue).Values(ctx, func(value []byte) {
		h, ok := plan.FindPayload(value)
		foreign = foreign || !ok || h.RunID != o.RunID
	})
	return err == nil && !foreign
}

// agree measures the clocks and turns the agreed start into an instant of this
// machine. It fails if that has passed.
func (e *engine) agree(ctx context.Context) error {
	if e.StartAt.IsZero() {
		return nil
	}
	if e.Redis != nil {
		offset, err := e.Redis.ClockOffset(ctx)
		if err != nil {
			e.note("the server's clock is unknown, so the start is by this machine's: %v", err)
		} else {
			e.clockOffset = &offset
		}
	}
	ns := e.StartAt.UnixNano()
	if e.clockOffset != nil {
		ns -= int64(e.clockOffset.Ahead)
		e.Notice(e.clockOffset.String())
	}
	e.startAt = e.epoch.instant(ns)
	return e.tooLate()
}

func (e *engine) tooLate() error {
	by := time.Since(e.startAt)
	if by <= 0 {
		return nil
	}
	return &LateStartError{By: by}
}

// awaitStart waits until just before the agreed start, or until ctx ends.
func (e *engine) awaitStart(ctx context.Context) error {
	if e.Gather != nil {
		var err error
		if e.startAt, err = e.Gather(ctx); err != nil {
			return err
		}
	}
	if !e.startAt.IsZero() && ctx.Err() == nil {
		if err := e.tooLate(); err != nil {
			return err
		}
		pause(ctx, time.Until(e.startAt)-readyBefore)
	}
	return nil
}

// drainShared is drain where other workers take messages of this one: it waits
// until the whole schedule is due and nothing is held any more. It gives up when
// nothing has changed for the drain timeout, at limit if that is not zero, when the
// drain limit is over, and after an interrupt as drain does.
func (w *work) drainShared(ctx context.Context, limit time.Time) {
	e := w.engine
	tick := time.NewTicker(10 * drainTick)
	defer tick.Stop()
	interrupt := ctx.Done()
	due := w.start.Add(w.plan.Length())
	if over := e.Plan.DrainLimit; over > 0 && (limit.IsZero() || due.Add(over).Before(limit)) {
		limit = due.Add(over)
	}
	changed, last := due, int64(-1)
	all := e.holdings()
	for {
		select {
		case <-tick.C:
		case <-interrupt:
			interrupt = nil
			due = time.Now()
			if end := due.Add(e.Plan.DrainTimeout); limit.IsZero() || end.Before(limit) {
				limit = end
			}
		}
		now := time.Now()
		if e.isGone() || !limit.IsZero() && now.After(limit) {
			return
		}
		if now.Before(due) {
			continue
		}
		held, err := e.held(ctx, all)
		if err == nil && held == 0 {
			return
		}
		if err == nil && held != last {
			changed, last = now, held
		}
		if now.Sub(changed) > e.Plan.DrainTimeout {
			return
		}
	}
}
