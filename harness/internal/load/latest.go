package load

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// arrival is a delivery: the due instant, cut to its millisecond, and when it came, both
// in Unix ns.
type arrival struct{ due, came int64 }

func newArrival(due, came int64) arrival {
	return arrival{due / int64(time.Millisecond) * int64(time.Millisecond), came}
}

func (a arrival) pastDue() int64 { return a.came - a.due }

// latest keeps the latest of many arrivals, as far as they are late at all. What is not
// among them costs a comparison.
type latest struct {
	kept int
	bar  int64 // ns; what is not past due by more is not kept
	all  earliestFirst
}

// The bounds of how many arrivals a phase of a part keeps: a hundredth of its messages,
// for quantiles up to p99, within them.
const (
	leastLatest = 1000
	mostLatest  = 10_000
)

// newLatest is for a phase of so many messages.
func newLatest(messages int64) *latest {
	return &latest{kept: int(min(max(messages/100, leastLatest), mostLatest)), bar: int64(run.LateBound)}
}

func (l *latest) add(a arrival) {
	switch {
	case a.pastDue() <= l.bar:
		return
	case len(l.all) < l.kept:
		heap.Push(&l.all, a)
	default:
		l.all[0] = a
		heap.Fix(&l.all, 0)
	}
	if len(l.all) == l.kept {
		l.bar = l.all[0].pastDue()
	}
}

// earliestFirst is a heap, the least late on top.
type earliestFirst []arrival

func (e earliestFirst) Len() int           { return len(e) }
func (e earliestFirst) Less(i, j int) bool { return e[i].pastDue() < e[j].pastDue() }
func (e earliestFirst) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *earliestFirst) Push(a any)        { *e = append(*e, a.(arrival)) }
func (e *earliestFirst) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// encode writes arrivals as PROTOCOL.md has them.
func encode(arrivals []arrival) [][2]plan.Whole {
	pairs := make([][2]plan.Whole, 0, len(arrivals))
	for _, a := range arrivals {
		pairs = append(pairs, [2]plan.Whole{plan.Whole(a.due), plan.Whole(a.came)})
	}
	return pairs
}

// decode reads them; nil where they were not told.
func decode(pairs [][2]plan.Whole) []arrival {
	if pairs == nil {
		return nil
	}
	arrivals := make([]arrival, 0, len(pairs))
	for _, p := range pairs {
		arrivals = append(arrivals, arrival{int64(p[0]), int64(p[1])})
	}
	return arrivals
}

// latest are those of all parts, the latest first; told is false if a part that took
// messages does not tell.
func (w *work) latest() (all []arrival, told bool) {
	for _, o := range w.ended {
		if o.latest == nil && o.counts.Delivered > 0 {
			return nil, false
		}
		all = append(all, o.latest...)
	}
	slices.SortFunc(all, func(a, b arrival) int { return cmp.Compare(b.pastDue(), a.pastDue()) })
	return all, true
}
