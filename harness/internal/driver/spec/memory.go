package spec

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// Memory is java.util.concurrent.DelayQueue in Go: a heap ordered by due time in the memory of one process. It is the reference
// that needs no server, and shows the price: each Open starts empty, and the messages are gone when the process ends.
type Memory struct {
	Clock clock.Clock // nil for the machine's
}

// Timing is the clock of due times, by which load is made too.
func (m Memory) Timing() clock.Clock { return cmp.Or(m.Clock, clock.System()) }

// Identity returns "memory".
func (Memory) Identity() driver.Identity { return driver.Identity{Name: "memory"} }

// Open returns new, empty queues and ignores the URL.
func (m Memory) Open(_ context.Context, _ string, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(string) (driver.Queue, error) {
		q := &memoryQueue{clock: m.Timing(), calls: make(chan func()), due: make(chan []byte), done: make(chan struct{}), ended: make(chan struct{})}
		go q.own()
		return q, nil
	})
}

// memoryQueue has a goroutine that owns the heap: it hands the head to a taker once it is due, and runs all other calls.
type memoryQueue struct {
	clock clock.Clock
	calls chan func()
	due   chan []byte

	held   memoryHeap
	offers int

	closing     sync.Once
	done, ended chan struct{}
}

func (q *memoryQueue) own() {
	defer close(q.ended)
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
			heap.Pop(&q.held)
		case call := <-q.calls:
			call()
		case <-timer.C():
		case <-q.done:
			return
		}
	}
}

func (q *memoryQueue) isDue() bool { return len(q.held) > 0 && !q.clock.Now().Before(q.held[0].due) }

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
func (q *memoryQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	message := memoryMessage{due: q.clock.Now().Add(delay), value: bytes.Clone(value)}
	return q.do(func() {
		message.order, q.offers = q.offers, q.offers+1
		heap.Push(&q.held, message)
	})
}

// Take returns the head once it is due.
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

// Poll returns the head if it is due.
func (q *memoryQueue) Poll(context.Context) (value []byte, ok bool, err error) {
	err = q.do(func() {
		if ok = q.isDue(); ok {
			value = heap.Pop(&q.held).(memoryMessage).value //nolint:forcetypeassert // its Pop returns no other
		}
	})
	return value, ok, err
}

// Remove looks at every message.
func (q *memoryQueue) Remove(_ context.Context, value []byte) (ok bool, err error) {
	err = q.do(func() {
		at := slices.IndexFunc(q.held, func(m memoryMessage) bool { return bytes.Equal(m.value, value) })
		if ok = at >= 0; ok {
			heap.Remove(&q.held, at)
		}
	})
	return ok, err
}

// Held returns the number of messages, due or not.
func (q *memoryQueue) Held(context.Context) (n int64, err error) {
	err = q.do(func() { n = int64(len(q.held)) })
	return n, err
}

// Values calls each with every message.
func (q *memoryQueue) Values(_ context.Context, each func(value []byte)) error {
	return q.do(func() {
		for _, m := range q.held {
			each(m.value)
		}
	})
}

// Close wakes all takers, which return driver.ErrClosed.
func (q *memoryQueue) Close() error {
	q.closing.Do(func() { close(q.done) })
	<-q.ended
	return nil
}

type memoryMessage struct {
	due   time.Time
	order int
	value []byte
}

// memoryHeap orders by due time, and equal due times by arrival.
type memoryHeap []memoryMessage

func (h memoryHeap) Len() int      { return len(h) }
func (h memoryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h memoryHeap) Less(i, j int) bool {
	return h[i].due.Before(h[j].due) || h[i].due.Equal(h[j].due) && h[i].order < h[j].order
}

// Push is for container/heap.
func (h *memoryHeap) Push(x any) { *h = append(*h, x.(memoryMessage)) } //nolint:forcetypeassert // only Offer pushes

// Pop is for container/heap. It lets the value go.
func (h *memoryHeap) Pop() any {
	last := len(*h) - 1
	message := (*h)[last]
	(*h)[last] = memoryMessage{}
	*h = (*h)[:last]
	return message
}
