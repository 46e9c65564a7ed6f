package load

import (
	"context"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// offered is a message to be called off.
type offered struct {
	seq     int64
	value   []byte
	at      time.Time
	awaited bool
}

// chosen reports whether message i is one to be called off.
func (c Cancel) chosen(seed uint64, i int64) bool {
	if c.Share <= 0 {
		return false
	}
	return float64(mix(^seed^mix(uint64(i)))>>11)/(1<<53) < c.Share
}

// cancellers call messages off, one goroutine for each producer: each has its
// messages in the order of the offers, so a slow removal delays only those behind
// it.
type cancellers struct {
	run     *runner
	stage   *stage
	queues  []chan offered
	workers sync.WaitGroup
}

// startCancellers returns nil where nothing is to be called off.
func (r *runner) startCancellers(ctx context.Context, s *stage) *cancellers {
	if r.plan.Cancel.Share <= 0 {
		return nil
	}
	c := &cancellers{run: r, stage: s, queues: make([]chan offered, r.plan.Producers)}
	for p := range c.queues {
		c.queues[p] = make(chan offered, s.ledger.share(p))
		c.workers.Go(func() { c.work(ctx, p) })
	}
	return c
}

// add hands over a confirmed message of producer p. It never blocks.
func (c *cancellers) add(p int, o offered) { c.queues[p] <- o }

// wait returns when the context of the start has ended and nothing is called off
// any more.
func (c *cancellers) wait() {
	if c != nil {
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
	m, err := c.run.fleet.offerer(ctx, p)
	if err != nil {
		return
	}
	defer m.calls.Done()
	remover, ok := c.run.queueOf(m, c.stage.ledger.index(p, o.seq)).(driver.Remover)
	if !ok {
		return // openMember refuses such drivers
	}
	began := time.Now()
	removed, err := remover.Remove(ctx, o.value)
	c.stage.recorder.removals.record(int64(time.Since(began)))
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
