package baseline

import (
	"bytes"
	"container/heap"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// Memory is java.util.concurrent.DelayQueue in Go: a heap ordered by due time
// in the memory of one process. It is the reference that needs no server, and it
// shows the price of that: each Open starts empty, and what is not taken when
// the process ends is gone.
type Memory struct {
	// Clock is what due times are measured by.
	Clock clock.Clock
}

// NewMemory returns the driver "memory" on the clock of the machine.
func NewMemory() Memory { return Memory{Clock: clock.System()} }

// Identity returns "memory".
func (Memory) Identity() driver.Identity { return driver.Identity{Name: "memory"} }

// Open returns new, empty queues; the target is not looked at.
func (m Memory) Open(_ context.Context, _ driver.Target, names ...string) ([]driver.Queue, error) {
	return driver.OpenEach(names, func(string) (driver.Queue, error) {
		return &memoryQueue{clock: m.Clock, timer: m.Clock.NewTimer(), done: make(chan struct{})}, nil
	})
}

// memoryQueue keeps at most one taker, the leader, waiting for the head's due
// time. The other takers, the followers, wait to be signalled, so that a message
// that comes due wakes one goroutine and not all.
type memoryQueue struct {
	clock clock.Clock
	timer clock.Timer // set for the head while there is a leader

	mu        sync.Mutex
	held      memoryHeap
	order     uint64
	leader    bool
	followers []chan struct{}
	done      chan struct{} // closed by Close
}

// Offer keeps a copy of value.
func (q *memoryQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	item := memoryItem{due: q.clock.Now().Add(delay), value: bytes.Clone(value)}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed() {
		return driver.ErrClosed
	}
	item.order = q.order
	q.order++
	heap.Push(&q.held, item)
	if q.held[0].order != item.order {
		return nil
	}
	if q.leader {
		q.timer.Reset(item.due)
	} else {
		q.signal()
	}
	return nil
}

// Take returns the head once it is due.
func (q *memoryQueue) Take(ctx context.Context) ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		switch {
		case q.closed():
			return nil, driver.ErrClosed
		case ctx.Err() != nil:
			// The signal that woke this taker may belong to another.
			q.callNext()
			return nil, ctx.Err()
		case len(q.held) > 0 && !q.clock.Now().Before(q.held[0].due):
			return q.pop(), nil
		case len(q.held) > 0 && !q.leader:
			q.lead(ctx)
		default:
			q.follow(ctx)
		}
	}
}

func (q *memoryQueue) pop() []byte {
	item, _ := heap.Pop(&q.held).(memoryItem)
	q.callNext()
	return item.value
}

// callNext makes a follower look, where messages wait and nobody leads.
func (q *memoryQueue) callNext() {
	if len(q.held) > 0 && !q.leader {
		q.signal()
	}
}

// lead waits for the head's due time, or for ctx. It may return early.
func (q *memoryQueue) lead(ctx context.Context) {
	q.leader = true
	q.timer.Reset(q.held[0].due)
	q.mu.Unlock()
	select {
	case <-q.timer.C():
	case <-ctx.Done():
	case <-q.done:
	}
	q.mu.Lock()
	q.leader = false
}

// follow waits for a signal, or for ctx.
func (q *memoryQueue) follow(ctx context.Context) {
	signal := make(chan struct{}, 1)
	q.followers = append(q.followers, signal)
	q.mu.Unlock()
	select {
	case <-signal:
	case <-ctx.Done():
	case <-q.done:
	}
	q.mu.Lock()
	if at := slices.Index(q.followers, signal); at >= 0 {
		q.followers = slices.Delete(q.followers, at, at+1)
	}
}

func (q *memoryQueue) closed() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// signal wakes the follower that has waited longest.
func (q *memoryQueue) signal() {
	if len(q.followers) == 0 {
		return
	}
	q.followers[0] <- struct{}{}
	q.followers = slices.Delete(q.followers, 0, 1)
}

// Poll returns the head if it is due.
func (q *memoryQueue) Poll(context.Context) ([]byte, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed():
		return nil, false, driver.ErrClosed
	case len(q.held) == 0 || q.clock.Now().Before(q.held[0].due):
		return nil, false, nil
	}
	return q.pop(), true, nil
}

// Remove looks at every message.
func (q *memoryQueue) Remove(_ context.Context, value []byte) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.held, func(item memoryItem) bool { return bytes.Equal(item.value, value) })
	if at < 0 {
		return false, nil
	}
	heap.Remove(&q.held, at)
	return true, nil
}

// Held returns how many messages wait, due or not.
func (q *memoryQueue) Held(context.Context) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return int64(len(q.held)), nil
}

// Values calls each with every message that waits.
func (q *memoryQueue) Values(_ context.Context, each func(value []byte)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range q.held {
		each(item.value)
	}
	return nil
}

// Close wakes all takers, which return driver.ErrClosed. What is held stays readable
// by Values until the queue is garbage.
func (q *memoryQueue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed() {
		return nil
	}
	close(q.done)
	q.timer.Close()
	return nil
}

type memoryItem struct {
	due   time.Time
	order uint64
	value []byte
}

// memoryHeap orders by due time, and by arrival where that is equal.
type memoryHeap []memoryItem

func (h memoryHeap) Len() int { return len(h) }

func (h memoryHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].order < h[j].order
	}
	return h[i].due.Before(h[j].due)
}

func (h memoryHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *memoryHeap) Push(x any) {
	if item, ok := x.(memoryItem); ok {
		*h = append(*h, item)
	}
}

func (h *memoryHeap) Pop() any {
	last := len(*h) - 1
	item := (*h)[last]
	(*h)[last] = memoryItem{}
	*h = (*h)[:last]
	return item
}
