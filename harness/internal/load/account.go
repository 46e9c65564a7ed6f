package load

import (
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// account says what became of the messages, which have records. The kill of a member of the fleet is an event too.
func (p *phase) account(events []Event) *run.Faults {
	f := &run.Faults{
		Events: []run.FaultEvent{}, Offered: p.offersBegun(), Acknowledged: p.accepted,
		Duplicate: p.counts.Duplicate, Early: p.counts.Early, EarlyBeyond: p.counts.Early,
	}
	for _, m := range p.plan.Fleet {
		if m.Kill {
			at := p.start.Add(m.To)
			events = append(events, Event{Fault: plan.Fault{Kind: plan.KillMember, At: m.To}, From: at, To: at, takes: m.Takes})
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.From.Compare(b.From) })
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
	for _, e := range events {
		d := run.FaultEvent{
			Kind: e.Kind, Text: e.String(), Times: e.Times, MayLose: string(e.loss()), ResumedNs: p.resumed(e.To.UnixNano()),
			From: e.From.Sub(p.start).Seconds(), To: e.To.Sub(p.start).Seconds(),
		}
		if e.Err != nil {
			d.Error = e.Err.Error()
		}
		f.Events = append(f.Events, d)
	}
	return f
}

// afterwards is for how long after its end a fault may show: the server still carries out a command.
const afterwards = time.Second

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
func (p *phase) lostBeyond(events []Event, lost []int) (beyond int64) {
	for _, e := range events {
		lost = slices.DeleteFunc(lost, func(i int) bool {
			answered := p.records[i].answered
			before := e.loss() == plan.AllBefore || e.loss() == plan.LastSecond && answered >= e.From.UnixNano()-int64(time.Second)
			return before && answered <= e.To.UnixNano()
		})
	}
	for _, e := range events {
		most := int64(p.plan.Consumers) // takes that it may have interrupted
		switch {
		case e.loss() == plan.NoLoss:
			continue
		case e.Kind == plan.LoseReplies:
			most = int64(e.Times)
		}
		// Messages arrive by their due times: one that is older than all later ones was on its way before.
		since := e.From.Add(-afterwards).UnixNano()
		oldest := since
		for i, r := range p.records {
			if r.came >= since {
				oldest = min(oldest, p.due[i])
			}
		}
		left := len(lost)
		lost = slices.DeleteFunc(lost, func(i int) bool {
			// A take that was under way may be carried out after the connection broke.
			return most > 0 && p.due[i] >= oldest && p.due[i] <= e.To.Add(afterwards).UnixNano()
		})
		beyond = max(beyond+int64(left-len(lost))-most, 0)
	}
	return beyond + int64(len(lost))
}
