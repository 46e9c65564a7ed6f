package agent

import "sync"

// fifo is a queue of items without a bound.
type fifo struct {
	mu     sync.Mutex
	some   *sync.Cond
	items  []due
	closed bool
}

func newFIFO() *fifo {
	f := new(fifo)
	f.some = sync.NewCond(&f.mu)
	return f
}

func (f *fifo) push(item due) {
	f.mu.Lock()
	f.items = append(f.items, item)
	f.mu.Unlock()
	f.some.Signal()
}

// pop waits for an item; ok is false once the queue is closed and empty.
func (f *fifo) pop() (item due, ok bool) {
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

func (f *fifo) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.some.Broadcast()
}
