package dq

import (
	"sync"
	"sync/atomic"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// task is the transfer task of one queue name.
type task struct {
	names  wire.Names
	usage  int
	failed atomic.Pointer[error] // what went wrong last
	ready  chan struct{}         // closed after the first transfer behind a subscription
	// becomeReady closes ready.
	becomeReady func()
	refused     chan struct{} // closed when the server forbids the subscription
	refusal     error         // why, set before refused is closed
	// watchers are called after transfers. The scheduler's mu guards them.
	watchers map[*leased]func()

	// known is the earliest due time that the task knows of.
	known atomic.Int64

	// The rest belongs to the scheduler's goroutine.
	at        int64 // Unix ms of the next transfer or look, noDue without one
	due       int64 // Unix ms of the next transfer, noDue if there is none planned
	since     int64 // the earliest that was due and is not transferred, noDue without one
	index     int   // in the heap, -1 outside
	running   bool
	again     bool // a transfer was asked for while one ran
	gone      bool
	looked    int64 // when the task looked ahead last, Unix ms
	lookAt    int64 // when it will next, Unix ms, noDue if not arranged
	stands    bool  // the subscription did once
	redisson  bool  // the user may run only Redisson's own script
	unlisting unlisting
	turns     turns
	retry     conn.Backoff
}

func newTask(names wire.Names) *task {
	t := &task{
		names: names, ready: make(chan struct{}), refused: make(chan struct{}), at: noDue, due: noDue, since: noDue, lookAt: noDue, index: -1,
		unlisting: unlisting{cost: entryCost, pace: 2 * entryCost}, turns: turnsOf(names),
	}
	t.becomeReady = sync.OnceFunc(func() { close(t.ready) })
	t.known.Store(noDue)
	return t
}

// dueHeap orders tasks by the next instant at which there is something to do for them.
type dueHeap []*task

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	t := x.(*task)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	t.index = -1
	*h = old[:len(old)-1]
	return t
}
