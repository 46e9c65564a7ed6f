// Package library drives the dq library in this process.
package library

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// DQ is the dq library, as a driver.
type DQ struct {
	// Release is the Redisson release to be compatible with.
	Release wire.Release
	// Faithful follows Redisson's timing too.
	Faithful bool
	clock    clock.Clock // nil for the machine's
}

// Identity returns dq and the release.
func (d DQ) Identity() driver.Identity {
	version := d.Release.String()
	if d.Faithful {
		version += ",faithful"
	}
	return driver.Identity{Name: "dq", Version: version}
}

// WithClock returns dq by a clock that due times and timers come from, guarded as the machine's is.
func (d DQ) WithClock(c clock.Clock) driver.Driver {
	d.clock = c
	return d
}

// Clock gives due times and timers.
func (d DQ) Clock() clock.Clock {
	if d.clock == nil {
		return clock.System()
	}
	return d.clock
}

// Store looks at the keys of Redisson's format.
func (d DQ) Store(conn redis.Conn, name string) store.Store {
	return store.Redisson(conn, name)
}

// Open makes one client for all the queues, and waits until their transfer tasks
// run, for half a second at most.
func (d DQ) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	client, err := Connect(d, target.RedisURL)
	if err != nil {
		return nil, err
	}
	queues, all := make([]driver.Queue, 0, len(names)), make([]*dqQueue, 0, len(names))
	var open atomic.Int64
	open.Store(int64(len(names)))
	for _, name := range names {
		q := &dqQueue{client: client, open: &open}
		var how []dq.QueueOption
		if d.Faithful {
			how = append(how, dq.WithoutTransfer())
			q.faithful = client.OpenFaithful(d, name)
		}
		if q.queue, err = dq.NewQueue(client.Client, name, codec.Bytes{}, how...); err != nil {
			return nil, errors.Join(err, client.Close())
		}
		all, queues = append(all, q), append(queues, q)
	}
	if err := ready(ctx, all); err != nil {
		for _, q := range all {
			q.stop()
		}
		return nil, errors.Join(err, client.Close())
	}
	return queues, nil
}

// readyPatience is how long to wait for the first transfers. Where they fail, as
// on members of a layout that the release cannot read, the queue can be offered to
// all the same, and a load shows what becomes of it: its offers are on time.
const readyPatience = 500 * time.Millisecond

func ready(ctx context.Context, queues []*dqQueue) error {
	waiting, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for _, q := range queues {
		if err := q.ready(waiting); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return err
		}
	}
	return nil
}

type dqQueue struct {
	client   io.Closer
	open     *atomic.Int64 // queues of the client that are not closed
	closing  sync.Once
	queue    *dq.Queue[[]byte]
	faithful *Faithful // in the place of the queue's transfers and offers, or nil
}

func (q *dqQueue) ready(ctx context.Context) error {
	if q.faithful != nil {
		return q.faithful.Ready(ctx)
	}
	return q.queue.Ready(ctx)
}

// stop ends what needs the client.
func (q *dqQueue) stop() {
	if q.faithful != nil {
		q.faithful.Close()
	}
}

func (q *dqQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	if q.faithful != nil {
		return refused(q.faithful.Offer(ctx, value, delay.Milliseconds()))
	}
	_, err := q.queue.Offer(ctx, value, delay)
	return refused(err)
}

// refused marks the error of an offer that is not queued, by the word of dq.
func refused(err error) error {
	if err != nil && !errors.Is(err, dq.ErrUncertain) {
		return driver.Refused(err)
	}
	return err
}

func (q *dqQueue) Take(ctx context.Context) ([]byte, error) { return q.queue.Take(ctx) }

// Poll takes a value if there is one.
func (q *dqQueue) Poll(ctx context.Context) ([]byte, bool, error) {
	values, err := q.queue.Poll(ctx, 1)
	if len(values) == 1 {
		return values[0], true, err
	}
	if errors.Is(err, dq.ErrEmpty) {
		err = nil
	}
	return nil, false, err
}

// Remove cancels a message.
func (q *dqQueue) Remove(ctx context.Context, value []byte) (bool, error) {
	if q.faithful != nil {
		return q.faithful.Remove(ctx, value)
	}
	return q.queue.Remove(ctx, value)
}

// Close closes the client with its last queue.
func (q *dqQueue) Close() (err error) {
	q.closing.Do(func() {
		q.stop()
		if q.open.Add(-1) == 0 {
			err = q.client.Close()
		}
	})
	return err
}
