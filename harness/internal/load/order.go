package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// delivery is one that came at an instant, of a message that was due at another, in Unix ns.
type delivery struct{ came, due, index int64 }

// order counts inversions: messages that came after one that was due apart later.
type order struct {
	run.Order
	queues, producers []int64 // the latest due instant that came
}

// apart is by how much a message must be due earlier, to be out of order: the resolution of the format.
const apart = int64(time.Millisecond)

func newOrder(queues, producers int) order {
	return order{queues: make([]int64, queues), producers: make([]int64, producers)}
}

// add looks at what came in a second, and returns how much of it was out of order.
func (o *order) add(arrivals []delivery) int64 {
	slices.SortFunc(arrivals, func(a, b delivery) int {
		return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.due, b.due))
	})
	before := o.Inversions
	for _, a := range arrivals {
		queue := &o.queues[a.index%int64(len(o.queues))]
		if by := *queue - a.due; by >= apart {
			o.Inversions++
			o.LongestNs = max(o.LongestNs, by)
		}
		*queue = max(*queue, a.due)
		producer := &o.producers[a.index%int64(len(o.producers))]
		if *producer-a.due >= apart {
			o.OfOneProducer++
		}
		*producer = max(*producer, a.due)
	}
	return o.Inversions - before
}
