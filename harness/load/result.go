package load

import (
	"fmt"
	"runtime"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// clockTolerance is how far the wall clock may move against the monotonic one
// before it is worth a note: half the resolution of due times.
const clockTolerance = 500 * time.Microsecond

// result strikes the balance of the measured phase.
func (r *runner) result(s *stage, c *collector, elapsed time.Duration) (*Result, error) {
	if c.err != nil {
		return nil, c.err
	}
	histograms, err := s.recorder.totals()
	if err != nil {
		return nil, err
	}
	balance := s.ledger.close()
	share, err := r.share(s.ledger)
	if err != nil {
		return nil, err
	}
	identity := r.fleet.identity()
	return &Result{Log: c.log, Report: &run.Document{
		Schema:      run.Schema,
		RunID:       fmt.Sprintf("%08x", r.id),
		Driver:      run.Driver{Name: identity.Name, Version: identity.Version},
		Scenario:    r.plan.scenario(),
		Environment: r.environment(),
		Started:     s.start.UTC(), ElapsedSeconds: elapsed.Seconds(),
		Counts: run.Counts{
			Offered: balance.offered, Delivered: balance.delivered, Lost: balance.lost, Pending: balance.pending,
			NotDue: balance.notDue, Removed: balance.removed, Revived: s.ledger.revived.Load(),
			Duplicate: s.ledger.duplicate.Load(), Early: s.ledger.early.Load(),
			OfferErrors: s.ledger.unknown(), Foreign: r.foreign.Load(),
		},
		Histograms: histograms, Intervals: c.intervals, Worker: share,
		Measured: r.fleet.measured(),
	}}, nil
}

func environment() run.Environment {
	return run.Environment{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		GoVersion: runtime.Version(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
}

// explain adds the notes on what the counts do not say.
func (r *runner) explain(s *stage, out *run.Document) {
	if n := s.ledger.own() - s.ledger.attempted.Load(); n > 0 && !out.Interrupted {
		r.note("%d of the %d planned messages were not offered: the rate of %s was not reached", n, s.ledger.own(), s.schedule.meanRate())
	}
	if n := out.Counts.OfferErrors; n > 0 {
		if err := s.failure.get(); err != nil {
			r.note("%d offers failed, the first: %v", n, err)
		} else {
			r.note("%d offers were never answered", n)
		}
	}
	if n := r.takeErrors.Load(); n > 0 {
		r.note("%d takes failed, the first: %v", n, r.takeFailure.get())
	}
	if n := s.tooLate.Load(); n > 0 {
		r.note("%d removals came too late: the message was due, or on its way", n)
	}
	if n := s.removeErrors.Load(); n > 0 {
		r.note("%d removals failed, the first: %v", n, s.removeFailure.get())
	}
	if n := out.Counts.Foreign; n > 0 {
		r.note("%d values on the queue were not of this run", n)
	}
	if drift := newEpoch().drift(r.epoch.zero); drift.Abs() > clockTolerance {
		r.note("the wall clock was set by %s during the run; due times follow it, and lateness shows that", -drift)
	}
	out.Notes = append(out.Notes, r.notes...)
}
