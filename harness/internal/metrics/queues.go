package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Queues are metrics of queues that are looked at again and again. A scrape asks no
// server: it gets what was seen last.
type Queues struct {
	mu     sync.Mutex
	seen   *inspect.Inspection
	failed bool
	gauges []queueGauge
}

// queueGauge is a metric of one queue.
type queueGauge struct {
	name, help string
	labels     []string // "queue" and more
	desc       *prometheus.Desc
	// each calls set with the values and those of the labels behind "queue".
	each func(q *inspect.Queue, set func(value float64, labels ...string))
}

// The metrics that are of no queue.
var (
	queuesUp    = newQueueGauge("dq_queues_up", "1 if the server could be looked at the last time, else 0, and there is nothing besides.")
	queuesSeen  = newQueueGauge("dq_queues_last_seen_timestamp_seconds", "When the queues were last looked at, by the server's clock.")
	queuesFound = newQueueGauge("dq_queues", "Queues that are looked at.")
)

func newQueueGauge(name, help string, labels ...string) queueGauge {
	return queueGauge{name: name, help: help, labels: labels, desc: prometheus.NewDesc(name, help, labels, nil)}
}

// NewQueues returns metrics of nothing yet.
func NewQueues() *Queues {
	q := &Queues{}
	gauge := func(name, help string, each func(*inspect.Queue, func(float64, ...string)), labels ...string) {
		g := newQueueGauge("dq_queue_"+name, help, append([]string{"queue"}, labels...)...)
		g.each = each
		q.gauges = append(q.gauges, g)
	}
	one := func(value func(*inspect.Queue) float64) func(*inspect.Queue, func(float64, ...string)) {
		return func(q *inspect.Queue, set func(float64, ...string)) { set(value(q)) }
	}
	gauge("waiting_members", "Members of the timeout set.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.TimeoutSet) }))
	gauge("listed_entries", "Entries of the pending list.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.PendingList) }))
	gauge("delivered_values", "Values in the destination queue that nobody has taken yet.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Destination) }))
	gauge("overdue_members", "Members that have been due for more than a second.", one(func(q *inspect.Queue) float64 { return float64(q.Overdue.Count) }))
	gauge("overdue_seconds", "For how long the oldest overdue member has been due; 0 if none is.", one(overdueSeconds))
	gauge("members", "Members of the timeout set by layout.", func(q *inspect.Queue, set func(float64, ...string)) {
		for _, l := range q.Layouts {
			set(float64(l.Count), l.Layout)
		}
	}, "layout")
	gauge("foreign_members", "Members that the Redisson the queue is meant for cannot read; without --release, those of the layout that fewer are of.",
		one(func(q *inspect.Queue) float64 { return float64(q.Counts.Foreign) }))
	gauge("unreadable_members", "Members that no Redisson can read.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Unreadable) }))
	gauge("ghosts", "Entries of the pending list without a member in the timeout set.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Ghosts) }))
	gauge("orphans", "Members of the timeout set without an entry in the pending list.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Orphans) }))
	gauge("quarantined_members", "Members that dq has set aside.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Quarantine) }))
	gauge("held_members", "Members that a bridge has taken out and delivers when they are due.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Held) }))
	gauge("reserved_values", "Values that consumers of a ReliableQueue of dq hold.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Reserved) }))
	gauge("dead_letters", "Dead letters of a ReliableQueue of dq.", one(func(q *inspect.Queue) float64 { return float64(q.Counts.Dead) }))
	gauge("subscribers", "Subscriptions to the queue's channel; absent where the server does not tell.", func(q *inspect.Queue, set func(float64, ...string)) {
		if q.Subscribers.Unknown == "" {
			set(float64(q.Subscribers.Count))
		}
	})
	gauge("transfer_seconds", "For how long the next transfer of Redisson's is estimated to keep the server busy.", one(func(q *inspect.Queue) float64 { return q.Transfer.BlockedMS / 1000 }))
	gauge("memory_bytes", "Memory by key, estimated by the server from samples.", func(q *inspect.Queue, set func(float64, ...string)) {
		set(float64(q.Memory.TimeoutSet), "timeout_set")
		set(float64(q.Memory.PendingList), "pending_list")
		set(float64(q.Memory.Destination), "destination")
	}, "key")
	gauge("anomalies", "How many members or entries each kind of anomaly was found in; absent where there is none.", func(q *inspect.Queue, set func(float64, ...string)) {
		for _, f := range q.Findings {
			if f.Anomaly {
				set(float64(f.Count), f.Kind)
			}
		}
	}, "kind")
	gauge("read_seconds", "How long the last look at the queue took.", one(func(q *inspect.Queue) float64 { return q.Reading.TookMS / 1000 }))
	return q
}

func overdueSeconds(q *inspect.Queue) float64 {
	if q.Overdue.SinceMS == nil {
		return 0
	}
	return float64(q.At.UnixMilli())/1000 - *q.Overdue.SinceMS/1000
}

// Set takes over what was seen; after an error, what was seen before is not shown any
// longer.
func (q *Queues) Set(seen *inspect.Inspection, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen, q.failed = seen, err != nil
}

func (q *Queues) all() []queueGauge {
	return append([]queueGauge{queuesUp, queuesSeen, queuesFound}, q.gauges...)
}

// Describe implements prometheus.Collector.
func (q *Queues) Describe(descs chan<- *prometheus.Desc) {
	for _, g := range q.all() {
		descs <- g.desc
	}
}

// Collect implements prometheus.Collector. Before the first look there is nothing.
func (q *Queues) Collect(metrics chan<- prometheus.Metric) {
	q.mu.Lock()
	defer q.mu.Unlock()
	gauge := func(g queueGauge, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, value, labels...)
	}
	switch {
	case q.failed:
		gauge(queuesUp, 0)
		return
	case q.seen == nil:
		return
	}
	gauge(queuesUp, 1)
	gauge(queuesSeen, float64(q.seen.At.UnixNano())/float64(time.Second))
	gauge(queuesFound, float64(len(q.seen.Queues)))
	for i := range q.seen.Queues {
		queue := &q.seen.Queues[i]
		name := text.Valid(queue.Name) // a label must be text, a key any bytes
		for _, g := range q.gauges {
			g.each(queue, func(value float64, labels ...string) { gauge(g, value, append([]string{name}, labels...)...) })
		}
	}
}
