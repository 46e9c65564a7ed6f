package load

import (
	"errors"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// Live shows a run while it lasts to whoever looks, such as a monitoring system.
// Looking costs the run next to nothing: counters are read as they stand, and
// histograms are taken out of the recorders by exchanging them for empty ones.
// All methods may be called at once from many goroutines.
type Live struct {
	mu       sync.Mutex
	subject  Subject
	progress Progress
	run      *runner
	late     *run.Histogram
	final    *run.Document
	err      error
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
	Phase   Phase
	Planned int64
	// Counts lacks what only the end tells: lost, and pending and delivered by
	// message; Pending is then what was confirmed and has not come.
	Counts     run.Counts
	TakeErrors int64
	// Histograms may be nil while an external program runs the plan by itself.
	Histograms run.Histograms
	// Done says that the run has ended, and the counts are final.
	Done bool
}

// begin makes the run report its progress here too. A nil Live shows nothing.
func (l *Live) begin(o *Options) {
	if l == nil {
		return
	}
	identity := o.Driver.Identity()
	subject := Subject{
		RunID: o.RunID, Driver: identity.String(), Queue: o.Plan.Queue, Scenario: o.Plan.Name, Since: time.Now(),
	}
	if o.Worker.Shared() {
		subject.Worker = o.Worker.String()
	}
	next := o.Progress
	o.Progress = func(p Progress) {
		l.look(p)
		if next != nil {
			next(p)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subject, l.progress, l.run, l.final = subject, Progress{}, nil, nil
	l.late = run.NewHistogram(run.IntervalDigits)
}

// attach gives access to a run in this process.
func (l *Live) attach(r *runner) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.run = r
}

// look keeps a report of a second.
func (l *Live) look(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.progress = p
	if p.Phase == Measured && p.Lateness != nil {
		l.err = errors.Join(l.err, l.late.Merge(p.Lateness))
	}
}

// end sets what is shown from now on.
func (l *Live) end(r *run.Document) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.final, l.run = r, nil
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
	case l.run != nil:
		return s, errors.Join(l.err, l.here(&s))
	default:
		s.Phase = l.progress.Phase
		if p := l.progress; p.Phase == Measured {
			s.Planned = p.Planned
			s.Counts = run.Counts{Offered: p.Offered, Delivered: p.Delivered, Pending: p.Pending, OfferErrors: p.OfferErrors}
		}
		if l.late.Count() > 0 { // the program keeps one
			return s, errors.Join(l.err, l.lateness(&s))
		}
	}
	return s, l.err
}

// here reads the counters and histograms of a run in this process.
func (l *Live) here(s *Snapshot) error {
	stage := l.run.stages[Measured]
	s.Phase, s.Planned = l.progress.Phase, stage.ledger.own()
	s.Counts = run.Counts{
		Offered: stage.ledger.confirmed.Load(), Delivered: stage.ledger.delivered.Load(), Duplicate: stage.ledger.duplicate.Load(),
		Early: stage.ledger.early.Load(), Pending: max(stage.ledger.outstanding.Load(), 0), Revived: stage.ledger.revived.Load(),
		OfferErrors: stage.ledger.failed.Load(), Foreign: l.run.foreign.Load(),
	}
	s.TakeErrors = l.run.takeErrors.Load()
	err := l.lateness(s)
	var errOffers error
	s.Histograms.OfferRTT, s.Histograms.ScheduleLag, errOffers = stage.recorder.offersSoFar()
	return errors.Join(err, errOffers)
}

// lateness copies the histogram of the seconds so far.
func (l *Live) lateness(s *Snapshot) error {
	s.Histograms.Lateness = run.NewHistogram(run.IntervalDigits)
	return s.Histograms.Lateness.Merge(l.late)
}
