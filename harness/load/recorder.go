package load

import (
	"errors"
	"sync"

	"github.com/dq-bench/dq-bench/harness/report"
)

// maxRecorders bounds the memory of the histograms: more workers than this share
// recorders.
const maxRecorders = 32

// lateRecorder is one consumer's histograms. Its mutex is free except when the
// collector swaps the interval histogram, once a second.
type lateRecorder struct {
	mu       sync.Mutex
	total    *report.Histogram
	interval *report.Histogram
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
	rtt *report.Histogram
	lag *report.Histogram
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
	total *report.Histogram
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
	spare    *report.Histogram // the interval histogram that is not in use
	taken    takenOffers
}

func newRecorders(producers, consumers int) *recorders {
	r := &recorders{spare: report.NewHistogram(report.IntervalDigits)}
	for range min(consumers, maxRecorders) {
		r.late = append(r.late, &lateRecorder{
			total:    report.NewHistogram(report.TotalDigits),
			interval: report.NewHistogram(report.IntervalDigits),
		})
	}
	for range min(producers, maxRecorders) {
		r.offers = append(r.offers, &offerRecorder{
			rtt: report.NewHistogram(report.TotalDigits),
			lag: report.NewHistogram(report.TotalDigits),
		})
	}
	return r
}

func (r *recorders) ofConsumer(c int) *lateRecorder  { return r.late[c%len(r.late)] }
func (r *recorders) ofProducer(p int) *offerRecorder { return r.offers[p%len(r.offers)] }

// takeInterval adds what was recorded since the last call to into. Only one
// goroutine may call it.
func (r *recorders) takeInterval(into *report.Histogram) error {
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
	rtt, lag *report.Histogram // nil if nothing was
	// spareRTT and spareLag are empty histograms to exchange for full ones.
	spareRTT, spareLag *report.Histogram
}

// offersSoFar returns the round trips and lags up to now. A recorder is locked only
// for the exchange of two pointers.
func (r *recorders) offersSoFar() (rtt, lag *report.Histogram, err error) {
	t := &r.taken
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.rtt == nil {
		t.rtt, t.lag = report.NewHistogram(report.TotalDigits), report.NewHistogram(report.TotalDigits)
		t.spareRTT, t.spareLag = report.NewHistogram(report.TotalDigits), report.NewHistogram(report.TotalDigits)
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
	rtt, lag = report.NewHistogram(report.TotalDigits), report.NewHistogram(report.TotalDigits)
	return rtt, lag, errors.Join(err, rtt.Merge(t.rtt), lag.Merge(t.lag))
}

// totals merges the histograms of all workers.
func (r *recorders) totals() (report.Histograms, error) {
	all := report.NewHistograms()
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
