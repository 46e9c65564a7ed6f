package fault

import (
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Account says what became of the messages of a run of a plan that lasted from start to end. The
// members of its fleet that were killed are events too.
func Account(p plan.Plan, start, end time.Time, messages []load.Message, events []Event) *run.Faults {
	f := &run.Faults{Events: []run.FaultEvent{}}
	events = slices.Concat(events, kills(p, start))
	slices.SortStableFunc(events, func(a, b Event) int { return a.From.Compare(b.From) })
	losses := newLosses(p, events, messages)
	for _, m := range messages {
		if m.Sent != 0 {
			f.Offered++
		}
		f.Duplicate += m.Again
		switch {
		case m.Came != 0 && early(m):
			f.Early++
			// A clock that was ahead transferred it, or a clock that was behind offered it.
			if !slices.ContainsFunc(events, func(e Event) bool {
				return e.By > 0 && m.Came >= e.From.UnixNano() && m.Came <= e.To.Add(afterwards).UnixNano() || e.By < 0 && offeredIn(e, m)
			}) {
				f.EarlyBeyond++
			}
		case m.Pending && m.Due <= end.UnixNano() && slices.ContainsFunc(events, func(e Event) bool { return e.By > 0 && offeredIn(e, m) }):
			f.Postponed++
		}
		switch {
		case m.Acknowledged():
			f.Acknowledged++
			if m.Came == 0 && !m.Pending {
				f.Lost++
				losses.lost(m)
			}
		case m.Refused:
			f.Refused++
		case m.Sent != 0:
			f.Uncertain++
			if m.Came != 0 {
				f.UncertainCame++
			}
		}
	}
	f.LostBeyond = losses.beyond()
	for _, e := range events {
		d := e.document(start)
		d.ResumedNs = resumed(messages, e.To)
		f.Events = append(f.Events, d)
	}
	return f
}

// kills are the members that were killed.
func kills(p plan.Plan, start time.Time) (events []Event) {
	for _, m := range p.Fleet {
		if m.Kill {
			at := start.Add(m.To)
			events = append(events, Event{Fault: plan.Fault{Kind: plan.KillMember, At: plan.Span{Min: m.To, Max: m.To}}, From: at, To: at, takes: m.Takes})
		}
	}
	return events
}

func early(m load.Message) bool { return m.Came-m.Due < -int64(run.EarlyTolerance) }

// afterwards is for how long after its end a fault may show: the server still carries out a command.
const afterwards = time.Second

// offeredIn reports whether a message was offered while an event lasted.
func offeredIn(e Event, m load.Message) bool {
	return m.Sent != 0 && m.Sent <= e.To.UnixNano() && (m.Answered == 0 || m.Answered >= e.From.UnixNano())
}

// resumed is how long after an instant the next message came on time; nil if none did.
func resumed(messages []load.Message, ended time.Time) *int64 {
	var first *int64
	for _, m := range messages {
		after := m.Came - ended.UnixNano()
		if m.Came == 0 || after < 0 || m.Came-m.Due > int64(run.OnTime) || early(m) {
			continue
		}
		if first == nil || after < *first {
			first = &after
		}
	}
	return first
}

// losses sorts lost messages by what accounts for them.
type losses struct {
	events []Event
	// onTheWay is how many takes each event may have interrupted, rest how many lost messages
	// nothing but that can account for, by the first event that can.
	onTheWay, rest []int64
	// oldest is the due instant of the oldest message that can have been on its way then.
	oldest []int64
	none   int64
}

func newLosses(p plan.Plan, events []Event, messages []load.Message) *losses {
	l := &losses{events: events, onTheWay: make([]int64, len(events)), rest: make([]int64, len(events)), oldest: make([]int64, len(events))}
	for i, e := range events {
		l.oldest[i] = oldest(messages, e)
		switch {
		case e.loss() == plan.NoLoss:
		case e.Kind == plan.LoseReplies || e.Kind == plan.LoseRequests:
			l.onTheWay[i] = int64(e.Times)
		case e.Kind == plan.CutInTurn:
			l.onTheWay[i] = int64(max(e.Times, p.Consumers))
		default:
			l.onTheWay[i] = int64(p.Consumers)
		}
	}
	return l
}

// oldest is the least due instant of what came from a second before an event on: messages come by
// their due times, so that an older one was on its way before.
func oldest(messages []load.Message, e Event) int64 {
	least := e.From.Add(-afterwards).UnixNano()
	for _, m := range messages {
		if m.Came >= e.From.Add(-afterwards).UnixNano() {
			least = min(least, m.Due)
		}
	}
	return least
}

// lost notes an acknowledged message that is nowhere.
func (l *losses) lost(m load.Message) {
	for _, e := range l.events {
		switch from, to := e.From.UnixNano(), e.To.UnixNano(); e.loss() {
		case plan.AllBefore:
			if m.Answered <= to {
				return
			}
		case plan.LastSecond:
			if m.Answered >= from-int64(time.Second) && m.Answered <= to {
				return
			}
		}
	}
	for i, e := range l.events {
		// A take that was under way may be carried out after the connection broke.
		if l.onTheWay[i] > 0 && m.Due >= l.oldest[i] && m.Due <= e.To.Add(afterwards).UnixNano() {
			l.rest[i]++
			return
		}
	}
	l.none++
}

// beyond is how many are accounted for by nothing.
func (l *losses) beyond() int64 {
	n, left := l.none, int64(0)
	// What is more than one event's is for the next one.
	for i := range l.events {
		left = l.rest[i] + left - l.onTheWay[i]
		left = max(left, 0)
	}
	return n + left
}
