package compare

import (
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// A figure is a number of a run that sets are judged by.
type figure struct {
	name   string                               // "past due p99"
	of     func(*run.Document) float64          // reads the figure in ns; NaN if the run lacks it, or has too few messages for it
	ratio  func(old, new *run.Document) float64 // if set, compares two runs of one instant second by second; NaN if it cannot
	beyond func(*run.Document) float64          // how many messages of a run lie beyond a quantile; needs is how many must
	needs  float64
	waited bool // marks a time that callers wait, to which minDelta applies
}

const (
	// tailOfRun messages must lie beyond a quantile of a run, halfOfRun beyond its median, and tailOfSecond beyond the p99 of a
	// second, of which a run must have fewestSeconds.
	tailOfRun, halfOfRun, tailOfSecond, fewestSeconds = 100, 10, 5, 3
)

// histograms returns the distributions that runs are judged by: past due, or lateness if a run does not keep
// Redisson's format; and response time, or offer RTT if a run has not measured it.
func histograms(runs []*run.Document) (late, response run.Distribution) {
	if slices.ContainsFunc(runs, lacksResponse) {
		return run.LateOf(runs...), run.OfferRTT
	}
	return run.LateOf(runs...), run.ResponseTime
}

// figures returns the figures that all runs have: quantiles of histograms, and the server's processor time.
func figures(runs []*run.Document) (all []figure) {
	late, response := histograms(runs)
	for _, histogram := range []run.Distribution{late, response} {
		for _, q := range run.Quantiles {
			all = append(all, quantile(histogram, q))
		}
	}
	all = append(all, figure{
		name: late.Name + " p99 per second", waited: true,
		of:    func(r *run.Document) float64 { return p99OfCalmSeconds(r, late) },
		ratio: func(old, new *run.Document) float64 { return ratioOfSeconds(old, new, late) },
	}, figure{name: "server CPU per message", of: (*run.Document).ServerCPUPerMessage})
	return slices.DeleteFunc(all, func(f figure) bool { return f.values(runs, nil) == nil })
}

// lacksResponse reports whether a run has not measured the response time of every offer.
func lacksResponse(r *run.Document) bool {
	return r.Histograms.ResponseTime == nil || r.Histograms.ResponseTime.Count() != r.Histograms.OfferRTT.Count()
}

func quantile(histogram run.Distribution, q float64) figure {
	f := figure{name: histogram.Name + " " + run.QuantileName(q), waited: true, needs: tailOfRun}
	if q == .5 {
		f.needs = halfOfRun
	}
	f.beyond = func(r *run.Document) float64 { return float64(histogram.Of(r.Histograms).Count())*(1-q) + 1e-6 }
	f.of = func(r *run.Document) float64 {
		if f.beyond(r) < f.needs {
			return math.NaN()
		}
		return float64(histogram.Of(r.Histograms).Quantile(q))
	}
	return f
}

// p99OfCalmSeconds returns the median p99 of the seconds whose hiccups are no longer than in the median second: a rare stall does not move it.
func p99OfCalmSeconds(r *run.Document, late run.Distribution) float64 {
	var hiccups, p99 []float64
	seconds := full(r)
	for _, i := range seconds {
		hiccups = append(hiccups, float64(i.HiccupNs))
	}
	calm := Median(hiccups)
	for _, i := range seconds {
		if _, v, _ := i.Late(late); float64(i.HiccupNs) <= calm {
			p99 = append(p99, float64(v))
		}
	}
	if len(p99) < fewestSeconds {
		return math.NaN()
	}
	return Median(p99)
}

// ratioOfSeconds returns the median, over the seconds of both runs, of the new p99 over the old one.
func ratioOfSeconds(old, new *run.Document, late run.Distribution) float64 {
	of, ratios := map[float64]float64{}, []float64{}
	for _, i := range full(old) {
		_, p99, _ := i.Late(late)
		of[math.Round(i.Second)] = float64(p99)
	}
	for _, i := range full(new) {
		if _, p99, _ := i.Late(late); of[math.Round(i.Second)] > 0 && p99 > 0 {
			ratios = append(ratios, math.Log(float64(p99)/of[math.Round(i.Second)]))
		}
	}
	if len(ratios) < fewestSeconds {
		return math.NaN()
	}
	return math.Exp(Median(ratios))
}

// full returns the seconds with enough deliveries for a p99.
func full(r *run.Document) (seconds []run.Interval) {
	for _, i := range r.Intervals {
		if float64(i.Delivered)*.01 >= tailOfSecond-1e-6 {
			seconds = append(seconds, i)
		}
	}
	return seconds
}

// values returns the figure of each run, or its ratio to the reference's run of the same block; nil where a run lacks it.
func (f figure) values(runs []*run.Document, reference blocks) (all []float64) {
	for _, r := range runs {
		v := f.value(r, reference)
		if math.IsNaN(v) {
			return nil
		}
		all = append(all, v)
	}
	return all
}

func (f figure) value(r *run.Document, reference blocks) float64 {
	if reference == nil {
		return f.of(r)
	}
	return f.times(reference[r.Beside.Block], r)
}

// times returns the figure of new over the figure of old; NaN where there is no such ratio.
func (f figure) times(old, new *run.Document) float64 {
	from, to := f.of(old), f.of(new)
	switch {
	case !(from > 0) || !(to > 0):
		return math.NaN()
	case f.ratio != nil:
		return f.ratio(old, new)
	}
	return to / from
}

func logs(values []float64) (all []float64, ok bool) {
	for _, v := range values {
		if v <= 0 {
			return nil, false
		}
		all = append(all, math.Log(v))
	}
	return all, true
}
