package load

import (
	"errors"
	"sync"

	"github.com/dq-bench/dq-bench/harness/run"
)

// maxRecorders bounds the memory of the histograms: more workers than this share
// recorders.
const maxRecorders = 32

// lateRecorder is one consumer's histograms. Its mutex is free except when the
// collector swaps the interval histogram, once a second.
type lateRecorder struct {
	mu       sync.Mutex
	total    *run.Histogram
	interval *run.Histogram
}

func (r *lateRecorder) record(ns int64) {
	r.mu.Lock()
	r.total.Record(ns)
	r.interval.Record(ns)
	r.mu.Unlock()
}

// offerRecorder is one producer's histograms.
type offerRecorder struct {
	mu  sync.Mutex
	rtt *run.Histogram
	lag *run.Histogram
}

func (r *offerRecorder) record(rtt, lag int64) {
	r.mu.Lock()
	r.rtt.Record(rtt)
	r.lag.Record(lag)
	r.mu.Unlock()
}

// singleRecorder is a histogram that all goroutines share.
type singleRecorder struct {
	mu    sync.Mutex
	total *run.Histogram
}

func (r *singleRecorder) record(ns int64) {
	r.mu.Lock()
	r.total.Record(ns)
	r.mu.Unlock()
}

// recorders are the histograms of one phase.
type recorders struct {
	late   []*lateRecorder
	offers []*offerRecorder
	// removals is nil where nothing is called off.
	removals *singleRecorder
	spare    *run.Histogram // the interval histogram that is not in use
	taken    takenOffers
}

func newRecorders(producers, consumers int) *recorders {
	r := &recorders{spare: run.NewHistogram(run.IntervalDigits)}
	for range min(consumers, maxRecorders) {
		r.late = append(r.late, &lateRecorder{
			total:    run.NewHistogram(run.TotalDigits),
			interval: run.NewHistogram(run.IntervalDigits),
		})
	}
	for range min(producers, maxRecorders) {
		r.offers = append(r.offers, &offerRecorder{
			rtt: run.NewHistogram(run.TotalDigits),
			lag: run.NewHistogram(run.TotalDigits),
		})
	}
	return r
}

func (r *recorders) ofConsumer(c int) *lateRecorder  { return r.late[c%len(r.late)] }
func (r *recorders) ofProducer(p int) *offerRecorder { return r.offers[p%len(r.offers)] }

// takeInterval adds what was recorded since the last call to into. Only one
// goroutine may call it.
func (r *recorders) takeInterval(into *run.Histogram) error {
	for _, rec := range r.late {
		r.spare.Reset()
		rec.mu.Lock()
		rec.interval, r.spare = r.spare, rec.interval
		rec.mu.Unlock()
		if err := into.Merge(r.spare); err != nil {
			return err
		}
	}
	return nil
}

// takenOffers is what was taken out of the recorders of offers before their end.
type takenOffers struct {
	mu       sync.Mutex
	rtt, lag *run.Histogram // nil if nothing was
	// spareRTT and spareLag are empty histograms to exchange for full ones.
	spareRTT, spareLag *run.Histogram
}

// offersSoFar returns the round trips and lags up to now. A recorder is locked only
// for the exchange of two pointers.
func (r *recorders) offersSoFar() (rtt, lag *run.Histogram, err error) {
	t := &r.taken
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rtt == nil {
		t.rtt, t.lag = run.NewHistogram(run.TotalDigits), run.NewHistogram(run.TotalDigits)
		t.spareRTT, t.spareLag = run.NewHistogram(run.TotalDigits), run.NewHistogram(run.TotalDigits)
	}
	for _, rec := range r.offers {
		t.spareRTT.Reset()
		t.spareLag.Reset()
		rec.mu.Lock()
		rec.rtt, t.spareRTT = t.spareRTT, rec.rtt
		rec.lag, t.spareLag = t.spareLag, rec.lag
		rec.mu.Unlock()
		err = errors.Join(err, t.rtt.Merge(t.spareRTT), t.lag.Merge(t.spareLag))
	}
	rtt, lag = run.NewHistogram(run.TotalDigits), run.NewHistogram(run.TotalDigits)
	return rtt, lag, errors.Join(err, rtt.Merge(t.rtt), lag.Merge(t.lag))
}

// totals merges the histograms of all workers.
func (r *recorders) totals() (run.Histograms, error) {
	all := run.NewHistograms()
	for _, rec := range r.late {
		rec.mu.Lock()
		err := all.Lateness.Merge(rec.total)
		rec.mu.Unlock()
		if err != nil {
			return all, err
		}
	}
	r.taken.mu.Lock()
	defer r.taken.mu.Unlock()
	if err := errors.Join(all.OfferRTT.Merge(r.taken.rtt), all.ScheduleLag.Merge(r.taken.lag)); err != nil {
		return all, err
	}
	for _, rec := range r.offers {
		rec.mu.Lock()
		err := all.OfferRTT.Merge(rec.rtt)
		if err == nil {
			err = all.ScheduleLag.Merge(rec.lag)
		}
		rec.mu.Unlock()
		if err != nil {
			return all, err
		}
	}
	if r.removals != nil {
		r.removals.mu.Lock()
		defer r.removals.mu.Unlock()
		all.RemoveRTT = r.removals.total
	}
	return all, nil
}
