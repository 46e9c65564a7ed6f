package simulate_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// client is one process.
type client struct {
	name   string
	rdb    *redis.Client
	dq     *dq.Client
	clock  *skewed
	worker *dq.Worker // of a reliable plan
	queue  *dq.Queue[string]
	stop   context.CancelFunc // ends what it takes
	ctx    context.Context
	work   sync.WaitGroup
	calls  sync.WaitGroup
	rng    *rand.Rand
	rngMu  sync.Mutex
}

func (w *world) start(e Event) {
	c := &client{name: e.Client, clock: &skewed{late: w.options.TimersLate}, rng: rand.New(rand.NewPCG(w.plan.Seed, numberOf(e.Client)+1))}
	c.clock.step(e.Span)
	c.rdb = redis.NewClient(&redis.Options{
		Addr: "127.0.0.1:6379", Dialer: w.net.dialer(e.Client), MaxRetries: -1, DisableIdentity: true,
	})
	var err error
	c.dq, err = dq.NewClient(c.rdb, dq.WithRelease(e.Text), dq.WithClock(c.clock), dq.WithClockStepDetection(!w.options.Unguarded), dq.WithRandom(rand.NewPCG(w.plan.Seed, numberOf(e.Client))))
	if err != nil {
		w.violate("%s does not start: %v", e.Client, err)
		return
	}
	if c.queue, err = dq.NewQueue(c.dq, queue, codec.String{}); err != nil {
		w.violate("%s has no queue: %v", e.Client, err)
		return
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	if w.plan.Reliable {
		w.consume(c, e.N)
	} else {
		for range e.N {
			c.work.Go(func() { w.take(c) })
		}
	}
	w.mu.Lock()
	w.clients[e.Client] = c
	w.mu.Unlock()
}

func (w *world) take(c *client) {
	for {
		v, err := c.queue.Take(c.ctx)
		if v != "" {
			w.took(v)
		}
		switch {
		case err == nil:
		case c.ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
			return
		default:
			if sleep(c.ctx, time.Second) != nil {
				return
			}
		}
	}
}

func (w *world) took(v string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.taken[v]++; w.taken[v] > 1 {
		w.report.Again++
	}
	w.report.Taken++
}

func (w *world) consume(c *client, workers int) {
	if workers == 0 {
		return
	}
	c.rngMu.Lock()
	mean := time.Second
	if c.rng.IntN(2) == 0 {
		mean = 200 * time.Microsecond // so that a worker holds several at a time
	}
	c.rngMu.Unlock()
	handler := func(ctx context.Context, m *dq.Message[string]) error {
		c.rngMu.Lock()
		work, fails := time.Duration(c.rng.ExpFloat64()*float64(mean)), c.rng.IntN(8) == 0
		switch c.rng.IntN(50) {
		case 0:
			work = time.Second // and some wait behind one that takes long
		case 1, 2, 3:
			work = min(2*w.plan.Visibility, 25*time.Second) // and some are longer than a lease
		}
		c.rngMu.Unlock()
		if err := sleep(ctx, work); err != nil {
			if errors.Is(context.Cause(ctx), dq.ErrLeaseLost) {
				w.mu.Lock()
				w.report.LeasesLost++
				w.mu.Unlock()
			}
			return err
		}
		if fails {
			return errors.New("it went wrong")
		}
		w.took(m.Value)
		return nil
	}
	worker := dq.NewWorker(c.dq, dq.WorkerOptions{
		Concurrency: workers, Lease: w.plan.Visibility, Backoff: func(int) time.Duration { return 5 * time.Second },
	})
	dq.Handle(worker, c.queue, handler)
	c.worker = worker
	c.work.Go(func() { _ = worker.Run(c.ctx) })
}

func (w *world) offer(c *client, e Event) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	_, err := c.queue.Offer(ctx, e.Text, e.Span)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offers[e.Text] = "ok"
	w.report.Offered++
	if err != nil {
		w.offers[e.Text] = "?"
		w.report.Refused++
	}
}

func (w *world) cancel(c *client, e Event) {
	w.mu.Lock()
	w.cancels[e.Text] = "?"
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	removed, err := c.queue.Remove(ctx, e.Text)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err != nil:
	case removed:
		w.cancels[e.Text] = "yes"
		w.report.Cancelled++
	default:
		w.cancels[e.Text] = "no"
	}
}

// kill ends a client as the kernel does: nothing it does reaches anybody any more.
func (w *world) kill(c *client) {
	w.forget(c)
	w.net.kill(c.name)
	c.stop()
	_ = c.dq.Close()
	_ = c.rdb.Close()
}

func (w *world) leave(c *client) {
	w.forget(c)
	if c.worker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		_ = c.worker.Shutdown(ctx)
		cancel()
	}
	c.stop()
	c.calls.Wait()
	c.work.Wait()
	if err := c.dq.Close(); err != nil {
		w.violate("%s does not close: %v", c.name, err)
	}
	_ = c.rdb.Close()
}

func (w *world) forget(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clients, c.name)
}
