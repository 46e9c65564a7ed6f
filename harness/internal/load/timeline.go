package load

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// timeline joins the seconds that the parts tell into those of the run.
type timeline struct {
	phase    plan.Phase
	start    time.Time
	planned  int64
	length   time.Duration // to the last due instant
	progress func(Progress)

	mu   sync.Mutex
	open map[int64]*moment // by the second they end in, from 1
	// told is the last second that each part has told of; it has no entry for a part
	// that has ended.
	told        map[part]int64
	outstanding map[part]int64
	closed      int64 // the last second that was closed
	sum         counts
	lateness    *run.Histogram // of all closed seconds
	intervals   []run.Interval
	log         *run.LatenessLog
	err         error
}

// moment is a second of the run.
type moment struct {
	end                         float64
	offered, delivered, failed  int64
	lateness, pastDue, rtt, lag *run.Histogram
	outstanding                 int64
}

func newMoment() *moment {
	interval := func() *run.Histogram { return run.NewHistogram(run.IntervalDigits) }
	return &moment{lateness: interval(), pastDue: interval(), rtt: interval(), lag: interval()}
}

// behind is how many seconds a part may be behind the others before they go on
// without it.
const behind = 3

func newTimeline(phase plan.Phase, p plan.PhasePlan, planned int64, start time.Time, progress func(Progress)) *timeline {
	t := &timeline{
		phase: phase, start: start, planned: planned, length: p.Length(), progress: progress,
		open: map[int64]*moment{}, told: map[part]int64{}, outstanding: map[part]int64{},
		lateness: run.NewHistogram(run.IntervalDigits),
	}
	t.log, t.err = run.NewLatenessLog(start)
	return t
}

// join has the timeline wait for what a part tells from now on.
func (t *timeline) join(p part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told[p] = max(int64(time.Since(t.start)/time.Second), t.closed)
}

// leave has it wait no longer.
func (t *timeline) leave(p part) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.told, p)
	t.advance()
}

// tell adds a second of a part.
func (t *timeline) tell(p part, s second) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := max(int64(math.Ceil(s.End-1e-9)), t.closed+1, 1)
	m := t.open[k]
	if m == nil {
		m = newMoment()
		t.open[k] = m
	}
	m.end = max(m.end, s.End)
	m.offered, m.delivered, m.failed = m.offered+s.Offered, m.delivered+s.Delivered, m.failed+s.Failed
	t.outstanding[p] = s.Outstanding
	t.err = errors.Join(t.err, m.lateness.Merge(s.Lateness), m.pastDue.Merge(s.PastDue), m.rtt.Merge(s.OfferRTT), m.lag.Merge(s.ScheduleLag))
	if _, there := t.told[p]; there {
		t.told[p] = max(t.told[p], k)
	}
	t.advance()
}

// advance closes the seconds that all parts have told of.
func (t *timeline) advance() {
	if len(t.told) == 0 {
		return
	}
	all, furthest := int64(math.MaxInt64), int64(0)
	for _, k := range t.told {
		all, furthest = min(all, k), max(furthest, k)
	}
	for k := t.closed + 1; k <= max(all, furthest-behind); k++ {
		t.close(k, false)
	}
}

func (t *timeline) close(k int64, last bool) {
	m := t.open[k]
	delete(t.open, k)
	t.closed = k
	if m == nil {
		return
	}
	for _, n := range t.outstanding {
		m.outstanding += n
	}
	t.sum.Confirmed += m.offered
	t.sum.Delivered += m.delivered
	t.sum.Failed += m.failed
	t.err = errors.Join(t.err, t.lateness.Merge(m.lateness))
	recent := m.lateness
	if last {
		recent = t.lateness
	}
	interval := run.Interval{
		Second: m.end, Offered: m.offered, Delivered: m.delivered, Pending: m.outstanding,
		P50: m.lateness.Quantile(.5), P99: m.lateness.Quantile(.99), Max: m.lateness.Max(),
		PastDueP50: m.pastDue.Quantile(.5), PastDueP99: m.pastDue.Quantile(.99), PastDueMax: m.pastDue.Max(),
	}
	t.intervals = append(t.intervals, interval)
	if t.log != nil {
		t.err = errors.Join(t.err, t.log.Add(t.at(float64(k-1)), t.at(m.end), m.lateness))
	}
	t.progress(Progress{
		Phase: t.phase, Planned: t.planned, Offered: t.sum.Confirmed, Delivered: t.sum.Delivered, Pending: max(m.outstanding, 0),
		OfferErrors: t.sum.Failed, P99: time.Duration(recent.Quantile(.99)), HasP99: recent.Count() > 0,
		Left: max(t.length-time.Duration(m.end*float64(time.Second)), 0), Last: last, Interval: interval,
		Lateness: m.lateness, PastDue: m.pastDue, OfferRTT: m.rtt, ScheduleLag: m.lag,
	})
}

func (t *timeline) at(second float64) time.Time {
	return t.start.Add(time.Duration(second * float64(time.Second)))
}

// finish closes what is open, once all parts have left.
func (t *timeline) finish() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	furthest := t.closed
	for k := range t.open {
		furthest = max(furthest, k)
	}
	if furthest == t.closed {
		furthest++
		t.open[furthest] = newMoment()
		t.open[furthest].end = time.Since(t.start).Seconds()
	}
	for k := t.closed + 1; k <= furthest; k++ {
		t.close(k, k == furthest)
	}
	return t.err
}
