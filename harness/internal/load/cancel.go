package load

import (
	"context"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// offered is a message to be cancelled.
type offered struct {
	seq     int64
	value   []byte
	at      time.Time
	awaited bool
}

// cancellers cancel messages, one goroutine for each producer: each has its
// messages in the order of the offers, so a slow removal delays only those behind
// it.
type cancellers struct {
	part    *local
	stage   *stage
	queues  []chan offered
	workers sync.WaitGroup
	stop    context.CancelFunc
}

// startCancellers returns nil where nothing is to be cancelled.
func (l *local) startCancellers(ctx context.Context, s *stage) *cancellers {
	if s.plan.Cancel.Share <= 0 {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	c := &cancellers{part: l, stage: s, queues: make([]chan offered, l.Plan.Producers), stop: stop}
	for p := range c.queues {
		if !s.roster.OffersEver(p) {
			continue
		}
		c.queues[p] = make(chan offered, s.ledger.share(p))
		c.workers.Go(func() { c.work(ctx, p) })
	}
	return c
}

// add hands over a confirmed message of producer p. It never blocks.
func (c *cancellers) add(p int, o offered) { c.queues[p] <- o }

// end returns when nothing is cancelled any more.
func (c *cancellers) end() {
	if c != nil {
		c.stop()
		c.workers.Wait()
	}
}

func (c *cancellers) work(ctx context.Context, p int) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		var o offered
		select {
		case o = <-c.queues[p]:
		case <-ctx.Done():
			return
		}
		timer.Reset(time.Until(o.at))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		c.remove(ctx, p, o)
	}
}

func (c *cancellers) remove(ctx context.Context, p int, o offered) {
	remover, ok := c.part.queueOf(c.stage.ledger.index(p, o.seq)).(driver.Remover)
	if !ok {
		return // openLocal refuses such drivers
	}
	began := time.Now()
	removed, err := remover.Remove(ctx, o.value)
	c.stage.removals.record(int64(time.Since(began)))
	switch {
	case err != nil:
		c.stage.removeErrors.Add(1)
		c.stage.removeFailure.set(err)
	case removed:
		c.stage.ledger.remove(p, o.seq, o.awaited)
	default:
		c.stage.tooLate.Add(1)
	}
}
