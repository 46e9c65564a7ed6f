package dq

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// task is the transfer task of one queue name.
type task struct {
	names  wire.Names
	number int // no other task of the scheduler has it
	usage  int
	failed atomic.Pointer[error] // what went wrong last
	ready  chan struct{}         // closed after the first transfer behind a subscription
	// becomeReady closes ready.
	becomeReady func()
	refused     chan struct{} // closed when the server forbids the subscription
	refusal     error         // why, set before refused is closed
	// watchers are called after transfers. The scheduler's mu guards them.
	watchers map[*leased]struct{}

	// known is the earliest due time that the task knows of.
	known atomic.Int64

	// The rest belongs to the scheduler's goroutine.
	at        int64 // Unix ms of the next transfer or look, noDue without one
	due       int64 // Unix ms of the next transfer, noDue if there is none planned
	since     int64 // the earliest that was due and is not transferred, noDue without one
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

func newTask(names wire.Names, number int) *task {
	t := &task{
		names: names, ready: make(chan struct{}), refused: make(chan struct{}), at: noDue, due: noDue, since: noDue, lookAt: noDue, number: number,
		watchers: map[*leased]struct{}{}, unlisting: unlisting{cost: entryCost, pace: 2 * entryCost}, turns: turnsOf(names),
	}
	t.becomeReady = sync.OnceFunc(func() { close(t.ready) })
	t.known.Store(noDue)
	return t
}

// compare orders tasks by the next instant at which there is something to do for them.
func (t *task) compare(other *task) int {
	return cmp.Or(cmp.Compare(t.at, other.at), cmp.Compare(t.number, other.number))
}
