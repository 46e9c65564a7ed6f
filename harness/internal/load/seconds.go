package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// settled is how long after its end a second is closed: later reports count for the next open one.
const settled = 500 * time.Millisecond

// second is a second that is not over yet. Its Pending is by how many messages more are pending.
type second struct {
	run.Interval
	h        run.Histograms
	arrivals []delivery
}

// second is the second of an instant, or the oldest that is not closed.
func (c *collector) second(at int64) *second {
	k := max((at-c.start)/int64(time.Second), c.closed)
	s := c.seconds[k]
	if s == nil {
		s = &second{h: run.NewHistograms()}
		c.seconds[k] = s
	}
	return s
}

// close closes the seconds that ended before an instant, Unix ns; with last all that there is.
func (c *collector) close(now int64, last bool) (all []*second) {
	elapsed := now - c.start
	for k := c.closed; (k+1)*int64(time.Second) <= elapsed || last && (len(c.seconds) > 0 || k == 0); k++ {
		s := c.second(c.start + k*int64(time.Second))
		delete(c.seconds, k)
		s.Second = float64(k + 1)
		if last && len(c.seconds) == 0 {
			s.Second = min(s.Second, max(float64(elapsed)/1e9, float64(k)))
		}
		c.pending += s.Pending
		late, past := s.h.Lateness, s.h.PastDue
		s.Pending, s.Inversions = max(c.pending, 0), c.order.add(s.arrivals)
		s.P50, s.P99, s.Max = late.Quantile(.5), late.Quantile(.99), late.Max()
		s.PastDueP50, s.PastDueP99, s.PastDueMax = past.Quantile(.5), past.Quantile(.99), past.Max()
		c.intervals = append(c.intervals, s.Interval)
		c.histograms.Add(s.h)
		c.log.Add(instant(c.start+k*int64(time.Second)), instant(c.start+int64(s.Second*1e9)), late)
		c.closed = k + 1
		all = append(all, s)
	}
	return all
}

// delivery is a delivery at an instant, of a message that was due at another, in Unix ns.
type delivery struct{ came, due, index int64 }

// order counts inversions: messages delivered after a message that was due clearly later.
type order struct {
	run.Order
	queues, producers []int64 // the latest due instant delivered
}

// apart is by how much a message must be due earlier, to be out of order: the resolution of the format.
const apart = int64(time.Millisecond)

// add takes the deliveries of a second, and returns the number out of order.
func (o *order) add(arrivals []delivery) int64 {
	slices.SortFunc(arrivals, func(a, b delivery) int {
		return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.due, b.due))
	})
	before := o.Inversions
	for _, a := range arrivals {
		queue, producer := &o.queues[a.index%int64(len(o.queues))], &o.producers[a.index%int64(len(o.producers))]
		if by := *queue - a.due; by >= apart {
			o.Inversions++
			o.LongestNs = max(o.LongestNs, by)
		}
		if *producer-a.due >= apart {
			o.OfOneProducer++
		}
		*queue, *producer = max(*queue, a.due), max(*producer, a.due)
	}
	return o.Inversions - before
}
