package load

import (
	"cmp"
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// account says what became of the messages, which have records. The kill of a member of the fleet is an event too.
func (p *phase) account(events []run.FaultEvent) *run.Faults {
	f := &run.Faults{
		Offered: p.offersBegun(), Acknowledged: p.accepted,
		Duplicate: p.counts.Duplicate, Early: p.counts.Early, EarlyBeyond: p.counts.Early,
	}
	for _, m := range p.plan.Members() {
		if m.Kill {
			e := run.FaultEvent{Kind: "kill-member", Text: "kill-member at " + m.To.String(), From: m.To.Seconds(), To: m.To.Seconds(), MayLose: string(plan.OnTheWay)}
			if !m.Takes { // no message is on its way to it
				e.MayLose = string(plan.NoLoss)
			}
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b run.FaultEvent) int { return cmp.Compare(a.From, b.From) })
	var lost []int
	for i, s := range p.state {
		switch {
		case s&confirmed != 0:
			if s&(delivered|held) == 0 {
				lost = append(lost, i)
			}
		case p.records[i].refused:
			f.Refused++
		case s&tried != 0:
			f.Uncertain++
			if s&delivered != 0 {
				f.UncertainCame++
			}
		}
	}
	f.Lost, f.LostBeyond = int64(len(lost)), p.lostBeyond(events, lost)
	for i, e := range events {
		events[i].ResumedNs = p.resumed(p.nsAt(e.To))
	}
	f.Events = append([]run.FaultEvent{}, events...)
	return f
}

// afterwards is for how long after its end a fault may show, in seconds: the server still carries out a command.
const afterwards = 1

// nsAt is a time in seconds after the start, in Unix ns.
func (p *phase) nsAt(seconds float64) int64 { return p.startNs + int64(math.Round(seconds*1e9)) }

// resumed is how long after an instant the next message was on time; nil if no message was.
func (p *phase) resumed(ended int64) (first *int64) {
	for i, r := range p.records {
		after, late := r.came-ended, r.came-p.due[i]
		if r.came != 0 && after >= 0 && late <= int64(run.OnTime) && late >= -int64(run.EarlyTolerance) && (first == nil || after < *first) {
			first = &after
		}
	}
	return first
}

// lostBeyond is how many lost messages no event accounts for. What exceeds one event's share counts for the next event.
func (p *phase) lostBeyond(events []run.FaultEvent, lost []int) (beyond int64) {
	for _, e := range events {
		lost = slices.DeleteFunc(lost, func(i int) bool {
			answered := p.records[i].answered
			before := e.MayLose == string(plan.AllBefore) || e.MayLose == string(plan.LastSecond) && answered >= p.nsAt(e.From-1)
			return before && answered <= p.nsAt(e.To)
		})
	}
	for _, e := range events {
		most := int64(p.plan.Consumers) // takes that it may have interrupted
		switch {
		case e.MayLose == string(plan.NoLoss):
			continue
		case e.Kind == plan.LoseReplies:
			most = int64(e.Times)
		}
		// Messages arrive by their due times: one that is older than all later ones was on its way before.
		since := p.nsAt(e.From - afterwards)
		oldest := since
		for i, r := range p.records {
			if r.came >= since {
				oldest = min(oldest, p.due[i])
			}
		}
		left := len(lost)
		lost = slices.DeleteFunc(lost, func(i int) bool {
			// A take that was under way may be carried out after the connection broke.
			return most > 0 && p.due[i] >= oldest && p.due[i] <= p.nsAt(e.To+afterwards)
		})
		beyond = max(beyond+int64(left-len(lost))-most, 0)
	}
	return beyond + int64(len(lost))
}
