package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// stage is one phase of a run under way.
type stage struct {
	phase    Phase
	schedule schedule
	delay    Delay
	seed     uint64
	start    time.Time
	ledger   *ledger
	recorder *recorders
	lastDue  instant // the latest due instant that was offered and is waited for
	lastCame instant // the latest delivery
	failure  firstError

	// horizon is the Unix time in ns after which messages are not waited for; 0
	// waits for all.
	horizon atomic.Int64

	cancellers    *cancellers // nil where nothing is called off
	tooLate       atomic.Int64
	removeErrors  atomic.Int64
	removeFailure firstError
}

// begin starts the clock of the phase.
func (s *stage) begin(start time.Time, p Plan, e epoch) {
	s.start = start
	if p.Horizon > 0 && s.phase == Measured {
		s.horizon.Store(e.wall(s.start.Add(s.schedule.duration() + p.Horizon)))
	}
}

// awaits reports whether the run waits for a message that is due at an instant.
func (s *stage) awaits(due int64) bool {
	horizon := s.horizon.Load()
	return horizon == 0 || due <= horizon
}

// intended is when message i should be sent.
func (s *stage) intended(i int64) time.Time { return s.start.Add(s.schedule.at(i)) }

// intendedDue is when message i comes due if it is sent when it should be.
func (s *stage) intendedDue(i int64) time.Time {
	delay := s.delay.of(s.seed, i, s.ledger.messages)
	if s.delay.Together {
		return s.start.Add(delay)
	}
	return s.intended(i).Add(delay)
}

// delayOf is the delay of message i, sent now. What should have been due already
// is due at once.
func (s *stage) delayOf(i int64, now time.Time) time.Duration {
	delay := s.delay.of(s.seed, i, s.ledger.messages)
	if !s.delay.Together {
		return delay
	}
	// Whole milliseconds of the wall clock, as the due time is made of.
	due, sent := s.start.Add(delay).UnixMilli(), now.UnixMilli()
	return max(time.Duration(due-sent), 0) * time.Millisecond
}

// offerAll runs the schedule to its end, or to the end of stop. Offers get the
// context offers, which outlives stop so that those under way are answered.
// It returns a channel that is closed when all producers have returned.
func (r *runner) offerAll(stop, offers context.Context, s *stage) <-chan struct{} {
	var workers sync.WaitGroup
	wake := make([]chan struct{}, min(int64(r.plan.Producers), s.ledger.messages))
	for p := range wake {
		if !r.worker.owns(p) {
			continue
		}
		wake[p] = make(chan struct{}, 1)
		workers.Go(func() { r.produce(stop, offers, s, p, wake[p]) })
	}
	workers.Go(func() { r.pace(stop, s, wake) })
	done := make(chan struct{})
	go func() {
		workers.Wait()
		close(done)
	}()
	return done
}

// pace wakes the producer of each message at its intended instant. One precise
// timer serves all producers, and it waits for none of them: a producer that is
// busy finds its messages by the clock later.
func (r *runner) pace(stop context.Context, s *stage, wake []chan struct{}) {
	timer := r.clock.NewTimer()
	defer timer.Close()
	for i := range s.ledger.messages {
		if wake[i%int64(len(wake))] == nil {
			continue // another worker's
		}
		if clock.SleepUntil(stop, r.clock, timer, s.intended(i)) != nil {
			return
		}
		select {
		case wake[i%int64(len(wake))] <- struct{}{}:
		default:
		}
	}
}

// produce offers the messages of producer p, each as soon as its intended
// instant has come.
func (r *runner) produce(stop, offers context.Context, s *stage, p int, wake <-chan struct{}) {
	for seq := range s.ledger.share(p) {
		i := s.ledger.index(p, seq)
		intended := s.intended(i)
		for time.Now().Before(intended) {
			select {
			case <-wake:
			case <-stop.Done():
				return
			}
		}
		if stop.Err() != nil || offers.Err() != nil {
			return
		}
		r.offer(offers, s, p, seq, intended)
	}
}

// offer sends one message. Its due instant is taken just before the call.
func (r *runner) offer(ctx context.Context, s *stage, p int, seq int64, intended time.Time) {
	m, err := r.fleet.offerer(ctx, p)
	if err != nil {
		return
	}
	defer m.calls.Done()
	i := s.ledger.index(p, seq)
	queue := r.queueOf(m, i)
	sent := time.Now()
	delay := s.delayOf(i, sent)
	due := r.epoch.wall(sent) + int64(delay)
	awaited := s.awaits(due)
	if awaited {
		s.lastDue.raise(due)
	}
	s.ledger.attempted.Add(1)
	value := Payload(Header{
		RunID: r.id, Producer: uint16(p), Seq: uint32(seq), Due: due, Phase: s.phase,
	}, r.plan.PayloadSize)
	err = queue.Offer(ctx, value, delay)
	s.recorder.ofProducer(p).record(int64(time.Since(sent)), int64(sent.Sub(intended)))
	if err != nil {
		s.ledger.failed.Add(1)
		s.failure.set(err)
		return
	}
	s.ledger.confirm(p, seq, awaited)
	if s.cancellers != nil && r.plan.Cancel.chosen(s.seed, i) {
		s.cancellers.add(p, offered{seq, value, sent.Add(r.plan.Cancel.After), awaited})
	}
}

// queueOf is the queue of a member that message i goes to.
func (r *runner) queueOf(m *member, i int64) driver.Queue {
	return m.queues[i%int64(len(m.queues))]
}
