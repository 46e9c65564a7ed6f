package dq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

// durability says how many servers an offer waits for.
type durability struct {
	replicas, fsynced int
	within            time.Duration
}

// WithDurability makes each offer wait until this many replicas have it (WAIT), and this many servers, the master first, have
// it in their append-only file on disk (WAITAOF, since Redis 7.2). The error of an offer not confirmed within that time wraps
// ErrUncertain. On a server without these commands the first offer fails before it is sent. A waiting offer occupies a
// connection of its own, and OfferAll offers one by one.
func WithDurability(replicas, fsynced int, within time.Duration) Option {
	return func(c *config) error {
		if replicas < 0 || fsynced < 0 || replicas+fsynced == 0 || within < time.Millisecond {
			return fmt.Errorf("dq: WithDurability: expected replicas or files, and 1 ms or more, got %d, %d, %s", replicas, fsynced, within)
		}
		c.durable = &durability{replicas: replicas, fsynced: fsynced, within: within}
		return nil
	}
}

// commands are what follows the offer.
func (d *durability) commands(within time.Duration) (all [][]any) {
	ms := strconv.FormatInt(within.Milliseconds(), 10)
	if d.replicas > 0 {
		all = append(all, []any{"WAIT", d.replicas, ms})
	}
	if d.fsynced > 0 {
		all = append(all, []any{"WAITAOF", 1, d.fsynced - 1, ms})
	}
	return all
}

// sendDurably sends an offer and waits as WithDurability says.
func (q *Queue[T]) sendDurably(ctx context.Context, r conn.Request) error {
	c, d := q.client, q.client.durable
	if !c.waits.Load() {
		if _, err := c.send(ctx, conn.Request{Key: q.Name(), Commands: d.commands(time.Millisecond), Alone: true}); err != nil {
			if errors.Is(err, conn.ErrLost) { // not an offer's
				err = fmt.Errorf("%w: %s", cmp.Or(ctx.Err(), context.Cause(c.ctx), conn.ErrUnsent), err.Error())
			}
			return fmt.Errorf("WithDurability: nothing was offered: %w", err)
		}
		c.waits.Store(true)
	}
	r.Alone, r.Commands = true, append(slices.Clip(r.Commands), d.commands(d.within)...)
	replies := c.conns.Send(ctx, r)
	if err, failed := replies[0].(error); failed {
		return err
	}
	for i, reply := range replies[1:] {
		if err := d.confirms(r.Commands[i+1], reply); err != nil {
			return fmt.Errorf("%w: %w", ErrUncertain, err)
		}
	}
	return nil
}

// confirms reports a missing confirmation.
func (d *durability) confirms(command []any, reply any) error {
	if err, failed := reply.(error); failed {
		return err
	}
	counts, several := reply.([]any)
	if !several {
		counts = []any{reply}
	}
	all := int64(0)
	for _, n := range counts {
		n, _ := n.(int64)
		all += n
	}
	switch {
	case command[0] == "WAIT" && all < int64(d.replicas):
		return fmt.Errorf("WAIT: expected %d replicas to have it within %s, got %v", d.replicas, d.within, reply)
	case command[0] == "WAITAOF" && all < int64(d.fsynced):
		return fmt.Errorf("WAITAOF: expected it on the disks of %d servers within %s, got %v (the master, replicas)", d.fsynced, d.within, reply)
	}
	return nil
}
