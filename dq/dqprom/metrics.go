package dqprom

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/dq-bench/dq-bench/dq"
)

// Metrics collects the events of Clients. Use NewMetrics.
type Metrics struct {
	offers, transfers, handlers, late              *prometheus.HistogramVec
	offered, taken, retries, returned, quarantined *prometheus.CounterVec
	disconnects, clockSteps                        prometheus.Counter

	all *prometheus.Registry
}

// buckets are from 0.1 ms to 100 s.
var buckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 100}

// NewMetrics returns metrics that have counted nothing.
func NewMetrics() *Metrics {
	all := prometheus.NewRegistry()
	with := promauto.With(all)
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return with.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, append([]string{"queue"}, labels...))
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return with.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"queue"})
	}
	return &Metrics{
		all:         all,
		offers:      histogram("dq_offer_seconds", "How long offers took, by result: confirmed, uncertain, failed.", "result"),
		transfers:   histogram("dq_transfer_seconds", "How long runs of the transfer script took, by result: ok, failed.", "result"),
		handlers:    histogram("dq_handler_seconds", "How long handlers ran, by result: ok, error, panic.", "result"),
		late:        histogram("dq_transfer_late_seconds", "How long after the earliest due time a transfer was done."),
		offered:     counter("dq_offered_total", "Messages whose offer was confirmed."),
		taken:       counter("dq_taken_total", "Messages that consumers got."),
		retries:     counter("dq_retries_total", "Calls of handlers for messages that were handed out before."),
		returned:    counter("dq_returned_total", "Messages that went back to the queue untouched."),
		quarantined: counter("dq_quarantined_total", "Unreadable members that were set aside."),
		disconnects: with.NewCounter(prometheus.CounterOpts{
			Name: "dq_disconnects_total", Help: "Losses of the subscription's connection.",
		}),
		clockSteps: with.NewCounter(prometheus.CounterOpts{
			Name: "dq_clock_steps_total", Help: "Times that the wall clock was set by more than half a second.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) { m.all.Describe(to) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) { m.all.Collect(to) }

// Observe counts an event: pass it to dq.WithObserver. One Metrics may observe several Clients.
func (m *Metrics) Observe(e dq.Event) {
	switch e := e.(type) {
	case dq.Offered:
		m.offers.WithLabelValues(label(e.Queue), offerResult(e.Err)).Observe(e.Took.Seconds())
		m.offered.WithLabelValues(label(e.Queue)).Add(float64(e.Messages))
	case dq.Taken:
		m.taken.WithLabelValues(label(e.Queue)).Add(float64(e.Messages))
	case dq.Handled:
		m.handlers.WithLabelValues(label(e.Queue), handlerResult(e.Err)).Observe(e.Took.Seconds())
		if e.Attempt > 1 {
			m.retries.WithLabelValues(label(e.Queue)).Inc()
		}
	case dq.Transferred:
		result := "ok"
		if e.Err != nil {
			result = "failed"
		}
		m.transfers.WithLabelValues(label(e.Queue), result).Observe(e.Took.Seconds())
		if e.Late > 0 {
			m.late.WithLabelValues(label(e.Queue)).Observe(e.Late.Seconds())
		}
	case dq.Requeued:
		m.returned.WithLabelValues(label(e.Queue)).Inc()
	case dq.Quarantined:
		m.quarantined.WithLabelValues(label(e.Queue)).Add(float64(e.Members))
	case dq.Disconnected:
		m.disconnects.Inc()
	case dq.ClockSet:
		m.clockSteps.Inc()
	}
}

func offerResult(err error) string {
	switch {
	case err == nil:
		return "confirmed"
	case errors.Is(err, dq.ErrUncertain):
		return "uncertain"
	}
	return "failed"
}

func handlerResult(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, new(*dq.PanicError)):
		return "panic"
	}
	return "error"
}
