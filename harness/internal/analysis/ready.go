package analysis

// ready are the elements of a destination queue, the front first.
type ready struct {
	items []element
	head  int // items before it are taken
}

// element is a value that waits to be taken.
type element struct {
	value   uint64
	life    int32
	delayed bool // a transfer has moved it
	front   bool // it is to be pushed to the front
}

func (r *ready) len() int { return len(r.items) - r.head }

func (r *ready) push(e element) {
	switch {
	case !e.front:
		r.items = append(r.items, e)
	case r.head > 0:
		r.head--
		r.items[r.head] = e
	default:
		// Room for as many again, so that pushing to the front stays cheap.
		room := len(r.items) + 16
		r.items = append(make([]element, room, 2*room+len(r.items)), r.items...)
		r.head = room - 1
		r.items[r.head] = e
	}
}

func (r *ready) pop(back bool) (e element, ok bool) {
	if r.len() == 0 {
		return element{}, false
	}
	if back {
		e = r.items[len(r.items)-1]
		r.items = r.items[:len(r.items)-1]
		return e, true
	}
	e = r.items[r.head]
	if r.head++; r.head >= 1024 && r.head > len(r.items)/2 {
		r.items = append(r.items[:0], r.items[r.head:]...)
		r.head = 0
	}
	return e, true
}

// remove removes elements of a value: all of them for 0, else the first so many, from the
// back where it is negative. It calls gone for each.
func (r *ready) remove(value uint64, count int64, gone func(element)) {
	left, back := count, count < 0
	if back {
		left = -count
	}
	items := r.items[r.head:]
	drop := map[int]bool{}
	for i := range items {
		if back {
			i = len(items) - 1 - i
		}
		if items[i].value == value {
			drop[i] = true
			gone(items[i])
			if left--; left == 0 {
				break
			}
		}
	}
	if len(drop) == 0 {
		return
	}
	kept := items[:0]
	for i, e := range items {
		if !drop[i] {
			kept = append(kept, e)
		}
	}
	r.items = r.items[:r.head+len(kept)]
}

// trim keeps the elements from start to stop, as LTRIM counts them.
func (r *ready) trim(start, stop int64, gone func(element)) {
	n := int64(r.len())
	if start < 0 {
		start = max(0, start+n)
	}
	if stop < 0 {
		stop += n
	}
	stop = min(stop, n-1)
	items := r.items[r.head:]
	if start > stop {
		start, stop = n, n-1
	}
	for i, e := range items {
		if int64(i) < start || int64(i) > stop {
			gone(e)
		}
	}
	r.items, r.head = append(r.items[:0], items[start:stop+1]...), 0
}
