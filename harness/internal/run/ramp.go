package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// RateStep is the result of one step of a ramp: of the messages that were due in it, as the schedule intended.
type RateStep struct {
	// Rate is the planned rate, Offered the confirmed one, a second.
	Rate, Offered float64
	// PastDueP50 is the median over its seconds, PastDueP99 the greatest of them, in ns.
	PastDueP50, PastDueP99 int64
	// Dropped offers were not made, and ServerCPU is the share of a processor that the server used.
	Dropped   int64
	ServerCPU float64

	// behind is which part of the step's offers had not been confirmed at its end, with the offers of earlier steps.
	behind float64
}

// mostBehind is how much a step may be behind: confirmations of its last tenth may arrive in the next one.
const mostBehind = .1

// climbed says up to which rate a run whose rate climbs holds a limit on past due p99, and what happens at the next one; held
// is 0 if it does not hold it at the first.
func (r *Document) climbed(limit time.Duration) (held float64, text string) {
	then := ", the highest rate"
	for _, s := range r.RateSteps() {
		var broken []string
		if s.PastDueP99 > int64(limit) {
			broken = append(broken, "past due p99 "+FormatNs(s.PastDueP99))
		}
		if s.behind > mostBehind {
			broken = append(broken, fmt.Sprintf("%.0f/s offered", s.Offered))
		}
		if s.Dropped > 0 {
			broken = append(broken, fmt.Sprintf("%d offers dropped", s.Dropped))
		}
		if len(broken) > 0 {
			at := fmt.Sprintf("at %s/s: %s", plan.FormatFloat(s.Rate), strings.Join(broken, ", "))
			if then = "; then " + at; held == 0 {
				return 0, at
			}
			break
		}
		held = s.Rate
	}
	return held, fmt.Sprintf("Holds past due p99 of %s up to %s/s%s.", limit, plan.FormatFloat(held), then)
}

// RateSteps returns a row for each step of a ramp whose delay is one for all; nil for every other run. A second counts for a step by
// its part in the step, dropped offers by its middle; messages that were due in it belong to the step of their offers.
func (r *Document) RateSteps() (steps []RateStep) {
	delayed, err := time.ParseDuration(r.Scenario.Delay)
	if r.Scenario.Ramp == "" || err != nil {
		return nil
	}
	delay, end, planned := delayed.Seconds(), 0., 0.
	for part := range strings.SplitSeq(r.Scenario.Ramp, ", ") {
		var s RateStep
		var text string
		_, err := fmt.Sscanf(part, "%f/s for %s", &s.Rate, &text)
		length, malformed := time.ParseDuration(text)
		if err != nil || malformed != nil {
			return nil
		}
		begin := end
		end, planned = end+length.Seconds(), planned+s.Rate*length.Seconds()
		seconds, missing := 0., planned // of the offers up to its end
		var late []int64
		for _, i := range r.Intervals {
			middle, starts := math.Ceil(i.Second)-.5, math.Ceil(i.Second)-1
			until := func(at float64) float64 { return min(max(at-starts, 0), i.Second-starts) } // of it
			part := until(end) - until(begin)
			seconds += part
			s.Offered += float64(i.Offered) * part / (i.Second - starts)
			s.ServerCPU += i.ServerCPUSeconds * part / (i.Second - starts)
			missing -= float64(i.Offered) * until(end) / (i.Second - starts)
			if middle >= begin && middle < end {
				s.Dropped += i.Unsent
			}
			if middle >= begin+delay && middle < end+delay && i.Delivered > 0 {
				late = append(late, i.PastDueP50)
				s.PastDueP99 = max(s.PastDueP99, i.PastDueP99)
			}
		}
		s.Offered, s.ServerCPU, s.behind = s.Offered/max(seconds, .1), s.ServerCPU/max(seconds, .1), missing/max(s.Rate*length.Seconds(), 1)
		if slices.Sort(late); len(late) > 0 {
			s.PastDueP50 = late[len(late)/2]
		}
		steps = append(steps, s)
	}
	return steps
}
