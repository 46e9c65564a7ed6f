package main

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// errDelay says that an offer names no delay, or one below 0. A port sends nothing then.
var errDelay = errors.New("unsupported delay: expected 0 or more, negative ones and none are refused")

var offer = redis.NewScript(`local member = struct.pack('Bc0Lc0', #ARGV[2], ARGV[2], #ARGV[3], ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[1], member) redis.call('RPUSH', KEYS[2], member)
if redis.call('ZRANGE', KEYS[1], 0, 0)[1] == member then redis.call('PUBLISH', KEYS[3], ARGV[1]) end`)

var transfer = redis.NewScript(`local due = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1], 'LIMIT', 0, 100)
for _, member in ipairs(due) do
  local _, value = struct.unpack('Bc0Lc0', member)
  redis.call('RPUSH', KEYS[3], value) redis.call('LREM', KEYS[2], 1, member)
end
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]`)

// Client has a connection pool, and the tasks of the queues that transfer.
type Client struct {
	rdb   *redis.Client
	ctx   context.Context // until Close
	end   context.CancelFunc
	tasks map[string]bool
	work  sync.WaitGroup
}

// Connect makes a client of the server at a redis:// URL.
func Connect(url string) (*Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	return &Client{rdb: redis.NewClient(options), ctx: ctx, end: end, tasks: map[string]bool{}}, nil
}

// Close ends the tasks and the connections.
func (c *Client) Close() error {
	c.end()
	err := c.rdb.Close()
	c.work.Wait()
	return err
}

// Queue is one queue of a client.
type Queue struct {
	rdb                              *redis.Client
	name, timeouts, pending, channel string
}

// Queue opens a queue. The first that is delayed begins the task of its name.
func (c *Client) Queue(name string, delayed bool) *Queue {
	tag := name
	if !strings.Contains(name, "{") {
		tag = "{" + name + "}"
	}
	q := &Queue{c.rdb, name, "redisson_delay_queue_timeout:" + tag, "redisson_delay_queue:" + tag, "redisson_delay_queue_channel:" + tag}
	if delayed && !c.tasks[name] {
		c.tasks[name] = true
		c.work.Go(func() { q.task(c.ctx) })
	}
	return q
}

// Offer has value come at due, in Unix milliseconds.
func (q *Queue) Offer(ctx context.Context, value []byte, due int64) error {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	err := offer.Run(ctx, q.rdb, []string{q.timeouts, q.pending, q.channel}, due, id, value).Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// Take waits for a value. It asks in turns of a second: a call that is given up while it
// waits may lose one.
func (q *Queue) Take(ctx context.Context) ([]byte, error) {
	for ctx.Err() == nil {
		popped, err := q.rdb.BLPop(context.WithoutCancel(ctx), time.Second, q.name).Result()
		if err == nil {
			return []byte(popped[1]), nil
		}
		if !errors.Is(err, redis.Nil) {
			return nil, err
		}
	}
	return nil, ctx.Err()
}

// Waiting is how many messages wait; Size is how many can be taken.
func (q *Queue) Waiting(ctx context.Context) (int64, error) {
	return q.rdb.LLen(ctx, q.pending).Result()
}

// Size is how many values can be taken.
func (q *Queue) Size(ctx context.Context) (int64, error) { return q.rdb.LLen(ctx, q.name).Result() }

// task transfers what comes due: docs/spec/task.md.
func (q *Queue) task(ctx context.Context) {
	subscription := q.rdb.Subscribe(ctx, q.channel)
	defer subscription.Close()
	news := subscription.ChannelWithSubscriptions()
	due := time.NewTimer(time.Hour) // set by the first transfer
	for {
		select {
		case <-ctx.Done():
			return
		case said, ok := <-news:
			if !ok {
				return
			}
			if message, ok := said.(*redis.Message); ok {
				at, err := strconv.ParseInt(message.Payload, 10, 64)
				if wait := time.Until(time.UnixMilli(at)); err == nil && wait > 0 {
					due.Reset(wait)
					continue
				}
			}
		case <-due.C:
		}
		due.Reset(q.transfer(ctx))
	}
}

// transfer moves what is due, and returns when to come again.
func (q *Queue) transfer(ctx context.Context) time.Duration {
	for {
		head, err := transfer.Run(ctx, q.rdb, []string{q.timeouts, q.pending, q.name}, time.Now().UnixMilli()).Int64()
		switch wait := time.Until(time.UnixMilli(head)); {
		case errors.Is(err, redis.Nil):
			return time.Hour
		case err != nil:
			return 5 * time.Second
		case wait > 0:
			return wait
		}
	}
}
