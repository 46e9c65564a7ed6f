package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// aside has a client use another queue beside, and judges what comes while nothing goes wrong: each once, in order and in time.
func (w *world) aside(c *client, handled chan string) {
	var q *dq.Queue[string]
	open := func() bool {
		var err error
		if q, err = dq.NewQueue(c.dq, c.name+"-aside", codec.String{}); err != nil && !c.closing.Load() && c.ctx.Err() == nil {
			w.violate("%s has no other queue: %v", c.name, err)
		}
		return err == nil
	}
	take, most := func(ctx context.Context) (string, error) { return q.Take(ctx) }, lateBy
	if handled != nil {
		open()
		most = 2 * time.Minute // for other handlers
		take = func(ctx context.Context) (string, error) {
			select {
			case v := <-handled:
				return v, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		dq.Handle(c.worker, q, func(_ context.Context, m *dq.Message[string]) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if c.busy+1 > c.most || c.alone && time.Since(c.full) < w.plan.Visibility {
				w.violateLocked("%s has %d handlers at a time, of %d, and one more; one alone: %t", c.name, c.busy, c.most, c.alone)
			}
			select {
			case handled <- m.Value:
			default: // nobody reads them any more
			}
			return nil
		})
	}
	c.calls.Go(func() {
		for n := 0; sleep(c.ctx, time.Duration(c.draw(30_000))*time.Millisecond) == nil && !w.settles(); n++ {
			if handled == nil { // a queue is opened when it is needed, and perhaps just as the connection is made anew
				if c.draw(8) == 0 && !w.settles() {
					w.do(Event{Kind: Cut, Client: c.name, N: 3})
					w.net.slowDown(c.name, 30*time.Millisecond) // what it takes to connect
					_ = sleep(c.ctx, time.Duration(c.draw(120))*time.Millisecond)
				}
				opened := open()
				w.net.slowDown(c.name, 0)
				if !opened {
					return // just when the client was closed
				}
				ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
				if err := q.Ready(ctx); err != nil && !c.closing.Load() && c.ctx.Err() == nil && !w.refuses && w.calm(10*time.Second) {
					w.violate("another queue of %s is not ready: %v", c.name, err)
				}
				cancel()
			}
			for len(handled) > 0 { // what came too late
				<-handled
			}
			quiet, dues, from := w.quiet(), map[string]time.Time{}, time.Now()
			for i := range 1 + c.draw(5) {
				v := fmt.Sprintf("aside %d, %d", n, i)
				if t, err := q.Offer(c.ctx, v, time.Duration(c.draw(3000))*time.Millisecond); err == nil {
					dues[v] = t.Due()
				}
			}
			for len(dues) > 0 {
				ctx, cancel := context.WithTimeout(c.ctx, 3*time.Second+most)
				v, err := take(ctx)
				cancel()
				due, known := dues[v]
				late := time.Since(due)
				switch {
				case c.ctx.Err() != nil || !quiet || !w.calm(max(quietFor, time.Since(from))) || c.closing.Load():
				case err != nil:
					w.violate("%v of another queue of %s did not come: %v", dues, c.name, err)
				case !known && strings.HasPrefix(v, fmt.Sprintf("aside %d,", n)):
					w.violate("%s came twice to %s", v, c.name)
				case known && (late < -2*time.Millisecond || late > most):
					w.violate("%s came to %s %s after it was due", v, c.name, late)
				}
				for other, at := range dues {
					if known && at.Before(due) && c.most == 1 && quiet && w.calm(max(quietFor, time.Since(from))) {
						w.violate("%s came to %s before %s, which was due earlier", v, c.name, other)
					}
				}
				if delete(dues, v); err != nil {
					break
				}
			}
			if handled == nil {
				_ = q.Close()
			}
		}
	})
}

// twins has Remove choose among equal values, which the plan's messages are not.
func (w *world) twins(ctx context.Context, c *client) error {
	twins, err := dq.NewQueue(c.dq, c.name, codec.String{}, dq.WithoutTransfer())
	tickets := make([]dq.Ticket, 2+c.draw(3))
	for i := range tickets {
		if err == nil {
			tickets[i], err = twins.Offer(ctx, "twin", time.Duration(1+c.draw(9))*time.Hour)
		}
	}
	if err != nil {
		return err
	}
	if _, err = twins.Remove(ctx, "twin"); err != nil {
		return err
	}
	if err = twins.Cancel(ctx, tickets[0]); err == nil {
		w.violate("Remove by %s leaves the value that was offered first", c.name)
	}
	if errors.Is(err, dq.ErrNotWaiting) {
		_, err = twins.Clear(ctx)
	}
	if err == nil && c.draw(2) == 0 && w.quiet() {
		err = w.bulk(ctx, c, twins)
	}
	return err
}

// bulk has a call deal with more, or with more bytes, than it does at a time.
func (w *world) bulk(ctx context.Context, c *client, q *dq.Queue[string]) error {
	all := make([]string, []int{1100, 12}[c.draw(2)])
	for i := range all {
		all[i] = fmt.Sprintf("%d%s", i, strings.Repeat("x", (1200-len(all))*200))
	}
	n, err := q.OfferAll(ctx, time.Hour, all...)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for m, err := range q.Waiting(ctx) {
		if seen[m.Value] = true; err != nil {
			return err
		}
	}
	removed, err := q.RemoveFunc(ctx, func(v string) bool { return v[0] == '1' })
	if err != nil {
		return err
	}
	last, err := q.Remove(ctx, all[9])
	if err != nil {
		return err
	}
	counts, err := q.Counts(ctx)
	ones := len(slices.DeleteFunc(slices.Clone(all), func(v string) bool { return v[0] != '1' }))
	if err == nil && (n != len(all) || len(seen) != n || removed != ones || !last || counts.Waiting != n-ones-1) {
		w.violate("of %d offered %d were confirmed, %d seen, %d of %d and the last (%t) removed, and are %+v", len(all), n, len(seen), removed, ones, last, counts)
	}
	_, clears := q.Clear(ctx)
	return errors.Join(err, clears)
}
