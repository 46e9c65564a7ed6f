package load

import (
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// account says what became of the messages of a run of a plan that began at start. The kill of a member of its fleet is
// an event too.
func account(p plan.Plan, start time.Time, messages []Message, events []Event) *run.Faults {
	f := &run.Faults{Events: []run.FaultEvent{}}
	events = slices.Clone(events)
	for _, m := range p.Fleet {
		if m.Kill {
			at := start.Add(m.To)
			events = append(events, Event{Fault: plan.Fault{Kind: plan.KillMember, At: m.To}, From: at, To: at, takes: m.Takes})
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.From.Compare(b.From) })
	var lost []Message
	for _, m := range messages {
		if m.Sent != 0 {
			f.Offered++
		}
		f.Duplicate += m.Again
		if m.Came != 0 && early(m) {
			f.Early, f.EarlyBeyond = f.Early+1, f.EarlyBeyond+1
		}
		switch {
		case m.Answered != 0 && !m.Failed:
			f.Acknowledged++
			if m.Came == 0 && !m.Pending {
				f.Lost++
				lost = append(lost, m)
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
	f.LostBeyond = lostBeyond(p, events, messages, lost)
	for _, e := range events {
		d := run.FaultEvent{
			Kind: e.Kind, Text: e.String(), Times: e.Times, MayLose: string(e.loss()), ResumedNs: resumed(messages, e.To),
			From: e.From.Sub(start).Seconds(), To: e.To.Sub(start).Seconds(),
		}
		if e.Err != nil {
			d.Error = e.Err.Error()
		}
		f.Events = append(f.Events, d)
	}
	return f
}

// Message is the record of one message of the measured phase. Instants are Unix times in ns, 0 for steps that did not happen.
type Message struct {
	// Due is its due instant.
	Due int64
	// Sent is the instant before its offer, Answered the instant of the answer, which Failed says was an error, and Refused
	// one which says that nothing was queued. An offer without an answer was cancelled, or its process was killed.
	Sent, Answered  int64
	Failed, Refused bool
	// Came is the first delivery; Again counts the later ones.
	Came, Again int64
	// Pending says that it is still held at the end.
	Pending bool
}

func early(m Message) bool { return m.Came-m.Due < -int64(run.EarlyTolerance) }

// afterwards is for how long after its end a fault may show: the server still carries out a command.
const afterwards = time.Second

// resumed is how long after an instant the next message was on time; nil if no message was.
func resumed(messages []Message, ended time.Time) *int64 {
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

// lostBeyond is how many lost messages no event accounts for. What exceeds one event's share counts for the next event.
func lostBeyond(p plan.Plan, events []Event, messages, lost []Message) (beyond int64) {
	for _, e := range events {
		lost = slices.DeleteFunc(lost, func(m Message) bool {
			before := e.loss() == plan.AllBefore || e.loss() == plan.LastSecond && m.Answered >= e.From.UnixNano()-int64(time.Second)
			return before && m.Answered <= e.To.UnixNano()
		})
	}
	for _, e := range events {
		most := int64(p.Consumers) // takes that it may have interrupted
		switch {
		case e.loss() == plan.NoLoss:
			continue
		case e.Kind == plan.LoseReplies:
			most = int64(e.Times)
		}
		// Messages arrive by their due times: one that is older than all later ones was on its way before.
		since := e.From.Add(-afterwards).UnixNano()
		oldest := since
		for _, m := range messages {
			if m.Came >= since {
				oldest = min(oldest, m.Due)
			}
		}
		left := len(lost)
		lost = slices.DeleteFunc(lost, func(m Message) bool {
			// A take that was under way may be carried out after the connection broke.
			return most > 0 && m.Due >= oldest && m.Due <= e.To.Add(afterwards).UnixNano()
		})
		beyond = max(beyond+int64(left-len(lost))-most, 0)
	}
	return beyond + int64(len(lost))
}
