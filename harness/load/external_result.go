package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

// result checks the answer and makes it a run file.
func (r *externalRun) result(encoded json.RawMessage, interrupted bool) (*Result, error) {
	var a loadAnswer
	if err := json.Unmarshal(encoded, &a); err != nil {
		return nil, err
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	ns, err := strconv.ParseInt(a.StartedUnixNs.String(), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("started_unix_ns: %w", err)
	}
	started := time.Unix(0, ns).UTC()
	log, err := r.log(started, a)
	if err != nil {
		return nil, err
	}
	r.explain(a, interrupted)
	identity := r.program.Identity()
	return &Result{Log: log, Report: &run.Document{
		Schema: run.Schema, RunID: fmt.Sprintf("%08x", r.o.RunID),
		Driver:   run.Driver{Name: identity.Name, Version: identity.Version},
		Scenario: r.o.Plan.scenario(), Environment: environment(),
		Started: started, ElapsedSeconds: a.ElapsedSeconds,
		Counts: a.Counts, Histograms: a.Histograms, Intervals: a.Intervals, Interrupted: interrupted,
		Measured: run.InProgram,
	}}, nil
}

// log makes the seconds an interval log; of a program that keeps no histograms of
// them, it has one line.
func (r *externalRun) log(started time.Time, a loadAnswer) (*run.LatenessLog, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	log, err := run.NewLatenessLog(started)
	if err != nil {
		return nil, err
	}
	at := func(second float64) time.Time { return started.Add(time.Duration(second * float64(time.Second))) }
	logged, before := int64(0), 0.
	for _, s := range r.seconds {
		h := run.NewHistogram(run.IntervalDigits)
		if s.lateness != nil {
			if err := json.Unmarshal(s.lateness, h); err != nil {
				return nil, fmt.Errorf("progress event at %g s: lateness: %w", s.end, err)
			}
		}
		if err := log.Add(at(before), at(max(s.end, before)), h); err != nil {
			return nil, err
		}
		logged, before = logged+h.Count(), max(s.end, before)
	}
	if logged == a.Histograms.Lateness.Count() {
		return log, nil
	}
	if logged > 0 {
		r.note("%s is one interval: the seconds hold %d of %d values of lateness", run.LogFile, logged, a.Histograms.Lateness.Count())
	}
	if log, err = run.NewLatenessLog(started); err != nil {
		return nil, err
	}
	return log, log.Add(started, at(a.ElapsedSeconds), a.Histograms.Lateness)
}

// check refuses an answer whose figures contradict each other.
func (a loadAnswer) check() error {
	h, c := a.Histograms, a.Counts
	switch {
	case h.Lateness == nil || h.OfferRTT == nil || h.ScheduleLag == nil:
		return errors.New("expected the histograms lateness, offer_rtt and schedule_lag")
	case h.Lateness.Count() != c.Delivered:
		return fmt.Errorf("%d messages delivered, but %d values of lateness", c.Delivered, h.Lateness.Count())
	case c.Offered != c.Delivered+c.Pending+c.Lost:
		return fmt.Errorf("expected offered = delivered + pending + lost, got %+v", c)
	}
	return nil
}

// explain notes what the counts do not say.
func (r *externalRun) explain(a loadAnswer, interrupted bool) {
	r.notes = append(r.notes, a.Notes...)
	if n := a.Warmup.Lost + a.Warmup.Pending; n > 0 && !interrupted {
		r.note("%d warm-up messages never came", n)
	}
	if n := a.Warmup.OfferErrors; n > 0 {
		r.note("%d offers of the warm-up failed", n)
	}
	if len(a.Notes) > 0 {
		return // a program that explains itself has said the rest
	}
	planned := r.o.Plan.scenario().Messages
	if n := planned - a.Histograms.OfferRTT.Count(); n > 0 && !interrupted {
		r.note("%d of the %d planned messages were not offered: the rate of %s was not reached", n, planned, r.o.Plan.Rate)
	}
	if n := a.Counts.OfferErrors; n > 0 {
		r.note("%d offers failed", n)
	}
	if a.TakeErrors > 0 {
		r.note("%d takes failed", a.TakeErrors)
	}
	if n := a.Counts.Foreign; n > 0 {
		r.note("%d values on the queue were not of this run", n)
	}
}
