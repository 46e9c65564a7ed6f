package serve

// fifo is a queue of items without a bound. One of its channels has a value: the items, or that there is no item.
type fifo struct {
	items chan []due
	empty chan bool
}

func newFIFO() fifo {
	f := fifo{make(chan []due, 1), make(chan bool, 1)}
	f.empty <- true
	return f
}

func (f fifo) push(item due) {
	var items []due
	select {
	case items = <-f.items:
	case <-f.empty:
	}
	f.items <- append(items, item)
}

// pop waits for an item; ok is false once the queue has ended and is empty.
func (f fifo) pop(ended <-chan struct{}) (item due, ok bool) {
	var items []due
	select {
	case items = <-f.items:
	case <-ended:
		select {
		case items = <-f.items:
		case <-f.empty:
			f.empty <- true
			return item, false
		}
	}
	if len(items) > 1 {
		f.items <- items[1:]
	} else {
		f.empty <- true
	}
	return items[0], true
}
