package load

import (
	"context"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
)

const (
	// drainTick is how often a drain looks whether to give up; it ends by event.
	drainTick = 250 * time.Millisecond
	// settleTick and settleLimit are for duplicates that come after the last
	// message: the queue's length is asked until it is empty.
	settleTick  = 20 * time.Millisecond
	settleLimit = time.Second
)

// drain waits until every confirmed message of s came. It gives up when nothing
// came for the drain timeout since the last due instant, and after an interrupt
// once the timeout is over, or at once if nothing comes due within it.
func (r *runner) drain(ctx context.Context, s *stage) {
	tick := time.NewTicker(drainTick)
	defer tick.Stop()
	interrupt := ctx.Done()
	var limit time.Time
	for !r.drained(s, limit) {
		select {
		case <-s.ledger.zero:
		case <-tick.C:
		case <-interrupt:
			interrupt = nil
			limit = time.Now().Add(r.plan.DrainTimeout)
		}
	}
}

// drained reports whether to wait no longer. limit is zero unless interrupted.
func (r *runner) drained(s *stage, limit time.Time) bool {
	now := time.Now()
	wall := r.epoch.wall(now)
	if s.ledger.outstanding.Load() <= 0 {
		// A failed offer may have been taken over and come yet.
		return s.ledger.unknown() == 0 || wall > s.lastDue.ns.Load() || !limit.IsZero()
	}
	if quiet := wall - max(s.lastDue.ns.Load(), s.lastCame.ns.Load()); quiet > int64(r.plan.DrainTimeout) {
		return true
	}
	return !limit.IsZero() && (now.After(limit) || s.nextDue().After(limit))
}

// nextDue returns the earliest due instant of the messages that are missing, as
// the schedule intended it, or a time far away if none is.
func (s *stage) nextDue() time.Time {
	next := s.start.AddDate(100, 0, 0)
	s.ledger.missing(func(i int64) bool {
		if due := s.intendedDue(i); due.Before(next) {
			next = due
		}
		// Later messages of the same producer may be due earlier if delays differ.
		return true
	})
	return next
}

// settle waits until the implementation holds nothing that is waited for, so
// that a second copy of a message is taken and counted too. The consumers still
// run.
func (r *runner) settle(s *stage, holders []driver.Holder) {
	if r.worker.Shared() || len(holders) == 0 || s.ledger.outstanding.Load() > 0 || s.horizon.Load() > 0 {
		return
	}
	limit := time.Now().Add(settleLimit)
	if s.ledger.unknown() > 0 {
		limit = limit.Add(r.plan.DrainTimeout)
	}
	tick := time.NewTicker(settleTick)
	defer tick.Stop()
	for time.Now().Before(limit) {
		asking, cancel := context.WithDeadline(context.Background(), limit)
		held, err := heldByAll(asking, holders)
		cancel()
		if err != nil || held == 0 {
			return
		}
		<-tick.C
	}
}

func heldByAll(ctx context.Context, holders []driver.Holder) (int64, error) {
	total := int64(0)
	for _, h := range holders {
		held, err := h.Held(ctx)
		if err != nil {
			return 0, err
		}
		total += held
	}
	return total, nil
}

// readHeld notes in the ledger which messages the implementation still holds,
// and counts those that are not due yet.
func (r *runner) readHeld(ctx context.Context, s *stage, holders []driver.Holder) {
	if !r.worker.Shared() && s.ledger.outstanding.Load() <= 0 && s.ledger.unknown() == 0 && s.horizon.Load() == 0 {
		return
	}
	if len(holders) == 0 {
		r.note("driver cannot tell what it still holds: the %d missing messages count as lost", s.ledger.outstanding.Load())
		return
	}
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	now := r.epoch.wall(time.Now())
	for _, holder := range holders {
		err := holder.Values(reading, func(value []byte) {
			if h, ok := FindPayload(value); ok && h.RunID == r.id && h.Phase == s.phase {
				s.ledger.hold(int(h.Producer), int64(h.Seq), h.Due > now)
			}
		})
		if err != nil {
			r.note("what the queue still holds could not be read, so missing messages count as lost: %v", err)
			return
		}
	}
}
