package main

import (
	"context"
	"fmt"
	"time"

	"github.com/hdt3213/delayqueue"
	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/peers/internal/peer"
)

const (
	module = "github.com/hdt3213/delayqueue"
	// stopTimeout is what the consumer gets to notice that the queue is closed; one
	// look for messages lasts a few commands.
	stopTimeout = 2 * time.Second
	// pageSize is how many messages one MGET reads.
	pageSize = 1000
)

// delayQueueDriver opens queues, with the library's defaults where a field is 0.
type delayQueueDriver struct {
	// Fetch is how often the consumer looks for messages that are due, 1 s by default.
	Fetch time.Duration
	// Consume is after how long a message without an acknowledgement is handed out
	// again, 5 s by default; the library counts in whole seconds.
	Consume time.Duration
	// Handlers is how many messages may be handed out at once.
	Handlers uint
}

// Identity is the library, the version this program was built with, and the
// durations that are not the default.
func (d delayQueueDriver) Identity() driver.Identity {
	version := peer.Version(module)
	if d.Fetch > 0 {
		version += ",fetch=" + d.Fetch.String()
	}
	if d.Consume > 0 {
		version += ",consume=" + d.Consume.String()
	}
	return driver.Identity{Name: "delayqueue", Version: version}
}

// Open starts a consumer for each name.
func (d delayQueueDriver) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(name string) (driver.Queue, error) { return d.open(ctx, target, name) })
}

// open starts a consumer whose callback waits until a taker comes.
func (d delayQueueDriver) open(ctx context.Context, target driver.Target, name string) (driver.Queue, error) {
	rdb, err := peer.Connect(ctx, target.RedisURL)
	if err != nil {
		return nil, err
	}
	q := &queue{prefix: "dp:" + name, rdb: rdb, handover: peer.NewHandover()}
	q.queue = delayqueue.NewQueue(name, rdb, q.handle).WithConcurrent(d.Handlers)
	if d.Fetch > 0 {
		q.queue.WithFetchInterval(d.Fetch)
	}
	if d.Consume > 0 {
		q.queue.WithMaxConsumeDuration(d.Consume)
	}
	q.stopped = q.queue.StartConsume()
	return q, nil
}

// queue is one queue with a consumer on it. The library keeps, under its prefix,
// the ids of messages in :pending (ZSET, by due second), :ready (LIST), :unack
// (ZSET, by the second of the next try) and :retry (LIST), and each value in a
// STRING :msg:<id>.
type queue struct {
	prefix   string
	rdb      *redis.Client
	queue    *delayqueue.DelayQueue
	stopped  <-chan struct{}
	handover *peer.Handover
}

// Offer sends a message. The library takes no context, but its commands have the
// client's time-outs.
func (q *queue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return q.queue.SendDelayMsg(string(value), delay)
}

// handle has a message taken; false asks for another try.
func (q *queue) handle(value string) bool {
	return q.handover.Give(context.Background(), []byte(value)) == nil
}

// Take waits for a message to be handed out. It is acknowledged when this returns.
func (q *queue) Take(ctx context.Context) ([]byte, error) { return q.handover.Take(ctx) }

// Held counts the messages in the four states.
func (q *queue) Held(ctx context.Context) (int64, error) {
	pipe := q.rdb.Pipeline()
	counts := []*redis.IntCmd{
		pipe.ZCard(ctx, q.prefix+":pending"), pipe.LLen(ctx, q.prefix+":ready"),
		pipe.ZCard(ctx, q.prefix+":unack"), pipe.LLen(ctx, q.prefix+":retry"),
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, fmt.Errorf("counting what is held: %w", err)
	}
	var held int64
	for _, count := range counts {
		held += count.Val()
	}
	return held, nil
}

// Values reads the messages in the order of their lives, so that one that moves
// on meanwhile is seen.
func (q *queue) Values(ctx context.Context, each func(value []byte)) error {
	lists := []func() *redis.StringSliceCmd{
		func() *redis.StringSliceCmd { return q.rdb.ZRange(ctx, q.prefix+":pending", 0, -1) },
		func() *redis.StringSliceCmd { return q.rdb.LRange(ctx, q.prefix+":ready", 0, -1) },
		func() *redis.StringSliceCmd { return q.rdb.ZRange(ctx, q.prefix+":unack", 0, -1) },
		func() *redis.StringSliceCmd { return q.rdb.LRange(ctx, q.prefix+":retry", 0, -1) },
	}
	for _, list := range lists {
		ids, err := list().Result()
		if err != nil {
			return fmt.Errorf("reading what is held: %w", err)
		}
		for len(ids) > 0 {
			page := ids[:min(pageSize, len(ids))]
			ids = ids[len(page):]
			if err := q.read(ctx, page, each); err != nil {
				return err
			}
		}
	}
	return nil
}

// read reads the messages with these ids; one that has been acknowledged meanwhile
// is no longer there.
func (q *queue) read(ctx context.Context, ids []string, each func(value []byte)) error {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = q.prefix + ":msg:" + id
	}
	values, err := q.rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return fmt.Errorf("reading what is held: %w", err)
	}
	for _, value := range values {
		if text, ok := value.(string); ok {
			each([]byte(text))
		}
	}
	return nil
}

// Close stops the consumer and waits for it. Messages that nobody took are left
// to other consumers.
func (q *queue) Close() error {
	if !q.handover.Close() {
		return nil
	}
	q.queue.StopConsume()
	defer q.rdb.Close()
	select {
	case <-q.stopped:
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("the consumer did not stop within %s", stopTimeout)
	}
}
