package load

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/run"
)

// takeRetry is the pause after a Take that failed, for example because the
// server is away.
const takeRetry = 100 * time.Millisecond

// consumeAll starts the consumers. They take until ctx ends, and then until Take
// returns no value: one that was popped already is still accounted for.
// It returns a channel that is closed when all have returned.
func (r *runner) consumeAll(ctx context.Context) <-chan struct{} {
	var workers sync.WaitGroup
	for c := range r.plan.Consumers {
		if !r.worker.owns(c) {
			continue
		}
		workers.Go(func() { r.consume(ctx, c) })
	}
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	return done
}

func (r *runner) consume(ctx context.Context, c int) {
	for ctx.Err() == nil {
		value, err := r.takeOne(ctx, c)
		switch {
		case err == nil:
			r.deliver(value, time.Now(), c)
			pause(ctx, r.plan.Work)
		case !errors.Is(err, errNoValue):
			r.takeErrors.Add(1)
			r.takeFailure.set(err)
			pause(ctx, takeRetry)
		}
	}
}

// errNoValue is the outcome of a take that ended without a value and without a
// fault: a poll that found none, or a member that ended.
var errNoValue = errors.New("no value")

// takeOne takes a value as consumer c, or polls for one.
func (r *runner) takeOne(ctx context.Context, c int) ([]byte, error) {
	if r.plan.Poll > 0 && !pause(ctx, r.plan.Poll) {
		return nil, errNoValue
	}
	m, err := r.fleet.taker(ctx, c/len(r.fleet.names))
	if err != nil {
		return nil, errNoValue
	}
	defer m.calls.Done()
	take := m.queues[c%len(m.queues)].Take
	if r.plan.Poll > 0 {
		take = pollOnce(m.queues[c%len(m.queues)])
	}
	value, err := take(m.taking)
	if err != nil && m.taking.Err() != nil {
		return nil, errNoValue
	}
	return value, err
}

// pollOnce makes a take out of a poll. openMember refuses drivers that do not poll.
func pollOnce(queue driver.Queue) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		poller, ok := queue.(driver.Poller)
		if !ok {
			return nil, errors.New("the driver does not poll")
		}
		value, found, err := poller.Poll(ctx)
		if err == nil && !found {
			err = errNoValue
		}
		return value, err
	}
}

// pause waits, and reports whether it came to its end.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// deliver accounts for one value that consumer c took at now.
func (r *runner) deliver(value []byte, now time.Time, c int) {
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
	first, known := s.ledger.deliver(int(h.Producer), int64(h.Seq), s.awaits(h.Due))
	if !known {
		r.foreign.Add(1)
		return
	}
	if !first {
		return
	}
	wall := r.epoch.wall(now)
	lateness := wall - h.Due
	if lateness < -int64(run.EarlyTolerance) {
		s.ledger.early.Add(1)
	}
	s.recorder.ofConsumer(c).record(lateness)
	s.lastCame.raise(wall)
}
