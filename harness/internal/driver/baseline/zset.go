package baseline

import (
	"context"
	_ "embed" // for the script
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// zsetMove is the script of document 001, section 3.2, as it stands there.
//
//	KEYS[1]  the ZSET, score = due time
//	KEYS[2]  the temp list
//	ARGV[1]  now, in the unit of the scores
//	returns  the elements moved, the earliest first
//
// It is O(M·log N) for M due of N waiting, and M has no bound: ten thousand that
// come due at once are moved, with a ZREM for each, while every other client of
// the server waits.
//
//go:embed zset.lua
var zsetMove string

// DefaultPoll is how often ZSet looks for due messages.
const DefaultPoll = 100 * time.Millisecond

// ZSet is "redis-zset", the delay queue of document 001, section 3.2: a ZSET ordered by
// due time, and a script, run at intervals, that moves what is due to a temp
// list. Takers of the process that ran it block until it has something for them;
// LREM acknowledges.
//
// What the design costs, and is kept: a message waits for the next run of the
// script, half of Poll on average. An element of a ZSET is there once, so that
// offering an equal value again replaces the due time of the first: one of the
// two is lost. The due time is gone once an element is in the temp list.
//
// The document's scores are seconds, which would make messages up to a second
// early; they are milliseconds here.
type ZSet struct {
	// Clock is what due times are measured by; nil is the clock of the machine.
	Clock clock.Clock
	// Poll is the time between two runs of the script; 0 is DefaultPoll.
	Poll time.Duration
	// Lease is how long a process may be silent before its temp list is taken
	// over by another; 0 is DefaultLease.
	Lease time.Duration
}

// Identity returns "redis-zset".
func (ZSet) Identity() driver.Identity { return driver.Identity{Name: "redis-zset"} }

// Open connects, takes over what processes that died left behind, and starts to
// run the script.
func (d ZSet) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(name string) (driver.Queue, error) { return d.open(ctx, target, name) })
}

func (d ZSet) open(ctx context.Context, target driver.Target, name string) (driver.Queue, error) {
	q, err := openTemp(ctx, target, name, tempOptions{driver: "redis-zset", clock: d.Clock, lease: d.Lease})
	if err != nil {
		return nil, err
	}
	poll := d.Poll
	if poll <= 0 {
		poll = DefaultPoll
	}
	tick := time.NewTicker(poll)
	q.onClose = tick.Stop
	q.offer = func(ctx context.Context, value []byte, due time.Time) error {
		return q.conn.Do(ctx, "ZADD", q.keys.source, due.UnixMilli(), value).Err()
	}
	q.fetch = func(ctx context.Context) ([]string, error) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return q.moving.Do(ctx, "EVAL", zsetMove, 2, q.keys.source, q.keys.temp(q.id), q.clock.Now().UnixMilli()).StringSlice()
	}
	q.open = func(_ context.Context, element string) ([]byte, error) { return []byte(element), nil }
	q.start()
	return &zsetQueue{q}, nil
}

// zsetQueue can cancel a message, which a list could do only by a search
// through all of it.
type zsetQueue struct{ *tempQueue }

// Remove removes a message that has not been moved to a temp list.
func (q *zsetQueue) Remove(ctx context.Context, value []byte) (bool, error) {
	n, err := q.conn.Do(ctx, "ZREM", q.keys.source, value).Int64()
	return n > 0, err
}

// Store looks at the ZSET and the temp lists.
func (ZSet) Store(conn redis.Conn, name string) store.Store {
	return &tempStore{conn: conn, keys: tempKeys{name}, source: zsetSource}
}
