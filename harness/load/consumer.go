package load

import (
	"context"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/report"
)

// takeRetry is the pause after a Take that failed, for example because the
// server is away.
const takeRetry = 100 * time.Millisecond

// consumeAll starts the consumers. They take until ctx ends, and then until Take
// returns no value: one that was popped already is still accounted for.
// It returns a channel that is closed when all have returned.
func (r *run) consumeAll(ctx context.Context) <-chan struct{} {
	var workers sync.WaitGroup
	for c := range r.plan.Consumers {
		workers.Go(func() { r.consume(ctx, c) })
	}
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	return done
}

func (r *run) consume(ctx context.Context, c int) {
	for {
		value, err := r.queue.Take(ctx)
		now := time.Now()
		if err == nil {
			r.deliver(value, now, c)
			continue
		}
		if ctx.Err() != nil {
			return
		}
		r.takeErrors.Add(1)
		r.takeFailure.set(err)
		pause := time.NewTimer(takeRetry)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
	}
}

// deliver accounts for one value that consumer c took at now.
func (r *run) deliver(value []byte, now time.Time, c int) {
	h, err := ParsePayload(value)
	if err != nil || h.RunID != r.id || len(value) != r.plan.PayloadSize {
		r.foreign.Add(1)
		return
	}
	s := r.stages[h.Phase]
	if s == nil {
		r.foreign.Add(1)
		return
	}
	first, known := s.ledger.deliver(int(h.Producer), int64(h.Seq))
	if !known {
		r.foreign.Add(1)
		return
	}
	if !first {
		return
	}
	wall := r.epoch.wall(now)
	lateness := wall - h.Due
	if lateness < -int64(report.EarlyTolerance) {
		s.ledger.early.Add(1)
	}
	s.recorder.ofConsumer(c).record(lateness)
	s.lastCame.raise(wall)
}
