package load

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// About is what the starter of a run knows and the run does not.
type About struct {
	Tool   run.Tool
	Server *run.Server
	Labels map[string]string
	// Turn says which run of several it is, such as "run 2 of 4"; empty for the only one.
	Turn string
	// Name is what the series calls it, empty of the only run; Alike says that another run of it has the same implementation.
	Name  string
	Alike bool
}

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

// tell wakes those who wait for Changed. The caller holds the lock.
func (l *Live) tell() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	if l.first != nil {
		l.first.mu.Lock()
		defer l.first.mu.Unlock()
		l.first.tell()
	}
}

// Running is a run while it lasts.
type Running struct {
	// Phase is 0 before the warm-up.
	Phase plan.Phase
	// Planned messages are to be offered in the measured phase, 0 before that.
	Planned int64
	// Document is as much as is known of the run document, as of the last second that
	// ended: it has no verdict, and of the counts those of a Snapshot. Its histograms have
	// run.IntervalDigits. It is nobody else's.
	Document *run.Document
	// Ended says that the load is over; the document of the run itself follows.
	Ended bool
	// Turn, Name and Alike are those of About.
	Turn, Name string
	Alike      bool
	// Answered is when the server answered last, if it does not answer now; else the zero time. Nobody asks a server that
	// the plan breaks.
	Answered time.Time
}

// Running tells how the run stands. Its errors are those of Snapshot.
func (l *Live) Running() (Running, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subject.Since.IsZero() {
		return Running{}, ErrNotBegun
	}
	d := l.running
	d.Tool, d.Server, d.Labels = l.about.Tool, l.about.Server, l.about.Labels
	d.Counts, d.Histograms, d.Intervals = l.soFar(), liveHistograms(), slices.Clone(l.intervals)
	if n := len(d.Intervals); n > 0 {
		d.ElapsedSeconds = d.Intervals[n-1].Second
	}
	l.err = errors.Join(l.err, d.Histograms.Add(l.sums))
	r := Running{
		Phase: l.progress.Phase, Document: &d, Ended: l.final != nil, Answered: l.answered,
		Turn: l.about.Turn, Name: l.about.Name, Alike: l.about.Alike,
	}
	if r.Phase == plan.Measured {
		r.Planned = l.progress.Planned
	}
	return r, l.err
}

// head is what is known of the document before the run.
func (e *engine) head() run.Document {
	identity := e.identity()
	return run.Document{
		Schema: run.Schema, RunID: fmt.Sprintf("%08x", e.RunID), Driver: run.Driver{Name: identity.Name, Version: identity.Version},
		Scenario: e.scenario(), Environment: e.environment(), Format: e.format(),
	}
}
