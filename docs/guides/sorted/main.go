// Command sorted is a delay queue of one sorted set that is polled, as a program that
// dq-bench can measure: docs/guides/driver.md.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
)

func main() {
	every := flag.Duration("every", 20*time.Millisecond, "how long a consumer waits before it looks again")
	flag.Parse()
	if err := serve.Serve(os.Stdin, os.Stdout, sorted{*every}); err != nil {
		log.Fatal(err)
	}
}

// sorted is the implementation under test.
type sorted struct{ every time.Duration }

func (sorted) Identity() driver.Identity { return driver.Identity{Name: "sorted", Version: "1"} }

func (s sorted) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(name string) (driver.Queue, error) {
		options, err := redis.ParseURL(target.RedisURL)
		if err != nil {
			return nil, err
		}
		client := redis.NewClient(options)
		if err := client.Ping(ctx).Err(); err != nil {
			return nil, errors.Join(err, client.Close())
		}
		return &queue{client, name, s.every}, nil
	})
}

// Store is none: the queues tell themselves what they hold.
func (sorted) Store(redis.UniversalClient, string) driver.Store { return nil }

// queue is a sorted set: members are values, scores the instants at which they are due.
type queue struct {
	client *redis.Client
	name   string
	every  time.Duration
}

func (q *queue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	due := float64(time.Now().Add(delay).UnixMilli())
	return q.client.ZAdd(ctx, q.name, redis.Z{Score: due, Member: value}).Err()
}

// takeDue takes the first member if it is due.
var takeDue = redis.NewScript(`
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)
if due[1] then redis.call('ZREM', KEYS[1], due[1]) end
return due[1]`)

func (q *queue) Take(ctx context.Context) ([]byte, error) {
	for {
		value, err := takeDue.Run(ctx, q.client, []string{q.name}, time.Now().UnixMilli()).Text()
		if !errors.Is(err, redis.Nil) {
			return []byte(value), err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(q.every):
		}
	}
}

// Held is how many messages wait: one that nobody holds and that never came is lost.
func (q *queue) Held(ctx context.Context) (int64, error) { return q.client.ZCard(ctx, q.name).Result() }

// Values are those messages, for dq-bench to find out which they are.
func (q *queue) Values(ctx context.Context, each func(value []byte)) error {
	members := q.client.ZScan(ctx, q.name, 0, "", 1000).Iterator()
	for isScore := false; members.Next(ctx); isScore = !isScore {
		if !isScore {
			each([]byte(members.Val()))
		}
	}
	return members.Err()
}

func (q *queue) Close() error { return q.client.Close() }
