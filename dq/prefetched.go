package dq

import "time"

// prefetched has what a worker took at one time and has not begun, until the turn of each comes or
// hold is over.
type prefetched[V any] struct {
	// back gives back what it is passed, in its order, and reports whether that is settled: if not, the
	// worker goes on with it.
	back    func([]V) bool
	hold    time.Duration
	overdue *time.Timer

	// held has an element while somebody looks at the rest. It is a channel and no sync.Mutex, for what
	// putBack sends is waited for meanwhile, and virtual time stands still while a goroutine waits for a mutex.
	held  chan struct{}
	rest  []V
	taken time.Time
}

func newPrefetched[V any](hold time.Duration, back func([]V) bool) *prefetched[V] {
	b := &prefetched[V]{back: back, hold: hold, held: make(chan struct{}, 1)}
	b.overdue = time.AfterFunc(hold, b.putBack)
	b.overdue.Stop()
	return b
}

// keep holds what was taken at a time.
func (b *prefetched[V]) keep(rest []V) {
	if len(rest) == 0 {
		return
	}
	b.held <- struct{}{}
	defer func() { <-b.held }()
	b.rest, b.taken = rest, time.Now()
	b.overdue.Reset(b.hold)
}

// pop returns the first of what was taken before.
func (b *prefetched[V]) pop() (first V, ok bool) {
	b.held <- struct{}{}
	defer func() { <-b.held }()
	return b.shift()
}

func (b *prefetched[V]) shift() (first V, ok bool) {
	if len(b.rest) == 0 {
		return first, false
	}
	first, b.rest = b.rest[0], b.rest[1:]
	if len(b.rest) == 0 {
		b.overdue.Stop()
	}
	return first, true
}

// putBack gives back those whose turn has not come, so that another worker or process handles
// them. Until they are back, the worker takes no others.
func (b *prefetched[V]) putBack() {
	b.held <- struct{}{}
	defer func() { <-b.held }()
	if len(b.rest) == 0 || time.Since(b.taken) < b.hold {
		return
	}
	if b.back(b.rest) {
		b.rest = nil
	}
}
