package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// figure is one number of a run that two sides are compared by.
type figure struct {
	histogram, stat string
	// of reads it; NaN where the run does not tell.
	of func(*run.Document) float64
	// bears says that the run has enough messages for it to be judged.
	bears func(*run.Document) bool
	// ratio, which may be nil, is of two runs that were made at the same time how many times
	// the figure of old that of new is; NaN where it cannot be told.
	ratio func(old, new *run.Document) float64
	// judged is false for what is only shown.
	judged bool
	// isTime says that it is a time that a caller waits, which MinDelta is about.
	isTime bool
}

const (
	// judgedTail is how many messages must lie beyond a quantile in every run
	// before it is judged: far more than to show it, as the quantile of each run
	// is one single value of the test.
	judgedTail = 100
	// PerSecond is the stat of the p99 of the median of the calmer seconds.
	PerSecond = "p99 per second"
	// secondTail is how many messages of a second must lie beyond its p99 before the
	// second counts, and leastSeconds how many such seconds a run must have.
	secondTail   = 5
	leastSeconds = 3
	// serverCPU names the server's processor time for each message delivered.
	serverCPU = "server_cpu"
)

// figuresOf are what runs are compared by. Past due, or lateness where not all keep
// Redisson's format, and response time, or offer RTT where not all have measured it, are
// judged.
func figuresOf(runs []*run.Document) []figure {
	late, response := run.LateOf(runs), "response_time"
	for _, r := range runs {
		if !has(r, response) {
			response = "offer_rtt"
		}
	}
	var figures []figure
	for _, name := range []string{late, response, "lateness", "offer_rtt", "schedule_lag"} {
		if slices.ContainsFunc(figures, func(f figure) bool { return f.histogram == name }) {
			continue
		}
		judged := name == late || name == response
		for _, q := range run.Quantiles {
			figures = append(figures, quantileOf(name, q, judged))
			if name == late && q == .99 {
				figures = append(figures, figure{
					histogram: name, stat: PerSecond, judged: true, isTime: true,
					of:    func(r *run.Document) float64 { return stats.Median(tailOfSeconds(r, name)) },
					bears: func(r *run.Document) bool { return len(tailOfSeconds(r, name)) >= leastSeconds },
					ratio: func(old, new *run.Document) float64 { return ratioOfSeconds(old, new, name) },
				})
			}
		}
		figures = append(figures, figure{
			histogram: name, stat: "max", isTime: true,
			of:    func(r *run.Document) float64 { return float64(r.Histograms.Histogram(name).Max()) },
			bears: func(*run.Document) bool { return false },
		})
	}
	return append(figures, figure{
		histogram: serverCPU, stat: "per message", judged: true,
		of: func(r *run.Document) float64 {
			if r.ServerStats == nil || r.Counts.Delivered == 0 {
				return math.NaN()
			}
			return 1e9 * r.ServerStats.CPUSeconds / float64(r.Counts.Delivered)
		},
		bears: func(*run.Document) bool { return true },
	})
}

// withoutResponse names the runs for which all are judged by offer RTT, which leaves out how long offers waited to be
// sent, though others have measured response time.
func withoutResponse(runs []*run.Document) []string {
	var without []string
	for _, r := range runs {
		if !has(r, "response_time") {
			without = append(without, r.RunID)
		}
	}
	if len(without) == 0 || len(without) == len(runs) {
		return nil
	}
	return []string{fmt.Sprintf("judged by offer RTT, as %d of %d runs have no response time of every offer (%s); leave them out to judge the others by it",
		len(without), len(runs), strings.Join(without, ", "))}
}

// has reports whether a run has measured the histogram, of all messages.
func has(r *run.Document, histogram string) bool {
	switch histogram {
	case "past_due":
		late, _ := r.Late()
		return late == histogram
	case "response_time":
		h := r.Histograms.ResponseTime
		return h != nil && h.Count() == r.Histograms.OfferRTT.Count()
	}
	return true
}

func quantileOf(histogram string, q float64, judged bool) figure {
	return figure{
		histogram: histogram, stat: run.QuantileName(q), judged: judged, isTime: true,
		of: func(r *run.Document) float64 { return float64(r.Histograms.Histogram(histogram).Quantile(q)) },
		bears: func(r *run.Document) bool {
			return float64(r.Histograms.Histogram(histogram).Count())*(1-q) >= judgedTail-1e-6
		},
	}
}

// tailOfSeconds are the p99 of the calmer seconds of a run: of those in which enough was
// delivered, the ones in which the machine had no longer hiccups than in the median one. A
// rare stall of the implementation spoils the seconds it falls into as well; their median
// says how the tail is the rest of the time.
func tailOfSeconds(r *run.Document, late string) []float64 {
	var hiccups, p99 []float64
	for _, i := range full(r) {
		hiccups = append(hiccups, float64(i.HiccupNs))
	}
	calm := stats.Median(hiccups)
	for _, i := range full(r) {
		if float64(i.HiccupNs) <= calm {
			p99 = append(p99, p99Of(i, late))
		}
	}
	return p99
}

// full are the seconds in which enough was delivered for a p99.
func full(r *run.Document) []run.Interval {
	var seconds []run.Interval
	for _, i := range r.Intervals {
		if float64(i.Delivered)*.01 >= secondTail-1e-6 {
			seconds = append(seconds, i)
		}
	}
	return seconds
}

// p99Of is that of past_due or lateness in a second.
func p99Of(i run.Interval, late string) float64 {
	if late == "past_due" {
		return float64(i.PastDueP99)
	}
	return float64(i.P99)
}

// values are a figure of each run, nil where one does not tell.
func (f figure) values(runs []*run.Document) []float64 {
	var values []float64
	for _, r := range runs {
		v := f.of(r)
		if math.IsNaN(v) {
			return nil
		}
		values = append(values, v)
	}
	return values
}
