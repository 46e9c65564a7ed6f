package metrics

import (
	"errors"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Load is a run. Each scrape asks how it stands: *load.Live tells.
type Load struct {
	Run interface {
		Running() (load.Running, error)
	}
}

// bounds of the buckets in seconds. 0 sets early deliveries apart, and 1 ms is the
// resolution of the format.
var bounds = []float64{
	-.001, 0, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
}

// distributions are left out while the run has no values of them.
var distributions = []struct {
	name  string
	whole bool // known of whole runs
	help  string
	of    func(run.Histograms) *run.Histogram
}{
	{"lateness", false, "Delivered minus due; down to -1 ms is the resolution of the format.", func(h run.Histograms) *run.Histogram { return h.Lateness }},
	{"past_due", true, "Delivered minus the due instant cut to its millisecond, the score in Redis; known at the end of the run.", func(h run.Histograms) *run.Histogram { return h.PastDue }},
	{"response_time", true, "Confirmed minus intended send instant; known at the end of the run.", func(h run.Histograms) *run.Histogram { return h.ResponseTime }},
	{"offer_rtt", false, "How long an offer took.", func(h run.Histograms) *run.Histogram { return h.OfferRTT }},
	{"schedule_lag", false, "Actual minus intended send instant: how far the load itself is behind.", func(h run.Histograms) *run.Histogram { return h.ScheduleLag }},
	{"remove_rtt", true, "How long it took to cancel a message; known at the end of the run.", func(h run.Histograms) *run.Histogram { return h.RemoveRTT }},
}

// WriteMetrics writes nothing before the first run.
func (l Load) WriteMetrics(w *Writer) error {
	s, err := l.Run.Running()
	if errors.Is(err, load.ErrNotBegun) {
		return nil
	}
	if err != nil {
		return err
	}
	d := s.Document
	labels := []string{"driver", d.Driver.String(), "queue", d.Scenario.Queue, "run_id", d.RunID, "scenario", d.Scenario.Name}
	one := func(name, kind, help string, value int64) {
		w.Family("dq_bench_"+name, kind, help)
		w.Sample(float64(value), labels...)
	}
	one("planned_messages", Gauge, "Offers that the measured phase plans.", s.Planned)
	one("warming_up", Gauge, "1 during the warm-up, which no other metric counts.", Flag(s.Phase == plan.Warmup && !s.Ended))
	one("done", Gauge, "1 once the run has ended and all counts are final.", Flag(s.Ended))
	one("take_errors_total", Counter, "Takes that failed.", s.TakeErrors)
	for _, c := range run.AllCounts {
		switch c.Kind {
		case run.Total:
			one(c.Name+"_total", Counter, c.Help, c.Of(d.Counts))
		case run.Level:
			one(c.Name, Gauge, c.Help, c.Of(d.Counts))
		}
	}
	for _, each := range distributions {
		h := each.of(d.Histograms)
		if h == nil || each.whole && !s.Ended {
			continue
		}
		w.Family("dq_bench_"+each.name+"_seconds", histogram, each.help)
		w.buckets(bounds, counted(h), h.Count(), seconds(h.Sum()), labels...)
	}
	return nil
}

// counted sorts values into buckets, each value where the middle of its bucket in h
// lies: off by 0.5 % at most.
func counted(h *run.Histogram) []int64 {
	counts := make([]int64, len(bounds))
	h.Buckets(func(from, to, count int64) {
		middle := 0.0
		if from > 0 || to < 0 {
			middle = seconds(float64(from)/2 + float64(to)/2)
		}
		if i, _ := slices.BinarySearch(bounds, middle); i < len(counts) {
			counts[i] += count
		}
	})
	return counts
}

// seconds converts from ns.
func seconds(ns float64) float64 { return ns / float64(time.Second) }

// Flag is 1 for true.
func Flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
