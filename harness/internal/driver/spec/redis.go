package spec

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	poolSize = 64 // connections, Redisson's default
	// pollInterval is the time between two runs of zsetMove, and before a command that failed is sent again.
	pollInterval = 100 * time.Millisecond
	// popSeconds is how long one BRPOPLPUSH waits; servers before 6.0 take whole seconds only.
	popSeconds = 1
	ackTimeout = 5 * time.Second
	tempSuffix = "_temp" // of the temp list's key
)

// Redis is one of the two designs of document 001 that Redisson's queue is compared with.
//
// redis-list is the message queue of section 3.1: LPUSH adds a message, RPOPLPUSH moves the oldest one to a temp list, LREM
// acknowledges it there. A LIST has no delay. The due time, Unix ms, goes in front of the value, and the process that popped the
// oldest message waits for that, while the message stays in the temp list. Nothing is lost when the process dies, but messages arrive
// in the order of the offers: a short delay behind a long one is late. One message is popped at a time, by the blocking form BRPOPLPUSH: about one round trip a message and process.
//
// redis-zset is the delay queue of section 3.2: a ZSET ordered by due time, and a script, run every 100 ms, that moves due messages to
// a temp list; LREM acknowledges. The costs of the design are kept: a message waits for the next run of the script, 50 ms on
// average. An element of a ZSET is there once, so that offering an equal value again replaces the due time of the first: one of the
// two is lost. The document's scores are seconds, which would make messages up to a second early; they are ms here.
type Redis struct{ zset bool }

// zsetMove is the script of document 001, section 3.2, word for word.
//
//	KEYS[1]  the ZSET, score = due time
//	KEYS[2]  the temp list
//	ARGV[1]  now, in the unit of the scores
//	returns  the elements moved, the earliest first
//
// It is O(M·log N) for M due of N waiting, and M has no bound: ten thousand messages that fall due at once are moved, with a ZREM for each,
// while every other client of the server waits.
//
//go:embed zset.lua
var zsetMove string

// Identity returns redis-list or redis-zset.
func (d Redis) Identity() driver.Identity {
	return driver.Identity{Name: map[bool]string{true: "redis-zset", false: "redis-list"}[d.zset]}
}

// Serve answers requests of the driver protocol until in ends.
func (d Redis) Serve(in io.Reader, out io.Writer) error { return serve.Serve(in, out, d) }

// Open connects, and takes over the messages of the temp list.
func (d Redis) Open(_ context.Context, redisURL, name string) (driver.Queue, error) {
	conn, err := redis.ConnectMany(redisURL, poolSize)
	if err != nil {
		return nil, err
	}
	moving, err := redis.Connect(redisURL)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	q := &redisQueue{Redis: d, conn: conn, moving: moving, source: name, temp: name + tempSuffix, ready: make(chan string)}
	q.ctx, q.stop = context.WithCancel(context.Background())
	q.pumping.Go(q.pump)
	return q, nil
}

// redisQueue keeps the elements that it moved in a temp list until a taker has them. Take acknowledges just before it returns, for a
// Queue has no acknowledgement: that round trip is part of the lateness.
//
// One goroutine, the pump, moves elements and hands them to takers. All processes share the temp list, as in the document. The queue
// first hands over the elements of the temp list: of a dead process, of a reply that was lost, and of a living process, whose
// elements are delivered twice.
type redisQueue struct {
	Redis
	conn         redis.Conn // for offers and acknowledgements
	moving       redis.Conn // the pump's own; closing it ends a blocking pop
	source, temp string

	ctx     context.Context
	stop    context.CancelFunc
	pumping sync.WaitGroup
	closing sync.Once
	ready   chan string // elements that are due
}

func (q *redisQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	due := time.Now().Add(delay)
	if q.ctx.Err() != nil {
		return driver.ErrClosed
	}
	if q.zset {
		return q.conn.Do(ctx, "ZADD", q.source, due.UnixMilli(), value).Err()
	}
	return q.conn.Do(ctx, "LPUSH", q.source, fmt.Appendf(nil, "%d:%s", due.UnixMilli(), value)).Err()
}

func (q *redisQueue) pump() {
	timer := clock.System().NewTimer()
	defer timer.Close()
	sleepUntil := func(at time.Time) { _ = clock.SleepUntil(q.ctx, clock.System(), timer, at) }
	for next := q.left; q.ctx.Err() == nil; {
		elements, err := next()
		if err == nil {
			next = q.move
		}
		for _, element := range elements {
			due, _ := q.read(element)
			sleepUntil(due)
			select {
			case q.ready <- element:
			case <-q.ctx.Done():
				return
			}
		}
		if err != nil || q.zset {
			sleepUntil(time.Now().Add(pollInterval))
		}
	}
}

// left returns the elements of the temp list, the oldest first.
func (q *redisQueue) left() ([]string, error) {
	elements, err := q.moving.Do(q.ctx, "LRANGE", q.temp, 0, -1).StringSlice()
	slices.Reverse(elements)
	return elements, err
}

// move moves elements to the temp list: a LIST's oldest, for which it waits a while, or all of a ZSET that are due.
func (q *redisQueue) move() ([]string, error) {
	if q.zset {
		return q.moving.Do(q.ctx, "EVAL", zsetMove, 2, q.source, q.temp, time.Now().UnixMilli()).StringSlice()
	}
	// Closing the client ends the blocking call.
	element, err := q.moving.Do(context.Background(), "BRPOPLPUSH", q.source, q.temp, popSeconds).Text()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []string{element}, nil
}

// Take removes a message of the pump from the temp list, even if ctx has ended. If that fails, the next opening delivers it again.
func (q *redisQueue) Take(ctx context.Context) ([]byte, error) {
	select {
	case element := <-q.ready:
		acknowledging, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTimeout)
		defer cancel()
		_ = q.conn.Do(acknowledging, "LREM", q.temp, 1, element).Err()
		_, value := q.read(element)
		return value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.ctx.Done():
		return nil, driver.ErrClosed
	}
}

// Close ends the pump. The next process to open the queue takes over the temp list.
func (q *redisQueue) Close() (err error) {
	q.closing.Do(func() {
		q.stop()
		err = q.moving.Close()
		q.pumping.Wait()
		err = errors.Join(err, q.conn.Close())
	})
	return err
}

// read returns the due time of an element, which only a LIST has in it, and the value. An element that is foreign is one.
func (d Redis) read(element string) (due time.Time, value []byte) {
	head, tail, colon := strings.Cut(element, ":")
	ms, err := strconv.ParseInt(head, 10, 64)
	if d.zset || !colon || err != nil {
		return time.Time{}, []byte(element)
	}
	return time.UnixMilli(ms), []byte(tail)
}

// Memory is java.util.concurrent.DelayQueue in Go: a list ordered by due time in the memory of one process. It is the reference
// that needs no server, and shows the price: each Open starts empty, and the messages are gone when the process ends.
type Memory struct {
	Clock clock.Clock // nil for the machine's
}

// Timing is the clock of due times, by which load is made too.
func (m Memory) Timing() clock.Clock { return cmp.Or(m.Clock, clock.System()) }

// Identity returns "memory".
func (Memory) Identity() driver.Identity { return driver.Identity{Name: "memory"} }

// Serve answers requests of the driver protocol until in ends.
func (m Memory) Serve(in io.Reader, out io.Writer) error { return serve.Serve(in, out, m) }

// Open returns a new, empty queue, whatever its name and server.
func (m Memory) Open(context.Context, string, string) (driver.Queue, error) {
	q := &memoryQueue{clock: m.Timing(), calls: make(chan func()), due: make(chan []byte), done: make(chan struct{})}
	q.owner.Go(q.own)
	return q, nil
}

// memoryQueue has a goroutine that owns the list: it hands the head to a taker once it is due, and runs all other calls.
type memoryQueue struct {
	clock clock.Clock
	calls chan func()
	due   chan []byte

	held []*memoryMessage // by due time, and equal due times by arrival

	closing sync.Once
	done    chan struct{}
	owner   sync.WaitGroup
}

type memoryMessage struct {
	due   time.Time
	value []byte
}

func (q *memoryQueue) own() {
	timer := q.clock.NewTimer()
	defer timer.Close()
	for {
		var due chan []byte
		var head []byte
		if q.isDue() {
			due, head = q.due, q.held[0].value
		} else if len(q.held) > 0 {
			timer.Reset(q.held[0].due)
		}
		select {
		case due <- head:
			q.pop()
		case call := <-q.calls:
			call()
		case <-timer.C():
		case <-q.done:
			return
		}
	}
}

func (q *memoryQueue) isDue() bool { return len(q.held) > 0 && !q.clock.Now().Before(q.held[0].due) }

func (q *memoryQueue) pop() (value []byte) {
	value, q.held[0] = q.held[0].value, nil
	q.held = q.held[1:]
	return value
}

// do has the owner run a call.
func (q *memoryQueue) do(call func()) error {
	ran := make(chan struct{})
	select {
	case q.calls <- func() { call(); close(ran) }:
		<-ran
		return nil
	case <-q.done:
		return driver.ErrClosed
	}
}

// Offer keeps a copy of value.
func (q *memoryQueue) Offer(_ context.Context, value []byte, delay time.Duration) error {
	m := &memoryMessage{q.clock.Now().Add(delay), bytes.Clone(value)}
	return q.do(func() {
		at, _ := slices.BinarySearchFunc(q.held, m, func(other, m *memoryMessage) int { return cmp.Or(other.due.Compare(m.due), -1) })
		q.held = slices.Insert(q.held, at, m)
	})
}

func (q *memoryQueue) Take(ctx context.Context) ([]byte, error) {
	select {
	case value := <-q.due:
		return value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.done:
		return nil, driver.ErrClosed
	}
}

func (q *memoryQueue) Poll(context.Context) (value []byte, err error) {
	err = q.do(func() {
		if q.isDue() {
			value = q.pop()
		}
	})
	return value, err
}

// Remove looks at every message.
func (q *memoryQueue) Remove(_ context.Context, value []byte) (ok bool, err error) {
	err = q.do(func() {
		at := slices.IndexFunc(q.held, func(m *memoryMessage) bool { return bytes.Equal(m.value, value) })
		if ok = at >= 0; ok {
			q.held = slices.Delete(q.held, at, at+1)
		}
	})
	return ok, err
}

func (q *memoryQueue) Held(_ context.Context, each func(value []byte)) (n int64, err error) {
	err = q.do(func() {
		for _, m := range q.held {
			each(m.value)
		}
		n = int64(len(q.held))
	})
	return n, err
}

// Close wakes all takers, which return driver.ErrClosed.
func (q *memoryQueue) Close() error {
	q.closing.Do(func() { close(q.done) })
	q.owner.Wait()
	return nil
}
