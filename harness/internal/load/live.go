package load

import (
	"errors"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Live shows a run while it lasts to whoever looks, such as a monitoring system, as
// of the last second that ended. All methods may be called at once from many
// goroutines.
type Live struct {
	mu       sync.Mutex
	subject  Subject
	progress Progress
	counts   counts
	sums     run.Histograms
	final    *run.Document
	err      error

	// running is what is known from the beginning, about what Describe says.
	running   run.Document
	about     About
	intervals []run.Interval
	answered  time.Time
	changed   chan struct{}

	// others run at the same time; first is, of such a one, the one that they are those of.
	others []*Live
	first  *Live
}

// Subject is what is being run.
type Subject struct {
	RunID    uint32
	Driver   string
	Queue    string
	Scenario string
	// Worker is empty for the only one.
	Worker string
	// Since is when the run was begun.
	Since time.Time
}

// Snapshot is a run at one instant. Counts are of the measured phase alone.
type Snapshot struct {
	Subject Subject
	// Phase is 0 before the warm-up and after the end.
	Phase   plan.Phase
	Planned int64
	// Counts lacks what only the end tells: lost, and pending and delivered by message;
	// Pending is then what was confirmed and has not come. A duplicate that two members
	// took one copy of each is seen at the end, too.
	Counts     run.Counts
	TakeErrors int64
	// Histograms are nil before the first second.
	Histograms run.Histograms
	// Done says that the run has ended, and the counts are final.
	Done bool
}

// begin makes the run report its progress here too. A nil Live shows nothing.
func (l *Live) begin(e *engine) {
	if l == nil {
		return
	}
	subject := Subject{
		RunID: e.RunID, Driver: e.Driver.Identity().String(), Queue: e.Plan.Queue, Scenario: e.Plan.Name, Since: time.Now(),
	}
	if e.Worker.Shared() {
		subject.Worker = e.Worker.String()
	}
	next := e.Progress
	e.Progress = func(p Progress) {
		l.look(p)
		next(p)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subject, l.progress, l.counts, l.final = subject, Progress{}, counts{}, nil
	l.sums, l.intervals, l.answered = liveHistograms(), nil, time.Time{}
	l.running = e.head()
	l.tell()
}

// liveHistograms are those that are known while a run lasts.
func liveHistograms() run.Histograms {
	interval := func() *run.Histogram { return run.NewHistogram(run.IntervalDigits) }
	return run.Histograms{Lateness: interval(), PastDue: interval(), OfferRTT: interval(), ScheduleLag: interval()}
}

// look keeps a report of a second.
func (l *Live) look(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = p
	if p.Phase == plan.Measured {
		l.err = errors.Join(l.err, l.sums.Lateness.Merge(p.Lateness), l.sums.PastDue.Merge(p.PastDue),
			l.sums.OfferRTT.Merge(p.OfferRTT), l.sums.ScheduleLag.Merge(p.ScheduleLag))
		if l.intervals == nil {
			l.running.Started = time.Now().Add(-time.Duration(p.Interval.Second * float64(time.Second))).UTC()
		}
		l.intervals = append(l.intervals, p.Interval)
	}
	l.tell()
}

// count keeps how the measured phase stands.
func (l *Live) count(c counts) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts = c
}

// silent keeps when a server answered last that does not; the zero time of one that does.
func (l *Live) silent(answered time.Time) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.answered != answered {
		l.answered = answered
		l.tell()
	}
}

// end sets what is shown from now on.
func (l *Live) end(r *run.Document) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.final = r
	l.tell()
}

// ErrNotBegun says that there is no run to look at yet.
var ErrNotBegun = errors.New("no run has begun yet")

// Snapshot tells how the run stands. Its error is ErrNotBegun, or that histograms
// could not be merged, which those of a run always can.
func (l *Live) Snapshot() (Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Snapshot{Subject: l.subject}
	switch {
	case l.subject.Since.IsZero():
		return s, ErrNotBegun
	case l.final != nil:
		s.Done, s.Planned = true, l.final.Scenario.Messages
		s.Counts, s.Histograms = l.final.Counts, l.final.Histograms
		return s, l.err
	}
	s.Phase = l.progress.Phase
	if p := l.progress; p.Phase == plan.Measured {
		s.Planned = p.Planned
		s.Counts = l.soFar()
		s.TakeErrors = l.counts.TakeErrors
	}
	s.Histograms = liveHistograms()
	l.err = errors.Join(l.err, s.Histograms.Add(l.sums))
	s.Histograms.PastDue = nil // its metric is that of whole runs
	return s, l.err
}

// soFar are the counts of the measured phase. The caller holds the lock.
func (l *Live) soFar() run.Counts {
	p := l.progress
	if p.Phase != plan.Measured {
		return run.Counts{}
	}
	return run.Counts{
		Offered: p.Offered, Delivered: p.Delivered, Pending: p.Pending, OfferErrors: p.OfferErrors,
		Duplicate: l.counts.Duplicate, Early: l.counts.Early, Foreign: l.counts.Foreign, Corrupt: l.counts.Corrupt,
	}
}
