package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Outcome is what became of the messages of both queues.
type Outcome struct {
	// Offered are all, Acknowledged, Refused and Uncertain what they were answered with; of the uncertain
	// UncertainCame were delivered.
	Offered, Acknowledged, Refused, Uncertain, UncertainCame int
	// LostPopped and LostUnreplicated were acknowledged and never came, and Redis itself accounts for
	// it; LostBeyond by nothing. LostKept are those of LostUnreplicated, and LostBeyond, that were taken reliably.
	LostPopped, LostUnreplicated, LostBeyond, LostKept int
	// Twice counts deliveries by a take beyond the first of a message, TwiceBeyond those of them that
	// replication does not account for, and Again those of the Worker's queue, which promises no less.
	Twice, TwiceBeyond, Again int
	// Early came more than a millisecond before they were due.
	Early int
	// Fault is how long the fault took. Gap is the longest time without a delivery of a queue, while messages
	// were due, and Resumed how long after the fault the first one was on time; negative where none was, which
	// may be the machine's doing.
	Fault, Gap, Resumed time.Duration
	// Stalled counts the queues, of the two, of which nothing came that was due after the fault.
	Stalled int
}

// Faults says what of an outcome is dq's fault; nothing if all is well.
func (o *Outcome) Faults() (faults []string) {
	for _, f := range []struct {
		n    int
		what string
	}{{o.LostBeyond, "lost beyond what Redis may lose"}, {o.TwiceBeyond, "delivered twice"}, {o.Early, "early"}, {o.Stalled, "queues of which nothing came after the fault"}} {
		if f.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	if o.Acknowledged == 0 {
		faults = append(faults, "nothing was acknowledged")
	}
	return faults
}

// span is when a load began, its fault happened, and the last offer was made.
type span struct{ began, from, to, ended time.Time }

// aroundFault is how far around a fault its effects reach: how far replicas may be behind before it, and until
// when takes that it broke are carried out.
const aroundFault = time.Second

func account(loses Loss, s span, plain, kept map[string]*message) *Outcome {
	o := &Outcome{Fault: s.to.Sub(s.from)}
	for _, m := range plain {
		o.count(m)
		within := func(t time.Time) bool { return !t.Before(s.from.Add(-aroundFault)) && !t.After(s.to.Add(aroundFault)) }
		if n := len(m.came) - 1; n > 0 {
			o.Twice += n
			if loses < Unreplicated || !within(m.came[0]) {
				o.TwiceBeyond += n
			}
		}
		switch {
		case !m.lost():
		case loses >= Unreplicated && within(m.answered):
			o.LostUnreplicated++
		case loses >= Popped && !m.due.After(s.to.Add(aroundFault)) && o.LostPopped < consumers: // one for each blocked take
			o.LostPopped++
		default:
			o.LostBeyond++
		}
	}
	for _, m := range kept {
		o.count(m)
		o.Again += max(len(m.came)-1, 0)
		switch {
		case !m.lost():
			continue
		case loses >= Unreplicated && !m.answered.Before(s.from.Add(-aroundFault)) && !m.answered.After(s.to.Add(aroundFault)):
			o.LostUnreplicated++
		default:
			o.LostBeyond++
		}
		o.LostKept++
	}
	for _, queue := range []map[string]*message{plain, kept} {
		o.Gap = max(o.Gap, gap(s, queue))
		if stalled(s, queue) {
			o.Stalled++
		}
		after := resumedAfter(s, queue)
		if after < 0 || o.Resumed < 0 {
			o.Resumed = -1
		} else {
			o.Resumed = max(o.Resumed, after)
		}
	}
	return o
}

// lost reports whether it was acknowledged and never came.
func (m *message) lost() bool { return !m.sent.IsZero() && m.err == nil && len(m.came) == 0 }

func (o *Outcome) count(m *message) {
	if m.sent.IsZero() {
		return // of the load before
	}
	o.Offered++
	switch {
	case m.err == nil:
		o.Acknowledged++
	case errors.Is(m.err, dq.ErrUncertain):
		o.Uncertain++
		o.UncertainCame += min(len(m.came), 1)
	default:
		o.Refused++
	}
	if len(m.came) > 0 && m.came[0].Before(m.due.Add(-time.Millisecond)) {
		o.Early++
	}
}

// gap is the longest time without a delivery.
func gap(s span, all map[string]*message) (longest time.Duration) {
	var came []time.Time
	for _, m := range all {
		came = append(came, m.came...)
	}
	slices.SortFunc(came, time.Time.Compare)
	last := s.began.Add(mostDelay)
	for _, t := range came {
		if t.After(s.ended) {
			break
		}
		longest = max(longest, t.Sub(last))
		last = t
	}
	return max(longest, s.ended.Sub(last))
}

// stalled reports whether nothing came that was due after the fault.
func stalled(s span, all map[string]*message) bool {
	for _, m := range all {
		if m.due.After(s.to) && len(m.came) > 0 {
			return false
		}
	}
	return true
}

// resumedAfter is how long after the fault the first delivery on time came; negative for none.
func resumedAfter(s span, all map[string]*message) time.Duration {
	first := time.Duration(-1)
	for _, m := range all {
		if len(m.came) == 0 || m.came[0].Before(s.to) || m.came[0].Sub(m.due) > run.OnTime {
			continue
		}
		if after := m.came[0].Sub(s.to); first < 0 || after < first {
			first = after
		}
	}
	return first
}
