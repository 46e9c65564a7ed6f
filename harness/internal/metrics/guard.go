package metrics

import "github.com/dq-bench/dq-bench/harness/internal/ops"

// Guard is a guard: *ops.Guard has its counts.
type Guard struct {
	Guard interface{ Counts() []ops.GuardCounts }
}

// WriteMetrics writes a sample for each queue.
func (g Guard) WriteMetrics(w *Writer) error {
	queues := g.Guard.Counts()
	one := func(name, kind, help string, value func(ops.GuardCounts) int64) {
		w.family("dq_guard_"+name, kind, help)
		for _, q := range queues {
			w.sample(float64(value(q)), "queue", q.Queue)
		}
	}
	one("delivered_messages_total", counter, "Messages delivered.", func(q ops.GuardCounts) int64 { return q.Delivered })
	one("delivered_before_total", counter, "Messages not delivered again: a transfer that failed has delivered them.", func(q ops.GuardCounts) int64 { return q.Before })
	one("held_members", gauge, "Members that were taken out and are not due yet.", func(q ops.GuardCounts) int64 { return q.Held })
	one("quarantined_members_total", counter, "Unreadable members that were set aside.", func(q ops.GuardCounts) int64 { return q.Aside })
	one("wakes_total", counter, "Times that a Redisson which listens was woken.", func(q ops.GuardCounts) int64 { return q.Woken })
	one("ahead", gauge, "1 where members of both layouts wait and are taken out ahead, else 0.", func(q ops.GuardCounts) int64 { return flag(q.Mode == "ahead") })
	one("calls_total", counter, "Scripts that were run.", func(q ops.GuardCounts) int64 { return q.Calls })
	one("failed_calls_total", counter, "Scripts that failed.", func(q ops.GuardCounts) int64 { return q.FailedCalls })
	one("failing", gauge, "1 if the last call failed, else 0.", func(q ops.GuardCounts) int64 { return flag(q.Error != "") })
	return nil
}
