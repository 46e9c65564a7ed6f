// Package baseline answers: what is a delay queue measured against?
//
// Memory needs no server and shows the price of that; List and ZSet are the two designs of document 001
// that Redisson's queue is compared with.
package baseline

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	poolSize = 64 // connections, Redisson's default
	// pollInterval is the time between two runs of ZSet's script.
	pollInterval = 100 * time.Millisecond
	// popSeconds is how long one BRPOPLPUSH waits; servers before 6.0 take whole seconds only.
	popSeconds = 1
	retryPause = 100 * time.Millisecond
	ackTimeout = 5 * time.Second
	tempSuffix = "_temp" // of the temp list's key
)

// Redis is one of the two designs.
type Redis struct {
	zset bool
	name string
}

// List is "redis-list", the message queue of document 001, section 3.1: LPUSH adds a message, RPOPLPUSH moves the oldest one to a temp
// list, LREM acknowledges it there.
//
// A LIST has no delay. The due time, Unix ms, goes in front of the value, and a process that has popped the oldest message waits for
// it, while the message stays in the temp list. Nothing is lost when the process dies, but the order is the order of the offers: a short
// delay behind a long one comes late. A message cannot be cancelled: LREM wants the element, and its due time is not known any more. One
// message is popped at a time, by the blocking form BRPOPLPUSH: about one round trip a message and process.
var List = Redis{name: "redis-list"}

// ZSet is "redis-zset", the delay queue of document 001, section 3.2: a ZSET ordered by due time, and a script, run every 100 ms, that moves
// due messages to a temp list. Takers of the process that ran it block until it has something for them; LREM acknowledges.
//
// The costs of the design are kept: a message waits for the next run of the script, 50 ms on average. An element of a ZSET is there once, so
// that offering an equal value again replaces the due time of the first: one of the two is lost. The document's scores are seconds, which
// would make messages up to a second early; they are ms here.
var ZSet = Redis{name: "redis-zset", zset: true}

// zsetMove is the script of document 001, section 3.2, as it stands there.
//
//	KEYS[1]  the ZSET, score = due time
//	KEYS[2]  the temp list
//	ARGV[1]  now, in the unit of the scores
//	returns  the elements moved, the earliest first
//
// It is O(M·log N) for M due of N waiting, and M has no bound: ten thousand messages that come due at once are moved, with a ZREM for each,
// while every other client of the server waits.
//
//go:embed zset.lua
var zsetMove string

// Identity returns the name.
func (d Redis) Identity() driver.Identity { return driver.Identity{Name: d.name} }

// Store looks at the key that messages are offered to, and the temp list.
func (d Redis) Store(conn redis.Conn, name string) store.Store {
	if d.zset {
		return store.Keys{Conn: conn, Sets: []string{name}, Lists: []string{name + tempSuffix}}
	}
	return store.Keys{Conn: conn, Lists: []string{name, name + tempSuffix}}
}

// Open connects, and takes over what the temp list holds.
func (d Redis) Open(_ context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(name string) (driver.Queue, error) {
		q, err := openRedis(target, name, d)
		if err != nil {
			return nil, fmt.Errorf("driver %s: %w", d.name, err)
		}
		q.pumping.Go(q.pump)
		if d.zset {
			return zsetQueue{q}, nil
		}
		return q, nil
	})
}

// zsetQueue can cancel a message, which a list could do only by a search through all of it.
type zsetQueue struct{ *redisQueue }

// Remove removes a message that has not been moved to the temp list.
func (q zsetQueue) Remove(ctx context.Context, value []byte) (bool, error) {
	n, err := q.conn.Do(ctx, "ZREM", q.source, value).Int64()
	return n > 0, err
}

// redisQueue keeps what it moved in a temp list until a taker has it. Take acknowledges just before it
// returns, for a Queue knows no acknowledgement: that round trip is part of the lateness.
//
// One goroutine, the pump, moves elements and hands them to takers. All processes share the temp list, as in
// the document. Who opens the queue hands over what it finds there: after the death of a process nothing is
// lost; while another process lives, what that one holds comes twice.
type redisQueue struct {
	conn         redis.Conn // for offers and acknowledgements
	moving       redis.Conn // the pump's own; closing it ends a blocking pop
	source, temp string
	zset         bool
	fetch        func(ctx context.Context) ([]string, error) // waits a while for elements, moves them to the temp list and returns them

	ctx     context.Context
	stop    context.CancelFunc
	pumping sync.WaitGroup
	ready   chan handed

	mu    sync.Mutex
	known map[string]int // elements of the temp list that this process fetched

	taking  sync.RWMutex // read locked by each Take
	closing sync.Once
}

type handed struct {
	element string
	value   []byte
}

// openRedis connects. The caller starts the pump.
func openRedis(target driver.Target, name string, d Redis) (*redisQueue, error) {
	conn, err := redis.ConnectMany(target.RedisURL, poolSize)
	if err != nil {
		return nil, err
	}
	moving, err := redis.Connect(target.RedisURL)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	q := &redisQueue{
		conn: conn, moving: moving, source: name, temp: name + tempSuffix, zset: d.zset, ready: make(chan handed), known: map[string]int{},
	}
	q.fetch = q.move
	q.ctx, q.stop = context.WithCancel(context.Background())
	return q, nil
}

// Offer fails for a negative delay.
func (q *redisQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	if delay < 0 {
		return fmt.Errorf("expected a delay of 0 or more, got %s", delay)
	}
	if q.ctx.Err() != nil {
		return driver.ErrClosed
	}
	due := time.Now().Add(delay)
	if q.zset {
		return q.conn.Do(ctx, "ZADD", q.source, due.UnixMilli(), value).Err()
	}
	return q.conn.Do(ctx, "LPUSH", q.source, frameDue(due, value)).Err()
}

// move waits a while for elements, and moves them to the temp list: a LIST's oldest, and all of a ZSET that are due.
func (q *redisQueue) move(ctx context.Context) ([]string, error) {
	if q.zset {
		if err := pause(ctx, pollInterval); err != nil {
			return nil, err
		}
		return q.moving.Do(ctx, "EVAL", zsetMove, 2, q.source, q.temp, time.Now().UnixMilli()).StringSlice()
	}
	// Closing the client ends the blocking call.
	element, err := q.moving.Do(context.Background(), "BRPOPLPUSH", q.source, q.temp, popSeconds).Text()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return []string{element}, err
}

// Take waits for what the pump hands over.
func (q *redisQueue) Take(ctx context.Context) ([]byte, error) {
	q.taking.RLock()
	defer q.taking.RUnlock()
	select {
	case e := <-q.ready:
		return q.acknowledge(ctx, e), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.ctx.Done():
		return nil, driver.ErrClosed
	}
}

// Poll takes what the pump hands over at this moment.
func (q *redisQueue) Poll(ctx context.Context) ([]byte, bool, error) {
	q.taking.RLock()
	defer q.taking.RUnlock()
	if q.ctx.Err() != nil {
		return nil, false, driver.ErrClosed
	}
	select {
	case e := <-q.ready:
		return q.acknowledge(ctx, e), true, nil
	default:
		return nil, false, ctx.Err()
	}
}

// acknowledge removes an element from the temp list, whatever becomes of the taker's context. Where that
// fails, the element stays: who opens the queue next delivers it again.
func (q *redisQueue) acknowledge(ctx context.Context, e handed) []byte {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTimeout)
	defer cancel()
	if q.conn.Do(ctx, "LREM", q.temp, 1, e.element).Err() == nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.known[e.element]--; q.known[e.element] == 0 {
			delete(q.known, e.element)
		}
	}
	return e.value
}

// pump moves elements and hands them over. First, and after an error, it looks into the temp list: the reply
// may have been lost after the elements were moved.
func (q *redisQueue) pump() {
	timer := clock.System().NewTimer()
	defer timer.Close()
	for look := true; q.ctx.Err() == nil; {
		elements, err := q.next(look)
		if look = err != nil; look {
			_ = pause(q.ctx, retryPause)
		}
		for _, element := range elements {
			value, err := q.wait(timer, element)
			if err != nil {
				return
			}
			select {
			case q.ready <- handed{element, value}:
			case <-q.ctx.Done():
				return
			}
		}
	}
}

// next returns elements of the temp list that this process did not know, the oldest first.
func (q *redisQueue) next(look bool) (unknown []string, err error) {
	if !look {
		elements, err := q.fetch(q.ctx)
		q.mu.Lock()
		defer q.mu.Unlock()
		for _, element := range elements {
			q.known[element]++
		}
		return elements, err
	}
	elements, err := q.moving.Do(q.ctx, "LRANGE", q.temp, 0, -1).StringSlice()
	slices.Reverse(elements)
	q.mu.Lock()
	defer q.mu.Unlock()
	seen := map[string]int{}
	for _, element := range elements {
		if seen[element]++; seen[element] > q.known[element] {
			q.known[element]++
			unknown = append(unknown, element)
		}
	}
	return unknown, err
}

// wait returns the value of an element, once it is due. A foreign element is handed over as it is.
func (q *redisQueue) wait(timer clock.Timer, element string) ([]byte, error) {
	due, value, ok := unframeDue(element)
	if q.zset || !ok {
		return []byte(element), nil
	}
	return value, clock.SleepUntil(q.ctx, clock.System(), timer, due)
}

// Close ends the pump. What is left in the temp list is taken over by who opens the queue next.
func (q *redisQueue) Close() (err error) {
	q.closing.Do(func() {
		q.stop()
		err = q.moving.Close()
		q.pumping.Wait()
		q.taking.Lock() // takers acknowledge by the other connection
		defer q.taking.Unlock()
		err = errors.Join(err, q.conn.Close())
	})
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// frameDue puts the due time, in Unix ms, in front of value.
func frameDue(due time.Time, value []byte) []byte {
	return append(strconv.AppendInt(nil, due.UnixMilli(), 10), append([]byte{':'}, value...)...)
}

// unframeDue reads what frameDue wrote.
func unframeDue(element string) (due time.Time, value []byte, ok bool) {
	head, tail, colon := strings.Cut(element, ":")
	ms, err := strconv.ParseInt(head, 10, 64)
	if !colon || err != nil {
		return time.Time{}, nil, false
	}
	return time.UnixMilli(ms), []byte(tail), true
}
