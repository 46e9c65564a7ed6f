package analysis

import (
	"cmp"
	"slices"
)

// Drawn are the lives of a page: of so many queues, so many messages each.
const (
	maxDrawnQueues = 20
	maxLives       = 256
)

// Life is what became of a message, in µs of the server's clock; 0 where it did not
// happen in the log.
type Life struct {
	Line                               int64
	Offered, Due                       int64
	Transferred, Taken, Removed, Ended int64
}

// lives are those of every so manieth message of a queue.
type lives struct {
	drawn   bool
	step    int64 // of so many messages one is kept; a power of two
	offered int32
	kept    map[int32]*Life
}

// begin returns the number of a life, 0 where it is not kept.
func (l *lives) begin(life Life) int32 {
	if !l.drawn {
		return 0
	}
	if l.kept == nil {
		l.kept, l.step = map[int32]*Life{}, 1
	}
	l.offered++
	if int64(l.offered)%l.step != 0 {
		return 0
	}
	l.kept[l.offered] = &life
	if len(l.kept) > maxLives {
		l.step *= 2
		for n := range l.kept {
			if int64(n)%l.step != 0 {
				delete(l.kept, n)
			}
		}
	}
	return l.offered
}

func (l *lives) transferred(n int32, due, at int64) {
	if life := l.kept[n]; life != nil {
		life.Due, life.Transferred = due, at
	}
}

func (l *lives) taken(n int32, at int64) {
	if life := l.kept[n]; life != nil {
		life.Taken = at
	}
}

// end notes that a message was removed before it was transferred.
func (l *lives) end(n int32, at int64) {
	if life := l.kept[n]; life != nil {
		life.Removed = at
	}
}

// close notes where the log ended for lives that go on.
func (l *lives) close(at int64) {
	for _, life := range l.kept {
		if life.Ended == 0 {
			life.Ended = max(life.Taken, life.Removed)
		}
		if life.Ended == 0 {
			life.Ended = at
		}
	}
}

func (l *lives) list() []Life {
	all := make([]Life, 0, len(l.kept))
	for _, life := range l.kept {
		all = append(all, *life)
	}
	slices.SortFunc(all, func(a, b Life) int {
		return cmp.Or(cmp.Compare(a.Offered, b.Offered), cmp.Compare(a.Line, b.Line))
	})
	return all
}
