package metrics

import (
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Queues are metrics of queues that a doctor looks at again and again. A scrape asks no server: it gets the last look.
type Queues struct {
	mu     sync.Mutex
	seen   *ops.Look
	failed bool
}

// queueGauge is a metric of one queue.
type queueGauge struct {
	name, help, labels string
	each               func(q *ops.Queue, set func(value float64, labels ...string))
}

func one(name, help string, value func(*ops.Queue) int64) queueGauge {
	return queueGauge{"dq_queue_" + name, help, "", func(q *ops.Queue, set func(float64, ...string)) { set(float64(value(q))) }}
}

// The gauges of the server, and of each queue.
var (
	queuesUp    = queueGauge{name: "dq_queues_up", help: "1 if the last look reached the server, else 0, and there is no other metric."}
	queuesSeen  = queueGauge{name: "dq_queues_last_seen_timestamp_seconds", help: "The last look, by the server's clock."}
	queuesFound = queueGauge{name: "dq_queues", help: "Queues."}

	queueGauges = []queueGauge{
		one("waiting_members", "Members of the timeout set.", func(q *ops.Queue) int64 { return q.Waiting }),
		one("listed_entries", "Entries of the pending list.", func(q *ops.Queue) int64 { return q.Listed }),
		one("delivered_values", "Values in the destination queue.", func(q *ops.Queue) int64 { return q.Ready }),
		{"dq_queue_delivered_still_seconds", "For how long the first delivered value has not moved; 0 if it moves.", "", func(q *ops.Queue, set func(float64, ...string)) { set(q.StillSeconds) }},
		one("overdue_members", "Members that have been due for more than a second.", func(q *ops.Queue) int64 { return q.Overdue }),
		{"dq_queue_overdue_seconds", "For how long the oldest overdue member has been due; 0 if no member is.", "", func(q *ops.Queue, set func(float64, ...string)) {
			set(float64(q.OldestMS) / 1000)
		}},
		{"dq_queue_members", "Members by layout: of the first ones, or of all of a queue that was named.", "layout", func(q *ops.Queue, set func(float64, ...string)) {
			for layout, n := range q.Layouts {
				set(float64(n), "layout", layout)
			}
		}},
		one("held_members", "Members that a guard has taken out.", func(q *ops.Queue) int64 { return q.Held }),
		one("leased_values", "Messages that Workers of dq hold.", func(q *ops.Queue) int64 { return q.Leased }),
		one("dead_letters", "Dead letters of Workers of dq.", func(q *ops.Queue) int64 { return q.Dead }),
		one("quarantined_members", "Members that were set aside.", func(q *ops.Queue) int64 { return q.Aside }),
		{"dq_queue_subscribers", "Subscriptions to the queue's channel; absent if unknown.", "", func(q *ops.Queue, set func(float64, ...string)) {
			if q.Listeners >= 0 {
				set(float64(q.Listeners))
			}
		}},
		{"dq_queue_findings", "Members or values of each finding; absent without one.", "kind, state", func(q *ops.Queue, set func(float64, ...string)) {
			for _, f := range q.Findings {
				set(float64(f.Count), "kind", f.Kind, "state", string(f.State))
			}
		}},
	}
)

// NewQueues returns metrics of nothing yet.
func NewQueues() *Queues { return &Queues{} }

// Set takes over a look; after an error, the look before it is not shown any longer.
func (q *Queues) Set(seen *ops.Look, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seen, q.failed = seen, err != nil
}

// WriteMetrics writes nothing before the first look.
func (q *Queues) WriteMetrics(w *Writer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	server := func(g queueGauge, value float64) {
		w.family(g.name, gauge, g.help)
		w.sample(value)
	}
	switch {
	case q.failed:
		server(queuesUp, 0)
		return nil
	case q.seen == nil:
		return nil
	}
	server(queuesUp, 1)
	server(queuesSeen, float64(q.seen.At.UnixNano())/float64(time.Second))
	server(queuesFound, float64(len(q.seen.Queues)))
	for _, g := range queueGauges {
		w.family(g.name, gauge, g.help)
		for _, of := range q.seen.Queues {
			name := text.Valid(of.Name) // a label must be text, a key any bytes
			g.each(of, func(value float64, labels ...string) { w.sample(value, append(labels, "queue", name)...) })
		}
	}
	return nil
}
