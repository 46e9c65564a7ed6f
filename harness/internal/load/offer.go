package load

import (
	"context"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// offerAll runs this part's share of the schedule to its end, or to the end of stop.
// Offers get the context offers, which outlives stop so that those under way are
// answered. It returns a channel that is closed when all producers have returned.
func (l *local) offerAll(stop, offers context.Context, s *stage) chan struct{} {
	var workers sync.WaitGroup
	wake := make([]chan struct{}, min(int64(l.Plan.Producers), s.ledger.messages))
	for p := range wake {
		if !s.roster.OffersEver(p) {
			continue
		}
		wake[p] = make(chan struct{}, 1)
		workers.Go(func() { l.produce(stop, offers, s, p, wake[p]) })
	}
	workers.Go(func() { l.pace(stop, s, wake) })
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
func (l *local) pace(stop context.Context, s *stage, wake []chan struct{}) {
	timer := l.clock.NewTimer()
	defer timer.Close()
	for i := range s.ledger.messages {
		p := int(i % int64(len(wake)))
		if wake[p] == nil || !s.roster.Offers(p, s.plan.Schedule.At(i)) {
			continue // another part's
		}
		if clock.SleepUntil(stop, l.clock, timer, s.intended(i)) != nil {
			return
		}
		select {
		case wake[p] <- struct{}{}:
		default:
		}
	}
}

// produce offers the messages of producer p, each as soon as its intended
// instant has come.
func (l *local) produce(stop, offers context.Context, s *stage, p int, wake <-chan struct{}) {
	for seq := range s.ledger.share(p) {
		i := s.ledger.index(p, seq)
		at := s.plan.Schedule.At(i)
		if !s.roster.Offers(p, at) {
			continue
		}
		intended := s.start.Add(at)
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
		l.offer(offers, s, p, seq, intended)
	}
}

// offer sends one message. Its due instant is taken just before the call.
func (l *local) offer(ctx context.Context, s *stage, p int, seq int64, intended time.Time) {
	i := s.ledger.index(p, seq)
	sent := time.Now()
	delay := s.delayOf(l.Plan.Seed, i, sent)
	due := l.epoch.wall(sent) + int64(delay)
	awaited := s.awaits(due)
	if awaited {
		s.lastDue.raise(due)
	}
	s.ledger.attempted.Add(1)
	value := plan.Payload(plan.Header{
		RunID: l.RunID, Producer: uint16(p), Seq: uint32(seq), Due: due, Phase: s.phase,
	}, l.Plan.PayloadSize)
	s.file.sent(i, due, l.epoch.wall(sent))
	err := l.queueOf(i).Offer(ctx, value, delay)
	answered := time.Now()
	s.file.answered(i, l.epoch.wall(answered), err)
	s.offers.of(p).record(int64(answered.Sub(sent)), int64(answered.Sub(intended)), int64(sent.Sub(intended)))
	if err != nil {
		s.ledger.failed.Add(1)
		s.failure.set(err)
		return
	}
	s.ledger.confirm(p, seq, awaited)
	if s.cancellers != nil && s.plan.Cancel.Chosen(l.Plan.Seed, i) {
		s.cancellers.add(p, offered{seq, value, sent.Add(s.plan.Cancel.After), awaited})
	}
}

// queueOf is the queue that message i goes to.
func (l *local) queueOf(i int64) driver.Queue { return l.queues[i%int64(len(l.queues))] }
