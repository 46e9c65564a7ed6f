package metrics

import (
	"github.com/dq-bench/dq-bench/harness/internal/forensics/bridge"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Bridge is a bridge: *bridge.Bridge has its summary.
type Bridge struct {
	Bridge interface{ Summary() *bridge.Summary }
}

// WriteMetrics writes a sample for each queue.
func (b Bridge) WriteMetrics(w *Writer) error {
	queues := b.Bridge.Summary().Queues
	one := func(name, kind, help string, value func(bridge.Counts) int64) {
		w.family("dq_bridge_"+name, kind, help)
		for _, q := range queues {
			w.sample(float64(value(q)), "queue", text.Valid(q.Queue))
		}
	}
	w.family("dq_bridge_delivered_messages_total", counter, "Messages delivered, by the layout of their members.")
	for _, q := range queues {
		w.sample(float64(q.DLc0), "queue", text.Valid(q.Queue), "layout", "dLc0")
		w.sample(float64(q.Bc0Lc0), "queue", text.Valid(q.Queue), "layout", "Bc0Lc0")
	}
	one("held_members", gauge, "Members that were taken out and are not due yet.", func(q bridge.Counts) int64 { return q.Held })
	one("quarantined_members_total", counter, "Unreadable members that were set aside.", func(q bridge.Counts) int64 { return q.Quarantined })
	one("rewritten_entries_total", counter, "Entries that were rewritten ahead.", func(q bridge.Counts) int64 { return q.Rewritten })
	one("calls_total", counter, "Scripts that were run.", func(q bridge.Counts) int64 { return q.Calls })
	one("failed_calls_total", counter, "Scripts that failed.", func(q bridge.Counts) int64 { return q.Failures })
	one("failing", gauge, "1 if the last call failed, else 0.", func(q bridge.Counts) int64 { return flag(q.Failing != "") })
	return nil
}
