package load

import (
	"context"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
)

// stage is one phase of a run under way.
type stage struct {
	phase    Phase
	rate     Rate
	delay    Delay
	seed     uint64
	start    time.Time
	ledger   *ledger
	recorder *recorders
	lastDue  instant // the latest due instant that was offered
	lastCame instant // the latest delivery
	failure  firstError
}

// intended is when message i should be sent. It does not depend on how the
// messages before it fared, so that no delay is left out of the measurement.
func (s *stage) intended(i int64) time.Time {
	return s.start.Add(time.Duration(float64(i) * float64(time.Second) / float64(s.rate)))
}

// offerAll runs the schedule to its end, or to the end of stop. Offers get the
// context offers, which outlives stop so that those under way are answered.
// It returns a channel that is closed when all producers have returned.
func (r *run) offerAll(stop, offers context.Context, s *stage) <-chan struct{} {
	var workers sync.WaitGroup
	wake := make([]chan struct{}, min(int64(r.plan.Producers), s.ledger.messages))
	for p := range wake {
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
func (r *run) pace(stop context.Context, s *stage, wake []chan struct{}) {
	timer := r.clock.NewTimer()
	defer timer.Close()
	for i := range s.ledger.messages {
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
func (r *run) produce(stop, offers context.Context, s *stage, p int, wake <-chan struct{}) {
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
func (r *run) offer(ctx context.Context, s *stage, p int, seq int64, intended time.Time) {
	delay := s.delay.of(s.seed, s.ledger.index(p, seq))
	sent := time.Now()
	due := r.epoch.wall(sent) + int64(delay)
	s.lastDue.raise(due)
	s.ledger.attempted.Add(1)
	value := Payload(Header{
		RunID: r.id, Producer: uint16(p), Seq: uint32(seq), Due: due, Phase: s.phase,
	}, r.plan.PayloadSize)
	err := r.queue.Offer(ctx, value, delay)
	s.recorder.ofProducer(p).record(int64(time.Since(sent)), int64(sent.Sub(intended)))
	if err != nil {
		s.ledger.failed.Add(1)
		s.failure.set(err)
		return
	}
	s.ledger.confirm(p, seq)
}
