package main

import (
	"fmt"
	"slices"
	"time"
)

// Outcome is what became of the messages of both queues.
type Outcome struct {
	Offered, Acknowledged int
	// MayBeLost were acknowledged and never came, and Redis itself accounts for it; LostBeyond by nothing.
	MayBeLost, LostBeyond int
	// TwiceBeyond counts deliveries by a take beyond the first of a message, unless replication accounts for them.
	TwiceBeyond int
	// Early came more than a millisecond before they were due.
	Early int
	// Gap is the longest time without a delivery of a queue, while messages were due.
	Gap time.Duration
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
	o := &Outcome{}
	near := func(t time.Time) bool { return !t.Before(s.from.Add(-aroundFault)) && !t.After(s.to.Add(aroundFault)) }
	popped := 0
	for i, queue := range []map[string]*message{plain, kept} {
		isPlain := i == 0
		for _, m := range queue {
			if m.sent.IsZero() {
				continue // of the load before
			}
			if o.Offered++; m.err == nil {
				o.Acknowledged++
			}
			if len(m.came) > 0 && m.came[0].Before(m.due.Add(-time.Millisecond)) {
				o.Early++
			}
			if n := len(m.came) - 1; isPlain && n > 0 && (loses < Unreplicated || !near(m.came[0])) {
				o.TwiceBeyond += n
			}
			switch {
			case m.err != nil || len(m.came) > 0:
			case loses >= Unreplicated && near(m.answered):
				o.MayBeLost++
			case isPlain && loses >= Popped && !m.due.After(s.to.Add(aroundFault)) && popped < consumers: // one for each blocked take
				popped++
				o.MayBeLost++
			default:
				o.LostBeyond++
			}
		}
		o.Gap = max(o.Gap, gap(s, queue))
		if stalled(s, queue) {
			o.Stalled++
		}
	}
	return o
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
