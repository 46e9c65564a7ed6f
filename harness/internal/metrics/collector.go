package metrics

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Source is what is asked at each scrape: *load.Live.
type Source interface {
	Snapshot() (load.Snapshot, error)
}

// labelNames tell the runs of one program apart.
var labelNames = []string{"driver", "queue", "scenario", "run_id", "worker"}

// number is a metric with one value.
type number struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(load.Snapshot) int64
}

// distribution is a histogram. It is left out while the run has none.
type distribution struct {
	desc  *prometheus.Desc
	value func(run.Histograms) *run.Histogram
}

// collector turns a snapshot into metrics.
type collector struct {
	source        Source
	numbers       []number
	distributions []distribution
}

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("dq_bench_"+name, help, labelNames, nil)
}

// OfLoad returns the metrics of a run.
func OfLoad(source Source) prometheus.Collector {
	gauge := func(name, help string, value func(load.Snapshot) int64) number {
		return number{describe(name, help), prometheus.GaugeValue, value}
	}
	c := &collector{
		source: source,
		numbers: []number{
			gauge("planned_messages", "Offers that the measured phase plans.", func(s load.Snapshot) int64 { return s.Planned }),
			gauge("warming_up", "1 during the warm-up, which no other metric counts.", func(s load.Snapshot) int64 { return flag(s.Phase == plan.Warmup) }),
			gauge("done", "1 once the run has ended and all counts are final.", func(s load.Snapshot) int64 { return flag(s.Done) }),
			{describe("take_errors_total", "Takes that failed."), prometheus.CounterValue, func(s load.Snapshot) int64 { return s.TakeErrors }},
		},
		distributions: []distribution{
			{describe("lateness_seconds", "Delivered minus due; down to -1 ms is the resolution of the format."), func(h run.Histograms) *run.Histogram { return h.Lateness }},
			{describe("past_due_seconds", "Delivered minus the due instant cut to its millisecond, the score in Redis; known at the end of the run."), func(h run.Histograms) *run.Histogram { return h.PastDue }},
			{describe("response_time_seconds", "Confirmed minus intended send instant; known at the end of the run."), func(h run.Histograms) *run.Histogram { return h.ResponseTime }},
			{describe("offer_rtt_seconds", "How long an offer took."), func(h run.Histograms) *run.Histogram { return h.OfferRTT }},
			{describe("schedule_lag_seconds", "Actual minus intended send instant: how far the load itself is behind."), func(h run.Histograms) *run.Histogram { return h.ScheduleLag }},
			{describe("remove_rtt_seconds", "How long it took to cancel a message; known at the end of the run."), func(h run.Histograms) *run.Histogram { return h.RemoveRTT }},
		},
	}
	for _, count := range run.AllCounts {
		value := func(s load.Snapshot) int64 { return count.Of(s.Counts) }
		switch count.Kind {
		case run.Total:
			c.numbers = append(c.numbers, number{describe(count.Name+"_total", count.Help), prometheus.CounterValue, value})
		case run.Level:
			c.numbers = append(c.numbers, gauge(count.Name, count.Help, value))
		}
	}
	return c
}

func flag(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, n := range c.numbers {
		descs <- n.desc
	}
	for _, d := range c.distributions {
		descs <- d.desc
	}
}

// Collect implements prometheus.Collector. Before the first run there is nothing.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	s, err := c.source.Snapshot()
	if errors.Is(err, load.ErrNotBegun) {
		return
	}
	if err != nil {
		metrics <- prometheus.NewInvalidMetric(c.numbers[0].desc, err)
		return
	}
	labels := []string{s.Subject.Driver, s.Subject.Queue, s.Subject.Scenario, fmt.Sprintf("%08x", s.Subject.RunID), s.Subject.Worker}
	for _, n := range c.numbers {
		metrics <- prometheus.MustNewConstMetric(n.desc, n.kind, float64(n.value(s)), labels...)
	}
	for _, d := range c.distributions {
		if h := d.value(s.Histograms); h != nil {
			metrics <- newHistogram(d.desc, h, s.Subject.Since, labels)
		}
	}
}

// seconds converts from ns.
func seconds(ns float64) float64 { return ns / float64(time.Second) }
