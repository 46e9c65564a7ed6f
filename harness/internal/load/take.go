package load

import (
	"context"
	"errors"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// takeRetry is the pause after a Take that failed, for example because the
// server is away.
const takeRetry = 100 * time.Millisecond

// startConsumers starts the consumers that a phase adds, each at its instant. They
// take until taking ends, and then until Take returns no value: one that was popped
// already is still accounted for.
func (l *local) startConsumers(s *stage) {
	for c := range l.Plan.Consumers {
		from, ok := s.roster.Takes(c)
		if !ok || l.begun[c] {
			continue
		}
		l.begun[c] = true
		wait := time.Until(s.start.Add(from))
		if s.phase == plan.Warmup || from == 0 {
			wait = 0 // what comes before the phase is taken too
		}
		l.consumers.Go(func() {
			if pause(l.taking, wait) {
				l.consume(l.taking, c)
			}
		})
	}
}

func (l *local) consume(ctx context.Context, c int) {
	for ctx.Err() == nil {
		value, err := l.takeOne(ctx, c)
		switch {
		case err == nil:
			l.deliver(value, time.Now(), c)
			pause(ctx, l.Plan.Work)
		case !errors.Is(err, errNoValue):
			l.takeErrors.Add(1)
			l.takeFailure.set(err)
			pause(ctx, takeRetry)
		}
	}
}

// errNoValue is the outcome of a take that ended without a value and without a
// fault: a poll that found none, or a part that ended.
var errNoValue = errors.New("no value")

// takeOne takes a value as consumer c, or polls for one.
func (l *local) takeOne(ctx context.Context, c int) ([]byte, error) {
	if l.Plan.Poll > 0 && !pause(ctx, l.Plan.Poll) {
		return nil, errNoValue
	}
	queue := l.queues[c%len(l.queues)]
	take := queue.Take
	if l.Plan.Poll > 0 {
		take = pollOnce(queue)
	}
	value, err := take(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, errNoValue
	}
	return value, err
}

// pollOnce makes a take out of a poll. openLocal refuses drivers that do not poll.
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
func (l *local) deliver(value []byte, now time.Time, c int) {
	h, err := plan.ParsePayload(value)
	if errors.Is(err, plan.ErrCorrupt) {
		l.corrupt.Add(1)
		return
	}
	if err != nil || h.RunID != l.RunID {
		l.foreign.Add(1)
		return
	}
	s := l.stages[h.Phase]
	if s == nil {
		l.foreign.Add(1)
		return
	}
	wall := l.epoch.wall(now)
	if s.ledger.has(int(h.Producer), int64(h.Seq)) {
		s.file.came(s.ledger.index(int(h.Producer), int64(h.Seq)), h.Due, wall)
	}
	first, known := s.ledger.deliver(int(h.Producer), int64(h.Seq), s.awaits(h.Due))
	if !known {
		l.foreign.Add(1)
		return
	}
	if !first {
		return
	}
	lateness := wall - h.Due
	if lateness < -int64(run.EarlyTolerance) {
		s.ledger.early.Add(1)
	}
	s.takes.of(c).arrived(lateness, newArrival(h.Due, wall))
	s.lastCame.raise(wall)
}
