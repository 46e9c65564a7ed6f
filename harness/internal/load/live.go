package load

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Live shows a run while it lasts to whoever looks, as of the last second that ended. All methods may
// be called at once from many goroutines.
type Live struct {
	mu       sync.Mutex
	engine   *engine // nil before the run
	progress Progress
	final    *run.Document
	about    About
	answered time.Time
	changed  chan struct{}

	// others run at the same time; first is, of such a one, the Live that it was split from.
	others []*Live
	first  *Live
}

// About names a run for its starter.
type About struct {
	Tool   run.Tool
	Server *run.Server
	Labels map[string]string
	// Turn says which run of several it is, such as "run 2 of 4"; empty for the only one.
	Turn string
	// Name is the name in the series, empty of the only run; Alike says that another run of it has the same implementation.
	Name  string
	Alike bool
}

// Running is a run while it lasts.
type Running struct {
	// Phase is 0 before the warm-up.
	Phase plan.Phase
	// Planned messages are to be offered in the measured phase, 0 before that.
	Planned int64
	// Document is the run document as of the last second that ended: without a verdict, and without what
	// only the end tells: what is lost, and pending by message. Its histograms have run.IntervalDigits.
	// After the end it is the document of the run. It belongs to the caller.
	Document *run.Document
	// TakeErrors counts takes that failed.
	TakeErrors int64
	// Ended says that the load is over; the document of the run itself follows.
	Ended bool
	// Turn, Name and Alike come from About.
	Turn, Name string
	Alike      bool
	// Answered is when the server answered last, if it does not answer now; else the zero time. Nobody asks a server that
	// the plan breaks.
	Answered time.Time
}

// ErrNotBegun says that there is no run to look at yet.
var ErrNotBegun = errors.New("no run has begun yet")

// Describe says what the document of the next run is to say besides. A nil Live takes
// nothing.
func (l *Live) Describe(a About) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.about = a
}

// begin makes the run report its progress here too. A nil Live shows nothing.
func (l *Live) begin(e *engine) {
	if l == nil {
		return
	}
	next := e.Progress
	e.Progress = func(p Progress) {
		l.set(func() { l.progress = p })
		next(p)
	}
	l.set(func() { l.engine, l.progress, l.final, l.answered = e, Progress{}, nil, time.Time{} })
}

// end sets what is shown from now on.
func (l *Live) end(r *run.Document) {
	if l != nil {
		l.set(func() { l.final = r })
	}
}

// silent keeps when a server answered last that does not; the zero time of one that does.
func (l *Live) silent(answered time.Time) {
	if l != nil {
		l.set(func() { l.answered = answered })
	}
}

// set changes what is shown, and wakes who waits for Changed.
func (l *Live) set(change func()) {
	l.mu.Lock()
	change()
	first := l.first
	l.wake()
	l.mu.Unlock()
	if first != nil {
		first.mu.Lock()
		defer first.mu.Unlock()
		first.wake()
	}
}

func (l *Live) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Split returns what shows each of n runs at the same time, the first of which is l. They stay the same as long as there
// are as many. A nil Live has nil ones.
func (l *Live) Split(n int) []*Live {
	if l == nil {
		return make([]*Live, n)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.others) != n-1 {
		l.others = nil
		for range n - 1 {
			l.others = append(l.others, &Live{first: l})
		}
	}
	return append([]*Live{l}, l.others...)
}

// All are those of Split, l alone before that.
func (l *Live) All() []*Live {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Live{l}, l.others...)
}

// Changed is closed when there is something newer to see than there was at the call, of any
// of All.
func (l *Live) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// Running tells how the run stands. Its error is ErrNotBegun.
func (l *Live) Running() (Running, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.engine == nil {
		return Running{}, ErrNotBegun
	}
	r := Running{
		Phase: l.progress.Phase, Document: l.engine.soFar(), Ended: l.final != nil, Answered: l.answered,
		Turn: l.about.Turn, Name: l.about.Name, Alike: l.about.Alike,
	}
	if p := l.engine.phaseOf(plan.Measured); p != nil {
		r.TakeErrors = p.failedTakes()
	}
	if l.final != nil {
		final := *l.final
		r.Document = &final
	}
	d := r.Document
	d.Tool, d.Server, d.Labels = l.about.Tool, l.about.Server, l.about.Labels
	if r.Phase == plan.Measured {
		r.Planned = l.progress.Planned
	}
	return r, nil
}

func (e *engine) phaseOf(which plan.Phase) *phase {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.phases[which]
}

// soFar is the document of the seconds that have ended.
func (e *engine) soFar() *run.Document {
	d := e.head()
	d.Histograms = liveHistograms()
	p := e.phaseOf(plan.Measured)
	if p == nil {
		return &d
	}
	c := p.collector
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = d.Histograms.Add(c.sums) // of the same bounds
	d.Started, d.Intervals = p.start.UTC(), slices.Clone(c.intervals)
	d.Counts = c.counts
	d.Counts.Pending, d.Counts.OfferErrors = max(c.pending, 0), c.failed
	for _, i := range c.intervals {
		d.ElapsedSeconds = i.Second
		d.Counts.Offered += i.Offered
		d.Counts.Delivered += i.Delivered
	}
	return &d
}

func (c *collector) failedTakes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.takeErrors
}

// liveHistograms are known while a run lasts.
func liveHistograms() run.Histograms {
	interval := func() *run.Histogram { return run.NewHistogram(run.IntervalDigits) }
	return run.Histograms{Lateness: interval(), PastDue: interval(), OfferRTT: interval(), ScheduleLag: interval()}
}
