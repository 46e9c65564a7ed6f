package agent

import "sync"

// fifo is a queue without a bound.
type fifo[T any] struct {
	mu     sync.Mutex
	some   *sync.Cond
	items  []T
	closed bool
}

func newFIFO[T any]() *fifo[T] {
	f := new(fifo[T])
	f.some = sync.NewCond(&f.mu)
	return f
}

func (f *fifo[T]) push(item T) {
	f.mu.Lock()
	f.items = append(f.items, item)
	f.mu.Unlock()
	f.some.Signal()
}

// pop waits for an item; ok is false once the queue is closed and empty.
func (f *fifo[T]) pop() (item T, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.items) == 0 && !f.closed {
		f.some.Wait()
	}
	if len(f.items) == 0 {
		return item, false
	}
	item, f.items = f.items[0], f.items[1:]
	return item, true
}

func (f *fifo[T]) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.some.Broadcast()
}
