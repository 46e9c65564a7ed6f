package serve

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// portDriver is a Port as a driver, for the ops load.*.
type portDriver[C io.Closer, Q any] struct{ port Port[C, Q] }

func (d portDriver[C, Q]) Identity() driver.Identity { return d.port.Identity }

// Store looks at the keys of Redisson's format, which a Port has.
func (d portDriver[C, Q]) Store(conn redis.Conn, name string) store.Store {
	return store.Redisson(conn, name)
}

// Open makes one client for all the queues.
func (d portDriver[C, Q]) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	client, err := d.port.Connect(ctx, target.RedisURL)
	if err != nil {
		return nil, err
	}
	var open atomic.Int64
	open.Store(int64(len(names)))
	queues, err := driver.OpenEach(names, func(name string) (driver.Queue, error) {
		queue, err := d.port.Open(ctx, client, name, true)
		if err != nil {
			return nil, err
		}
		return withCapabilities(measured[Q]{ops: d.port.Ops, queue: queue, client: client, open: &open}), nil
	})
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return queues, nil
}

// measured is a queue of a Port under load.
type measured[Q any] struct {
	ops    map[string]Op[Q]
	queue  Q
	client io.Closer
	open   *atomic.Int64 // queues of the client that are not closed
}

func (m measured[Q]) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	_, err := m.ops["dq.offer"](ctx, m.queue, Args{Value: value, Delay: Millis(delay.Milliseconds()), given: givenDelay})
	return err
}

func (m measured[Q]) Take(ctx context.Context) ([]byte, error) {
	got, err := value(m.ops["q.take"](ctx, m.queue, Args{}))
	if err == nil && got == nil {
		err = errors.New("q.take: expected a value as the result of the op, got none")
	}
	return got, err
}

func (m measured[Q]) poll(ctx context.Context) ([]byte, bool, error) {
	got, err := value(m.ops["q.poll"](ctx, m.queue, Args{}))
	return got, err == nil && got != nil, err
}

func (m measured[Q]) remove(ctx context.Context, value []byte) (bool, error) {
	removed, err := m.ops["dq.remove"](ctx, m.queue, Args{Value: value})
	was, ok := removed.(bool)
	if err == nil && !ok {
		err = errors.New("dq.remove: expected a bool as the result of the op")
	}
	return was, err
}

// Close closes the client with its last queue.
func (m measured[Q]) Close() error {
	if m.open.Add(-1) == 0 {
		return m.client.Close()
	}
	return nil
}

func value(result any, err error) ([]byte, error) {
	got, ok := result.([]byte)
	if err == nil && !ok && result != nil {
		err = errors.New("expected a []byte as the result of the op")
	}
	return got, err
}

// givenDelay has Args.Has tell that there is a delay.
var givenDelay = map[string]json.RawMessage{"delay": json.RawMessage("0")}

// polled, removed and both are queues whose port can do more.
type (
	polled[Q any]  struct{ measured[Q] }
	removed[Q any] struct{ measured[Q] }
	both[Q any]    struct{ measured[Q] }
)

func (q polled[Q]) Poll(ctx context.Context) ([]byte, bool, error) { return q.poll(ctx) }
func (q both[Q]) Poll(ctx context.Context) ([]byte, bool, error)   { return q.poll(ctx) }

func (q removed[Q]) Remove(ctx context.Context, value []byte) (bool, error) {
	return q.remove(ctx, value)
}
func (q both[Q]) Remove(ctx context.Context, value []byte) (bool, error) { return q.remove(ctx, value) }

func withCapabilities[Q any](m measured[Q]) driver.Queue {
	polls, removes := m.ops["q.poll"] != nil, m.ops["dq.remove"] != nil
	switch {
	case polls && removes:
		return both[Q]{m}
	case polls:
		return polled[Q]{m}
	case removes:
		return removed[Q]{m}
	}
	return m
}
