package dq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// brokenClient returns a Client all of whose calls fail with err: what a queue has that
// was constructed wrongly.
func brokenClient(err error) *Client {
	c := &Client{
		config: config{release: wire.Newest(), clock: clock.System(), random: rand.Uint64, strict: true},
		names:  wire.NamesOf,
		broken: err,
	}
	c.ctx = context.Background()
	c.scheduler = newScheduler(c)
	return c
}

// brokenCodec stands in for one that was not given.
type brokenCodec[T any] struct{ err error }

func (c brokenCodec[T]) Encode(T) ([]byte, error) { return nil, c.err }

func (c brokenCodec[T]) Decode([]byte) (T, error) {
	var none T
	return none, c.err
}

// checkQueue returns what is wrong with the arguments of NewBlockingQueue.
func checkQueue[T any](c *Client, name string, values codec.Codec[T]) error {
	switch {
	case c == nil:
		return fmt.Errorf("dq: NewBlockingQueue(%q): expected a Client, got nil", name)
	case c.broken != nil:
		return c.broken
	case c.conns == nil:
		return fmt.Errorf("dq: NewBlockingQueue(%q): expected a Client of NewClient, got a zero value", name)
	case name == "":
		return errors.New("dq: NewBlockingQueue: expected a name, got an empty one")
	case any(values) == nil:
		return fmt.Errorf("dq: NewBlockingQueue(%q): expected a codec, got nil", name)
	case isNil(values):
		return fmt.Errorf("dq: NewBlockingQueue(%q): expected a codec, got a nil %T", name, values)
	}
	if c, ok := any(values).(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("dq: NewBlockingQueue(%q): %w", name, err)
		}
	}
	return nil
}

// checkDelayed returns what is wrong with a queue that the function of that name makes of dest. In a Cluster
// a script may only name keys of one slot.
func checkDelayed[T any](function string, dest *BlockingQueue[T]) error {
	switch {
	case dest == nil:
		return fmt.Errorf("dq: %s: expected a BlockingQueue, got nil", function)
	case dest.err != nil:
		return dest.err
	case dest.client == nil:
		return fmt.Errorf("dq: %s: expected a BlockingQueue of NewBlockingQueue, got a zero value", function)
	}
	n := dest.names
	slot := wire.Slot(n.Destination)
	for _, key := range []string{n.TimeoutSet, n.Pending, n.Channel} {
		if dest.client.clustered && wire.Slot(key) != slot {
			return fmt.Errorf("dq: %s(%q): in a Cluster its keys must share a slot, and %q does not share that of %q: "+
				"Redisson puts braces around a name only if it has no \"{\"; take a name without one, or with a hash tag such as {orders}",
				function, n.Destination, key, n.Destination)
		}
	}
	return nil
}
