package ops

import (
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/web"
	"github.com/dq-bench/dq-bench/internal/text"
)

// gauge is a metric of a look.
type gauge struct {
	name, help, labels string
	each               func(l *Look, set func(value float64, labels ...string))
}

// ofQueues is a gauge of each queue.
func ofQueues(name, help, labels string, each func(q *Queue, set func(value float64, labels ...string))) gauge {
	return gauge{"dq_queue_" + name, help, labels, func(l *Look, set func(float64, ...string)) {
		for _, q := range l.Queues {
			name := text.Valid(q.Name) // a label must be text, a key any bytes
			each(q, func(value float64, labels ...string) { set(value, append(labels, "queue", name)...) })
		}
	}}
}

func ofQueue[N int64 | float64](name, help string, value func(*Queue) N) gauge {
	return ofQueues(name, help, "", func(q *Queue, set func(float64, ...string)) { set(float64(value(q))) })
}

// gauges are the metrics of a look; the first one also of a look that failed, which is nil.
var gauges = []gauge{
	{"dq_queues_up", "1 if the last look reached the server, else 0, and there is no other metric.", "", func(l *Look, set func(float64, ...string)) { set(float64(web.Flag(l != nil))) }},
	{"dq_queues_last_seen_timestamp_seconds", "The last look, by the server's clock.", "", func(l *Look, set func(float64, ...string)) { set(float64(l.At.UnixNano()) / float64(time.Second)) }},
	{"dq_queues", "Queues.", "", func(l *Look, set func(float64, ...string)) { set(float64(len(l.Queues))) }},
	ofQueue("waiting_members", "Members of the timeout set.", func(q *Queue) int64 { return q.Waiting }),
	ofQueue("listed_entries", "Entries of the pending list.", func(q *Queue) int64 { return q.Listed }),
	ofQueue("delivered_values", "Values in the destination queue.", func(q *Queue) int64 { return q.Ready }),
	ofQueue("delivered_still_seconds", "For how long the first delivered value has not moved; 0 if it moves.", func(q *Queue) float64 { return q.StillSeconds }),
	ofQueue("overdue_members", "Members that have been due for more than a second.", func(q *Queue) int64 { return q.Overdue }),
	ofQueue("overdue_seconds", "For how long the oldest overdue member has been due; 0 if no member is.", func(q *Queue) float64 { return float64(q.OldestMS) / 1000 }),
	ofQueues("members", "Members by layout: of the first ones, or of all of a queue that was named.", "layout", func(q *Queue, set func(float64, ...string)) {
		for layout, n := range q.Layouts {
			set(float64(n), "layout", layout)
		}
	}),
	ofQueue("ahead_members", "Members taken ahead by a guard.", func(q *Queue) int64 { return q.Ahead }),
	ofQueue("leased_values", "Messages that Workers of dq hold.", func(q *Queue) int64 { return q.Leased }),
	ofQueue("dead_letters", "Dead letters of Workers of dq.", func(q *Queue) int64 { return q.Dead }),
	ofQueue("quarantined_members", "Members that were set aside.", func(q *Queue) int64 { return q.Aside }),
	ofQueues("subscribers", "Subscriptions to the queue's channel; absent if unknown.", "", func(q *Queue, set func(float64, ...string)) {
		if q.Listeners >= 0 {
			set(float64(q.Listeners))
		}
	}),
	ofQueues("findings", "Members or values of each finding; absent without one.", "kind, state", func(q *Queue, set func(float64, ...string)) {
		for _, f := range q.Findings {
			set(float64(f.Count), "kind", f.Kind, "state", string(f.State))
		}
	}),
}

// WriteMetrics writes the last look: a scrape asks no server. Before the first look it writes nothing.
func (d *Desk) WriteMetrics(w *web.Families) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, known := d.seen, gauges
	if d.err != nil {
		l, known = nil, gauges[:1]
	} else if l == nil {
		return
	}
	for _, g := range known {
		w.Family(g.name, web.Gauge, g.help)
		g.each(l, w.Sample)
	}
}

// WriteMetrics writes a sample for each queue.
func (g *Guard) WriteMetrics(w *web.Families) {
	queues := g.Counts()
	one := func(name, kind, help string, value func(GuardCounts) int64) {
		w.Family("dq_guard_"+name, kind, help)
		for _, q := range queues {
			w.Sample(float64(value(q)), "queue", q.Queue)
		}
	}
	one("delivered_messages_total", web.Counter, "Messages delivered.", func(q GuardCounts) int64 { return q.Delivered })
	one("delivered_before_total", web.Counter, "Messages not delivered again: a transfer that failed has delivered them.", func(q GuardCounts) int64 { return q.Before })
	one("ahead_members", web.Gauge, "Members that were taken ahead and are not due yet.", func(q GuardCounts) int64 { return q.Ahead })
	one("quarantined_members_total", web.Counter, "Unreadable members that were set aside.", func(q GuardCounts) int64 { return q.Aside })
	one("wakes_total", web.Counter, "Times that a Redisson which listens was woken.", func(q GuardCounts) int64 { return q.Woken })
	one("ahead", web.Gauge, "1 where members of both layouts wait and are taken out ahead, else 0.", func(q GuardCounts) int64 { return web.Flag(q.Mode == "ahead") })
	one("calls_total", web.Counter, "Scripts that were run.", func(q GuardCounts) int64 { return q.Calls })
	one("failed_calls_total", web.Counter, "Scripts that failed.", func(q GuardCounts) int64 { return q.FailedCalls })
	one("failing", web.Gauge, "1 if the last call failed, else 0.", func(q GuardCounts) int64 { return web.Flag(q.Error != "") })
}
