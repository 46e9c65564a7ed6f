package load

import (
	"cmp"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// account says what became of the messages of a run of a plan that lasted from start to end. The kill of a member of its fleet is
// an event too.
func account(p plan.Plan, start, end time.Time, messages []Message, events []Event) *run.Faults {
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

// offeredIn reports whether a message was offered while an event lasted.
func offeredIn(e Event, m Message) bool {
	return m.Sent != 0 && m.Sent <= e.To.UnixNano() && (m.Answered == 0 || m.Answered >= e.From.UnixNano())
}

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

// settled is how long after its end a second is closed: later reports count for the next open one.
const settled = 500 * time.Millisecond

// second is a second that is not over yet. Its Pending is by how many messages more are pending.
type second struct {
	run.Interval
	h        run.Histograms
	arrivals []delivery
}

// second is the second of an instant, or the oldest that is not closed.
func (c *collector) second(at int64) *second {
	k := max((at-c.start)/int64(time.Second), c.closed)
	s := c.seconds[k]
	if s == nil {
		s = &second{h: run.NewHistograms()}
		c.seconds[k] = s
	}
	return s
}

// close closes the seconds that ended before an instant, Unix ns; with last all that there is.
func (c *collector) close(now int64, last bool) (all []*second) {
	elapsed := now - c.start
	for k := c.closed; (k+1)*int64(time.Second) <= elapsed || last && (len(c.seconds) > 0 || k == 0); k++ {
		s := c.second(c.start + k*int64(time.Second))
		delete(c.seconds, k)
		s.Second = float64(k + 1)
		if last && len(c.seconds) == 0 {
			s.Second = min(s.Second, max(float64(elapsed)/1e9, float64(k)))
		}
		c.pending += s.Pending
		late, past := s.h.Lateness, s.h.PastDue
		s.Pending, s.Inversions = max(c.pending, 0), c.order.add(s.arrivals)
		s.P50, s.P99, s.Max = late.Quantile(.5), late.Quantile(.99), late.Max()
		s.PastDueP50, s.PastDueP99, s.PastDueMax = past.Quantile(.5), past.Quantile(.99), past.Max()
		c.intervals = append(c.intervals, s.Interval)
		c.histograms.Add(s.h)
		c.log.Add(instant(c.start+k*int64(time.Second)), instant(c.start+int64(s.Second*1e9)), late)
		c.closed = k + 1
		all = append(all, s)
	}
	return all
}

// delivery is a delivery at an instant, of a message that was due at another, in Unix ns.
type delivery struct{ came, due, index int64 }

// order counts inversions: messages delivered after a message that was due clearly later.
type order struct {
	run.Order
	queues, producers []int64 // the latest due instant delivered
}

// apart is by how much a message must be due earlier, to be out of order: the resolution of the format.
const apart = int64(time.Millisecond)

// add takes the deliveries of a second, and returns the number out of order.
func (o *order) add(arrivals []delivery) int64 {
	slices.SortFunc(arrivals, func(a, b delivery) int {
		return cmp.Or(cmp.Compare(a.came, b.came), cmp.Compare(a.due, b.due))
	})
	before := o.Inversions
	for _, a := range arrivals {
		queue, producer := &o.queues[a.index%int64(len(o.queues))], &o.producers[a.index%int64(len(o.producers))]
		if by := *queue - a.due; by >= apart {
			o.Inversions++
			o.LongestNs = max(o.LongestNs, by)
		}
		if *producer-a.due >= apart {
			o.OfOneProducer++
		}
		*queue, *producer = max(*queue, a.due), max(*producer, a.due)
	}
	return o.Inversions - before
}
