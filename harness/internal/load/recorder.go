package load

import (
	"errors"
	"sync"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// maxStripes bounds the memory of the histograms: more goroutines than this share
// them.
const maxStripes = 16

// figure is a histogram of a whole phase, and that of the second under way.
type figure struct{ total, now *run.Histogram }

func newFigure() figure {
	return figure{run.NewHistogram(run.TotalDigits), run.NewHistogram(run.IntervalDigits)}
}

func (f figure) record(ns int64) {
	f.total.Record(ns)
	f.now.Record(ns)
}

// stripe is the figures of a goroutine, or of a few that share it. Its mutex is free
// except when the second is closed.
type stripe struct {
	mu      sync.Mutex
	figures []figure
	latest  *latest // nil where arrivals are not kept
}

// record notes a value of each figure.
func (s *stripe) record(ns ...int64) {
	s.mu.Lock()
	for i, v := range ns {
		s.figures[i].record(v)
	}
	s.mu.Unlock()
}

// arrived notes a delivery, in figures of lateness and past due.
func (s *stripe) arrived(lateness int64, a arrival) {
	s.mu.Lock()
	s.figures[0].record(lateness)
	s.figures[1].record(a.pastDue())
	if s.latest != nil {
		s.latest.add(a)
	}
	s.mu.Unlock()
}

// stripes are the same figures, many times over.
type stripes []*stripe

func newStripes(goroutines, figures int) stripes {
	all := make(stripes, min(max(goroutines, 1), maxStripes))
	for i := range all {
		all[i] = &stripe{}
		for range figures {
			all[i].figures = append(all[i].figures, newFigure())
		}
	}
	return all
}

func (s stripes) of(goroutine int) *stripe { return s[goroutine%len(s)] }

// second takes out what was recorded since the last call. Only one goroutine may call
// it.
func (s stripes) second() ([]*run.Histogram, error) {
	n := len(s[0].figures)
	sums := make([]*run.Histogram, n)
	spare := make([]*run.Histogram, n)
	for k := range n {
		sums[k], spare[k] = run.NewHistogram(run.IntervalDigits), run.NewHistogram(run.IntervalDigits)
	}
	for _, one := range s {
		one.mu.Lock()
		for k := range n {
			one.figures[k].now, spare[k] = spare[k], one.figures[k].now
		}
		one.mu.Unlock()
		for k := range n {
			if err := sums[k].Merge(spare[k]); err != nil {
				return nil, err
			}
			spare[k].Reset()
		}
	}
	return sums, nil
}

// totals are those of the phase so far.
func (s stripes) totals() ([]*run.Histogram, error) {
	var err error
	sums := make([]*run.Histogram, len(s[0].figures))
	for k := range sums {
		sums[k] = run.NewHistogram(run.TotalDigits)
	}
	for _, one := range s {
		one.mu.Lock()
		for k, f := range one.figures {
			err = errors.Join(err, sums[k].Merge(f.total))
		}
		one.mu.Unlock()
	}
	return sums, err
}

// keepLatest has them keep the latest arrivals of a phase of so many messages.
func (s stripes) keepLatest(messages int64) {
	for _, one := range s {
		one.latest = newLatest(messages)
	}
}

// latest are those of all.
func (s stripes) latest(messages int64) []arrival {
	all := newLatest(messages)
	all.all = earliestFirst{}
	for _, one := range s {
		one.mu.Lock()
		for _, a := range one.latest.all {
			all.add(a)
		}
		one.mu.Unlock()
	}
	return all.all
}
