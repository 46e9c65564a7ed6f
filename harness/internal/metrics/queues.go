package metrics

import (
	"sync"
	"time"

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
	label      string // besides "queue", or empty
	// each calls set with a value and its label's.
	each func(q *inspect.Queue, set func(value float64, label string))
}

// The gauges of the server.
var (
	queuesUp    = queueGauge{name: "dq_queues_up", help: "1 if the server could be looked at the last time, else 0, and there is nothing besides."}
	queuesSeen  = queueGauge{name: "dq_queues_last_seen_timestamp_seconds", help: "When the queues were last looked at, by the server's clock."}
	queuesFound = queueGauge{name: "dq_queues", help: "Queues that are looked at."}
)

// NewQueues returns metrics of nothing yet.
func NewQueues() *Queues {
	q := &Queues{}
	labelled := func(name, help, label string, each func(*inspect.Queue, func(float64, string))) {
		q.gauges = append(q.gauges, queueGauge{"dq_queue_" + name, help, label, each})
	}
	one := func(name, help string, value func(*inspect.Queue) float64) {
		labelled(name, help, "", func(q *inspect.Queue, set func(float64, string)) { set(value(q), "") })
	}
	one("waiting_members", "Members of the timeout set.", func(q *inspect.Queue) float64 { return float64(q.Counts.TimeoutSet) })
	one("listed_entries", "Entries of the pending list.", func(q *inspect.Queue) float64 { return float64(q.Counts.PendingList) })
	one("delivered_values", "Values in the destination queue that nobody has taken yet.", func(q *inspect.Queue) float64 { return float64(q.Counts.Destination) })
	one("overdue_members", "Members that have been due for more than a second.", func(q *inspect.Queue) float64 { return float64(q.Overdue.Count) })
	one("overdue_seconds", "For how long the oldest overdue member has been due; 0 if none is.", overdueSeconds)
	labelled("members", "Members of the timeout set by layout.", "layout", func(q *inspect.Queue, set func(float64, string)) {
		for _, l := range q.Layouts {
			set(float64(l.Count), l.Layout)
		}
	})
	one("foreign_members", "Members that the Redisson the queue is meant for cannot read; without --release, those of the layout that fewer are of.", func(q *inspect.Queue) float64 { return float64(q.Counts.Foreign) })
	one("unreadable_members", "Members that no Redisson can read.", func(q *inspect.Queue) float64 { return float64(q.Counts.Unreadable) })
	one("ghosts", "Entries of the pending list without a member in the timeout set.", func(q *inspect.Queue) float64 { return float64(q.Counts.Ghosts) })
	one("orphans", "Members of the timeout set without an entry in the pending list.", func(q *inspect.Queue) float64 { return float64(q.Counts.Orphans) })
	one("quarantined_members", "Members that dq has set aside.", func(q *inspect.Queue) float64 { return float64(q.Counts.Quarantine) })
	one("held_members", "Members that a guard has taken out and delivers when they are due.", func(q *inspect.Queue) float64 { return float64(q.Counts.Held) })
	one("reserved_values", "Messages that Workers of dq hold.", func(q *inspect.Queue) float64 { return float64(q.Counts.Reserved) })
	one("dead_letters", "Dead letters of Workers of dq.", func(q *inspect.Queue) float64 { return float64(q.Counts.Dead) })
	labelled("subscribers", "Subscriptions to the queue's channel; absent where the server does not tell.", "", func(q *inspect.Queue, set func(float64, string)) {
		if q.Subscribers.Unknown == "" {
			set(float64(q.Subscribers.Count), "")
		}
	})
	one("transfer_seconds", "For how long the next transfer of Redisson's is estimated to keep the server busy.", func(q *inspect.Queue) float64 { return q.Transfer.BlockedMS / 1000 })
	labelled("memory_bytes", "Memory by key, estimated by the server from samples.", "key", func(q *inspect.Queue, set func(float64, string)) {
		set(float64(q.Memory.TimeoutSet), "timeout_set")
		set(float64(q.Memory.PendingList), "pending_list")
		set(float64(q.Memory.Destination), "destination")
	})
	labelled("anomalies", "How many members or entries each kind of anomaly was found in; absent where there is none.", "kind", func(q *inspect.Queue, set func(float64, string)) {
		for _, f := range q.Findings {
			if f.Anomaly {
				set(float64(f.Count), f.Kind)
			}
		}
	})
	one("read_seconds", "How long the last look at the queue took.", func(q *inspect.Queue) float64 { return q.Reading.TookMS / 1000 })
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

// WriteMetrics writes nothing before the first look.
func (q *Queues) WriteMetrics(w *Writer) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := func(g queueGauge, value float64) {
		w.family(g.name, gauge, g.help)
		w.sample(value)
	}
	switch {
	case q.failed:
		one(queuesUp, 0)
		return nil
	case q.seen == nil:
		return nil
	}
	one(queuesUp, 1)
	one(queuesSeen, float64(q.seen.At.UnixNano())/float64(time.Second))
	one(queuesFound, float64(len(q.seen.Queues)))
	for _, g := range q.gauges {
		w.family(g.name, gauge, g.help)
		for i := range q.seen.Queues {
			name := text.Valid(q.seen.Queues[i].Name) // a label must be text, a key any bytes
			g.each(&q.seen.Queues[i], func(value float64, label string) {
				labels := []string{"queue", name}
				if g.label != "" {
					labels = []string{g.label, label, "queue", name}
				}
				w.sample(value, labels...)
			})
		}
	}
	return nil
}
