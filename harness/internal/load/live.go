package load

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// progress is the progress at the end of a second. The engine's lock is held.
func (p *phase) progress(s *second, last bool) string {
	name := map[plan.Phase]string{plan.Warmup: "warm-up", plan.Measured: "load"}[p.which]
	planned, p99, failed, late := fmt.Sprintf("/%d", p.n), "-", "", s.h.Lateness
	if p.which == plan.Warmup && p.plan.WarmupEnds {
		planned = ""
	}
	if last {
		late = p.histograms.Lateness
	}
	if late.Count() > 0 {
		p99 = run.FormatNs(late.Quantile(.99))
	}
	if n := p.failed(); n > 0 {
		failed = fmt.Sprintf("  failed %d", n)
	}
	delivered, left := p.histograms.Lateness.Count(), max(p.plan.Length()-time.Duration(s.Second*float64(time.Second)), 0)
	return fmt.Sprintf("%s  offered %d%s  delivered %d  pending %d%s  p99 %s  left %s",
		name, p.told[program.Offered], planned, delivered, max(p.pending, 0), failed, p99, left.Round(time.Second))
}

// ProgressWriter writes progress to w: for a terminal one line again and again, else a line every ten seconds and at the end of a phase.
func ProgressWriter(w io.Writer, rewrite bool) func(text string, last bool) {
	seconds := 0
	return func(text string, last bool) {
		seconds++
		switch {
		case rewrite:
			fmt.Fprintf(w, "\r%s\x1b[K%s", text, map[bool]string{true: "\n"}[last]) // erases the rest of a longer line before
		case last || seconds%10 == 0:
			fmt.Fprintln(w, text)
		}
	}
}

// Live shows the runs under way to its viewers, as of the last second that ended.
type Live struct{ runs sync.Map } // of *engine, the last one of each About.Side

// About names a run for its starter.
type About struct {
	Tool   run.Tool
	Labels map[string]string
	// Turn says which run of several it is, such as "run 2 of 4"; empty for the only one.
	Turn string
	// Name is the name in the series, empty of the only run.
	Name string
	// Side is its place among the sides that run at the same time; 0 for one that runs by itself.
	Side int
}

// Running is a run while it lasts.
type Running struct {
	About
	// Phase is 0 before the warm-up.
	Phase plan.Phase
	// Document is the run document as of the last second that ended: without a verdict, and without the results of the end: lost
	// messages, and pending by message. After the end it is the document of the run. It belongs to the caller.
	Document *run.Document
	// Ended says that the load is over.
	Ended bool
}

// Running reports the states of the runs by their sides, without a side that has not begun. It may be called from many goroutines.
func (l *Live) Running() (all []Running) {
	l.runs.Range(func(_, e any) bool {
		all = append(all, e.(*engine).running()) //nolint:forcetypeassert // only Run stores
		return true
	})
	slices.SortFunc(all, func(a, b Running) int { return cmp.Compare(a.Side, b.Side) })
	return all
}

func (e *engine) running() Running {
	d := e.head()
	d.Histograms = run.NewHistograms()
	e.mu.Lock()
	defer e.mu.Unlock()
	r := Running{About: e.About, Document: d, Ended: e.final != nil}
	if e.phases[plan.Warmup] != nil {
		r.Phase = plan.Warmup
	}
	if p := e.phases[plan.Measured]; p != nil {
		r.Phase = plan.Measured
		d.Histograms.Add(p.histograms)
		d.Started, d.Intervals, d.Counts = p.start.UTC(), slices.Clone(p.intervals), p.counts
		e.meter.spread(d.Intervals, p.startNs)
		d.Counts.Pending, d.Counts.OfferErrors = max(p.pending, 0), p.failed()
		d.Counts.Foreign, d.Counts.Corrupt = p.told[program.Foreign], p.told[program.Corrupt]
		for _, i := range p.intervals {
			d.ElapsedSeconds = i.Second
			d.Counts.Offered += i.Offered
			d.Counts.Delivered += i.Delivered
		}
	}
	if r.Ended {
		*d = *e.final
	}
	return r
}

// second is a second that is not over yet. Its Pending is by how many messages more are pending.
type second struct {
	run.Interval
	h        run.Histograms
	arrivals []delivery
}

// second is the second of an instant, or the oldest that is not closed.
func (p *phase) second(at int64) *second {
	k := max((at-p.startNs)/int64(time.Second), p.closed)
	s := p.seconds[k]
	if s == nil {
		s = &second{h: run.NewHistograms()}
		p.seconds[k] = s
	}
	return s
}

// close closes the seconds that ended before an instant, with last all that there is, and reports the progress.
func (p *phase) close(until time.Time, last bool) {
	e, progress := p.engine, ""
	e.mu.Lock()
	elapsed := e.epoch.Wall(until) - p.startNs
	for k := p.closed; (k+1)*int64(time.Second) <= elapsed || last && (len(p.seconds) > 0 || k == 0); k++ {
		s := p.second(p.startNs + k*int64(time.Second))
		delete(p.seconds, k)
		s.Second = float64(k + 1)
		if last && len(p.seconds) == 0 {
			s.Second = min(s.Second, max(float64(elapsed)/1e9, float64(k)))
		}
		p.pending += s.Pending
		late, past := s.h.Lateness, s.h.PastDue
		s.Delivered, s.Pending, s.Inversions = late.Count(), max(p.pending, 0), p.order.add(s.arrivals)
		s.P50, s.P99, s.Max = late.Quantile(.5), late.Quantile(.99), late.Max()
		s.PastDueP50, s.PastDueP99, s.PastDueMax = past.Quantile(.5), past.Quantile(.99), past.Max()
		p.intervals = append(p.intervals, s.Interval)
		p.histograms.Add(s.h)
		p.log.Add(instant(p.startNs+k*int64(time.Second)), instant(p.startNs+int64(s.Second*1e9)), late)
		if p.closed = k + 1; p.which == plan.Warmup && late.Count() > 0 && s.h.OfferRTT.Count() > 0 {
			p.recent = append(p.recent, s.h)
		}
		progress = p.progress(s, last)
	}
	e.mu.Unlock()
	if progress != "" && e.Progress != nil {
		e.Progress(progress, last)
	}
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
	slices.SortFunc(arrivals, func(a, b delivery) int { return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.due, b.due)) })
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
