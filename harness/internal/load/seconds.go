package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// settled is how long after its end a second is closed: what agents report later counts for the next
// one that is open.
const settled = 500 * time.Millisecond

// second is a second that is not over yet.
type second struct {
	offered, delivered, failed, pending, skipped int64
	lateness, pastDue, rtt, lag                  *run.Histogram
	arrivals                                     []delivery
}

func newSecond() *second {
	h := func() *run.Histogram { return run.NewHistogram(run.IntervalDigits) }
	return &second{lateness: h(), pastDue: h(), rtt: h(), lag: h()}
}

// close closes the seconds that ended before an instant, Unix ns; with last all that there is.
func (c *collector) close(now int64, last bool) []closedSecond {
	c.mu.Lock()
	defer c.mu.Unlock()
	elapsed := now - c.start
	var all []closedSecond
	for k := c.closed; (k+1)*int64(time.Second) <= elapsed || last && (len(c.seconds) > 0 || k == 0); k++ {
		s := c.seconds[k]
		if s == nil {
			s = newSecond()
		}
		delete(c.seconds, k)
		end := float64(k + 1)
		if last && len(c.seconds) == 0 {
			end = min(end, max(float64(elapsed)/1e9, float64(k)))
		}
		c.pending += s.pending
		i := run.Interval{
			Second: end, Offered: s.offered, Delivered: s.delivered, Pending: max(c.pending, 0),
			P50: s.lateness.Quantile(.5), P99: s.lateness.Quantile(.99), Max: s.lateness.Max(),
			PastDueP50: s.pastDue.Quantile(.5), PastDueP99: s.pastDue.Quantile(.99), PastDueMax: s.pastDue.Max(),
			Unsent: s.skipped, Inversions: c.order.add(s.arrivals),
		}
		c.intervals = append(c.intervals, i)
		for _, pair := range [][2]*run.Histogram{
			{c.sums.Lateness, s.lateness}, {c.sums.PastDue, s.pastDue}, {c.sums.OfferRTT, s.rtt}, {c.sums.ScheduleLag, s.lag},
		} {
			_ = pair[0].Merge(pair[1]) // of the same bounds
		}
		at := func(second float64) time.Time { return time.Unix(0, c.start+int64(second*1e9)) }
		if c.log != nil {
			_ = c.log.Add(at(float64(k)), at(end), s.lateness)
		}
		c.closed = k + 1
		all = append(all, closedSecond{i, s})
	}
	return all
}

// closedSecond is a second that nothing is added to any more.
type closedSecond struct {
	run.Interval
	*second
}

// progress tells of a second.
func (p *phase) progress(s closedSecond, last bool) Progress {
	c := p.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	told := Progress{
		Phase: p.which, Planned: c.n, Offered: c.accepted, Delivered: c.histograms.Lateness.Count(), Pending: max(c.pending, 0), OfferErrors: c.failed,
		Left: max(p.plan.Length()-time.Duration(s.Second*float64(time.Second)), 0), Last: last, Lateness: s.lateness, OfferRTT: s.rtt,
	}
	if last {
		told.Lateness = c.sums.Lateness
	}
	return told
}

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
