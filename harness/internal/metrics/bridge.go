package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
	"github.com/dq-bench/dq-bench/internal/text"
)

// bridgeSource is what is asked at each scrape: *bridge.Bridge.
type bridgeSource interface{ Summary() *bridge.Summary }

// bridged turns the summary of a bridge into metrics.
type bridged struct{ source bridgeSource }

// OfBridge returns the metrics of a bridge.
func OfBridge(source bridgeSource) prometheus.Collector { return bridged{source} }

func describeBridge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("dq_bridge_"+name, help, append([]string{"queue"}, labels...), nil)
}

var (
	bridgeDelivered   = describeBridge("delivered_messages_total", "Messages delivered, by the layout of their members.", "layout")
	bridgeHeld        = describeBridge("held_members", "Members that were taken out and are not due yet.")
	bridgeQuarantined = describeBridge("quarantined_members_total", "Members that nobody can read, which were set aside.")
	bridgeRewritten   = describeBridge("rewritten_entries_total", "Entries that were rewritten ahead.")
	bridgeCalls       = describeBridge("calls_total", "Scripts that were run.")
	bridgeFailures    = describeBridge("failed_calls_total", "Scripts that failed.")
	bridgeFailing     = describeBridge("failing", "1 if the last call failed, else 0.")
)

// Describe implements prometheus.Collector.
func (bridged) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{bridgeDelivered, bridgeHeld, bridgeQuarantined, bridgeRewritten, bridgeCalls, bridgeFailures, bridgeFailing} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (b bridged) Collect(metrics chan<- prometheus.Metric) {
	for _, q := range b.source.Summary().Queues {
		name := text.Valid(q.Queue) // a label must be text, a key any bytes
		counter := func(d *prometheus.Desc, value int64, labels ...string) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(value), append([]string{name}, labels...)...)
		}
		gauge := func(d *prometheus.Desc, value int64) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), name)
		}
		counter(bridgeDelivered, q.DLc0, "dLc0")
		counter(bridgeDelivered, q.Bc0Lc0, "Bc0Lc0")
		counter(bridgeQuarantined, q.Quarantined)
		counter(bridgeRewritten, q.Rewritten)
		counter(bridgeCalls, q.Calls)
		counter(bridgeFailures, q.Failures)
		gauge(bridgeHeld, q.Held)
		gauge(bridgeFailing, flag(q.Failing != ""))
	}
}
