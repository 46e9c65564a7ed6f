package baseline

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// List is "redis-list", the message queue of document 001, section 3.1: LPUSH puts a
// message in, RPOPLPUSH moves the oldest one to a temp list, LREM acknowledges
// it there.
//
// A LIST has no delay. The due time, Unix ms, goes in front of the value, and a
// process that has popped the oldest message waits for it, while the message
// stays in the temp list. So nothing is lost when the process dies, but the order
// is that of the offers: behind a message with a long delay a short one comes
// late, by the difference of the two. With one delay for all, order of offers and
// of due times are the same and nothing is late.
//
// A message cannot be cancelled: LREM wants the element, and its due time is not
// known any more.
//
// One message is popped at a time, by the blocking form BRPOPLPUSH: about one
// round trip a message and process.
type List struct {
	// Clock is what due times are measured by; nil is the clock of the machine.
	Clock clock.Clock
	// Lease is how long a process may be silent before its temp list is taken
	// over by another; 0 is DefaultLease.
	Lease time.Duration
}

// Identity returns "redis-list".
func (List) Identity() driver.Identity { return driver.Identity{Name: "redis-list"} }

// Open connects, and takes over what processes that died left behind.
func (d List) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(name string) (driver.Queue, error) { return d.open(ctx, target, name) })
}

func (d List) open(ctx context.Context, target driver.Target, name string) (driver.Queue, error) {
	q, err := openTemp(ctx, target, name, tempOptions{driver: "redis-list", clock: d.Clock, lease: d.Lease})
	if err != nil {
		return nil, err
	}
	timer := q.clock.NewTimer()
	q.onClose = timer.Close
	q.offer = func(ctx context.Context, value []byte, due time.Time) error {
		return q.conn.Do(ctx, "LPUSH", q.keys.source, frameDue(due, value)).Err()
	}
	q.fetch = func(context.Context) ([]string, error) {
		// The blocking call is ended by closing its client.
		element, err := q.moving.Do(context.Background(), "BRPOPLPUSH", q.keys.source, q.keys.temp(q.id), int(popTimeout.Seconds())).Text()
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return []string{element}, err
	}
	q.open = func(ctx context.Context, element string) ([]byte, error) {
		due, value, err := unframeDue(element)
		if err != nil {
			return nil, err
		}
		return value, clock.SleepUntil(ctx, q.clock, timer, due)
	}
	q.start()
	return q, nil
}

// Store looks at the LIST and the temp lists.
func (List) Store(conn redis.Conn, name string) store.Store {
	return &tempStore{conn: conn, keys: tempKeys{name}, source: listSource}
}

// popTimeout is how long one BRPOPLPUSH waits: whole seconds are what every
// server since 2.2 takes.
const popTimeout = time.Second

// frameDue puts the due time, in Unix ms, in front of value.
func frameDue(due time.Time, value []byte) []byte {
	return append(strconv.AppendInt(nil, due.UnixMilli(), 10), append([]byte{':'}, value...)...)
}

// unframeDue reads what frameDue wrote.
func unframeDue(element string) (time.Time, []byte, error) {
	head, value, ok := strings.Cut(element, ":")
	ms, err := strconv.ParseInt(head, 10, 64)
	if !ok || err != nil {
		return time.Time{}, nil, fmt.Errorf("expected a due time in Unix ms and a colon before the value, got %.40q", element)
	}
	return time.UnixMilli(ms), []byte(value), nil
}
