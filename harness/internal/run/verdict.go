package run

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
)

// Judge evaluates the objectives, sets SLO, Validity and Verdict, and returns the verdict.
//
// A run fails if anything was lost, delivered twice, early or after it had been cancelled, if it ended by itself while messages that were
// due were still pending, if an offer failed and no objective says how many may, if nothing was accepted, if the system under test held the
// load up, if an agent broke the protocol, or if an objective was missed. An interrupted run may leave messages pending.
//
// Expected are objectives on known faults of the system under test: each must hold, and the count it names is no
// fault. In a run with faults, only the lost, early and pending messages that no event accounts for are faults.
func (r *Document) Judge(slos []SLO, expected ...SLO) Verdict {
	limit, responds := time.Second, false
	r.SLO = []Objective{}
	for i, slo := range slices.Concat(slos, expected) {
		if slo.none {
			continue
		}
		objective := slo.Evaluate(r)
		objective.Expected, objective.Default = i >= len(slos), slo.standard
		switch {
		case objective.Expected:
		case r.Scenario.Climb && slo.metric == "past_due.p99":
			limit = time.Duration(objective.Limit)
			continue
		case slo.standard && objective.Actual == nil:
			continue // nothing was delivered, which other counts show
		}
		responds = responds || !objective.Expected && strings.HasPrefix(slo.metric, "response_time")
		r.SLO = append(r.SLO, objective)
	}
	faults, text := r.failures(), r.outcome()
	if r.Scenario.Climb {
		held, climbs := r.climbed(limit)
		if text = climbs + " " + text; held == 0 {
			faults = append(faults, climbs)
		}
	} else if held := r.heldUp(); held != "" && !responds {
		faults = append(faults, held)
	}
	failed := strings.Join(faults, "; ") + "."
	if len(faults) > 0 {
		text = "Failed: " + failed
	}
	reasons, remedy := r.invalid()
	if len(reasons) > 0 {
		if text = "Invalid: " + reasons[0] + ". " + remedy; len(faults) > 0 {
			text += " Not judged: " + failed
		}
	}
	if r.Interrupted {
		text = "Interrupted. " + text
	}
	r.Validity = &Validity{len(reasons) == 0, append([]string{}, reasons...)}
	r.Verdict = Verdict{Passed: len(faults) == 0 && r.Validity.Valid, Text: text}
	return r.Verdict
}

// failures list the reasons for a run to fail: an expected objective excuses its count, and one on failed offers excuses failed offers.
func (r *Document) failures() (failures []string) {
	var misses []string
	excused := map[string]bool{"lost": r.Faults != nil, "early": r.Faults != nil}
	for _, o := range r.SLO {
		excused[o.Metric] = excused[o.Metric] || o.Expected || o.Metric == "offer_errors"
		if !o.Met {
			misses = append(misses, o.miss())
		}
	}
	return slices.Concat(r.Breaches(), r.faults(excused), misses)
}

// Breaches are failures that no count of messages and no objective shows: of programs, in the warm-up, and beyond the faults that were made.
func (r *Document) Breaches() (all []string) {
	for _, f := range r.AgentFaults {
		when := map[bool]string{true: "in the warm-up", false: fmt.Sprintf("at %.1f s", f.Second)}[f.Warmup]
		all = append(all, fmt.Sprintf("%s %s: %s", f.Agent, when, f.Text))
	}
	add := func(n int64, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(cmp.Or(r.Warmup, &Warmup{}).Lost, "of the warm-up lost")
	f := cmp.Or(r.Faults, &Faults{})
	add(f.LostBeyond, "lost that no fault accounts for")
	add(f.EarlyBeyond, "early that no fault accounts for")
	if own := "dq-bench:" + r.RunID; r.Scenario.Queue == own || strings.HasPrefix(r.Scenario.Queue, own+":") {
		add(r.Counts.Foreign, "values that were not offered were taken from the run's own queue")
	}
	return all
}

// faults says what became of messages that should not, but for the excused counts.
func (r *Document) faults(excused map[string]bool) (faults []string) {
	add := func(name string, n int64, what string) {
		if n > 0 && !excused[name] {
			faults = append(faults, fmt.Sprintf("%d %s", n, what))
		}
	}
	for _, count := range AllCounts {
		if count.Fault != "" {
			add(count.Name, count.Of(r.Counts), count.Fault)
		}
	}
	add("pending", r.overdue(), "still pending at the end, with a drain timeout of "+r.Scenario.DrainTimeout)
	if r.Counts.Offered == 0 && !r.Interrupted {
		faults = append(faults, "no message was accepted")
	}
	return faults
}

// overdue is how many messages were due and not delivered, though the run waited: after an interrupt, if its last seconds have no delivery.
func (r *Document) overdue() int64 {
	if n := len(r.Intervals); r.Interrupted && (r.Faults != nil || n < 2 || r.Intervals[n-1].Delivered+r.Intervals[n-2].Delivered > 0) {
		return 0
	}
	return r.Counts.Pending - r.Counts.NotDue - cmp.Or(r.Faults, &Faults{}).Postponed
}

// Wrong is how many messages were treated wrongly, were not delivered although due, or could not be offered.
func (r *Document) Wrong() int64 { return r.Counts.Faults() + r.Counts.OfferErrors + r.overdue() }

// outcome is the sentence on a run without a fault.
func (r *Document) outcome() string {
	c := r.Counts
	text := map[bool]string{true: "All "}[c.Delivered == c.Offered] + fmt.Sprintf("%d messages delivered", c.Delivered)
	add := func(n int64, format string) {
		if n > 0 {
			text += fmt.Sprintf(format, n)
		}
	}
	add(c.Removed, ", %d cancelled")
	add(c.NotDue, ", %d not due yet")
	add(c.Pending-c.NotDue, ", %d still pending")
	if c.Faults() == 0 {
		text += ", none lost, duplicate or early"
	} else {
		text += "; as expected " + strings.Join(r.faults(map[string]bool{"offer_errors": true}), ", ")
	}
	add(c.OfferErrors, "; %d with a failed offer")
	late := LateOf(r)
	if h := late.Of(r.Histograms); h.Count() > 0 {
		text += fmt.Sprintf("; %s p50 %s, %s", late.Name, FormatNs(h.Quantile(.5)), TailText(h))
	}
	for _, o := range r.SLO {
		if o.Default {
			text += fmt.Sprintf(" (%s by default)", o.Expr)
		}
	}
	return text + "."
}

const (
	onTime = .99 // the share of the offers that must be on time
	// atLimit and mostOf are shares of processors' time while messages were offered, from which on a process was at its limit. A machine is
	// shared: the process that makes the load is also at its limit if nothing is left and it used the most.
	atLimit, mostOf = .9, .75
	// mostBehind is how much a step may be behind: confirmations of its last tenth may arrive in the next one.
	mostBehind = .1
)

// invalid says why the load that was asked for was not made, for the tool or its machine, the cause first, and what to do. No
// reasons are a valid run.
func (r *Document) invalid() (reasons []string, remedy string) {
	if r.ServerGone != "" { // of which all else is a consequence
		return []string{r.ServerGone}, "Look at the server's log, and run again."
	}
	if set := cmp.Or(r.Machine, &Machine{}).ClockSetNs; time.Duration(set).Abs() > EarlyTolerance {
		return []string{"the machine's clock was set by " + FormatNs(set) + " during the run, and due times follow the clock"}, "Wait until the clock is right, and run again."
	}
	remedy = "Lower --rate, or spread the load over more hosts with --listen and --agents."
	for _, e := range cmp.Or(r.Faults, &Faults{}).Events {
		if e.Error != "" {
			reasons = append(reasons, fmt.Sprintf("the fault %q was not made: %s", e.Text, e.Error))
			remedy = "Give the server that --redis process starts, and run again."
		}
	}
	ours, limits := r.processors()
	reasons, text := append(reasons, limits...), r.notMade(ours)
	if text == "" {
		return reasons, remedy
	}
	if r.machineFull() && len(limits) == 0 && r.offeredFor() >= 1 {
		text = fmt.Sprintf("the machine was at its limit while messages were offered: %s of its processors' time was taken, %s of it by the run; %s",
			percent(r.Machine.BusyShare), percent(ours), text)
	}
	if o := r.Offers; len(reasons) == 0 && o != nil && (o.LateForMachine > o.LateForTool || r.machineFull()) {
		remedy = "Leave the machine to the run, and run again."
	}
	return append(reasons, text), remedy
}

// processors returns which share of all processors the run used, the server included, and which process that makes the load was
// at its limit: dq-bench, or the program that the implementation is in. Then the figures are of it, not of the queue.
func (r *Document) processors() (ours float64, limits []string) {
	e, own := r.Environment, 1. // the share of the processors that these processes have
	if e.GOMAXPROCS > 0 && e.GOMAXPROCS < e.CPUs {
		own = float64(e.GOMAXPROCS) / float64(e.CPUs)
	}
	for i, used := range []*ToolUsage{r.ToolUsage, r.ProgramUsage} {
		used = cmp.Or(used, &ToolUsage{})
		ours += used.CPUShare * own
		most := r.machineFull() && used.CPUShare*own >= mostOf*r.Machine.BusyShare
		if r.offeredFor() >= 1 && (most || used.CPUShare >= atLimit) { // else too short for shares to mean something
			limits = append(limits, fmt.Sprintf("%s was at its limit: while messages were offered it used %s of its processors' time",
				[]string{"dq-bench itself", "the program that made the load"}[i], percent(used.CPUShare)))
		}
	}
	if r.ServerStats != nil {
		ours += r.ServerStats.CPUShare / float64(max(e.CPUs, 1))
	}
	return ours, limits
}

// machineFull reports whether the processors of the machine had nothing left.
func (r *Document) machineFull() bool { return r.Machine != nil && r.Machine.BusyShare >= atLimit }

// notMade says that too many offers left late, or not at all, and not for the system under test; empty if they did not.
func (r *Document) notMade(ours float64) string {
	made, held := r.Histograms.OfferRTT.Count(), r.heldUp() != ""
	if o := r.Offers; o != nil && r.many(o.LateForTool+o.LateForMachine) {
		whose, reached := "dq-bench", ""
		if o.LateForMachine > o.LateForTool {
			whose = "the machine, which stalled,"
		}
		if last := r.offeredFor(); last >= 1 && r.Scenario.Rate > 0 {
			reached = fmt.Sprintf("; of %s offers a second about %.0f were made", plan.FormatFloat(r.Scenario.Rate), float64(made)/last)
		}
		return fmt.Sprintf("%s sent %d of %d offers more than %s late%s", whose, o.LateForTool+o.LateForMachine, r.Scenario.Messages, r.maxLag(), reached)
	}
	switch {
	case held && r.machineFull() && r.Environment.CPUs > 0 && ours < r.Machine.BusyShare/2:
		return "answers that came late may be the machine's" // as likely as the system's
	case !held && made > 0 && !r.Interrupted && len(r.AgentFaults) == 0 && r.many(r.Scenario.Messages-made):
		return fmt.Sprintf("%d of %d offers were made", made, r.Scenario.Messages)
	}
	return ""
}

// heldUp says that the system under test held up more offers than may be late, judged from the intended instants; empty if it
// did not. In a run with faults this is planned.
func (r *Document) heldUp() string {
	o := r.Offers
	if o == nil || r.Faults != nil || o.LateForSystem == 0 || !r.many(o.LateForSystem+o.Unsent) {
		return ""
	}
	text := fmt.Sprintf("the system under test held up %d of %d offers by more than %s", o.LateForSystem, r.Scenario.Messages, r.maxLag())
	if o.Unsent > 0 {
		text += fmt.Sprintf(" and %d were dropped", o.Unsent)
	}
	if h := r.Histograms.ResponseTime; h.Count() > 0 {
		text += ": response time " + TailText(h)
	}
	return text
}

// many reports whether so many offers are more than may fail to be on time.
func (r *Document) many(offers int64) bool {
	return float64(offers) > (1-onTime)*float64(max(r.Scenario.Messages, r.Histograms.OfferRTT.Count()))
}

// maxLag is how late an offer may leave.
func (r *Document) maxLag() time.Duration {
	limit, _ := time.ParseDuration(r.Scenario.MaxScheduleLag) // empty in older files
	return cmp.Or(limit, plan.DefaultMaxScheduleLag)
}

// offeredFor is for how many seconds offers were made: until the end of the last second with one, or as planned if that is within this second.
func (r *Document) offeredFor() float64 {
	last := 0.
	for _, i := range r.Intervals {
		if i.Offered > 0 {
			last = i.Second
		}
	}
	if planned, err := time.ParseDuration(r.Scenario.Duration); err == nil && last-1 < planned.Seconds() {
		last = min(last, planned.Seconds())
	}
	return last
}

// RateStep is the result of one step of a ramp: of the messages that were due in it, as the schedule intended.
type RateStep struct {
	// Rate is the planned rate, Offered the confirmed one, a second.
	Rate, Offered float64
	// PastDueP50 is the median over its seconds, PastDueP99 the greatest of them, in ns.
	PastDueP50, PastDueP99 int64
	// Dropped offers were not made, and ServerCPU is the share of a processor that the server used.
	Dropped   int64
	ServerCPU float64

	behind float64 // which part of the step's offers had not been confirmed at its end, with the offers of earlier steps
	cut    bool    // by an interrupt
	grows  bool    // its median is later than an earlier step's by a twentieth of its length: the queue does not keep up
}

// climbed says up to which rate a climb holds a limit on past due p99, and what breaks it at the next one; held is 0 if the first one does.
func (r *Document) climbed(limit time.Duration) (held float64, text string) {
	then := map[bool]string{false: ", the highest rate"}[r.Interrupted]
	steps := slices.DeleteFunc(r.RateSteps(), func(s RateStep) bool { return s.cut })
	if r.Interrupted && len(steps) == 0 {
		return 1, "No step ended."
	}
	for _, s := range steps {
		var broken []string
		add := func(seen bool, text string) {
			if seen {
				broken = append(broken, text)
			}
		}
		add(s.PastDueP99 == 0, "no delivery")
		add(s.PastDueP99 > int64(limit), "past due p99 "+FormatNs(s.PastDueP99))
		add(s.grows, "past due p50 grew to "+FormatNs(s.PastDueP50))
		add(s.behind > mostBehind, fmt.Sprintf("%.0f/s offered", s.Offered))
		add(s.Dropped > 0, fmt.Sprintf("%d offers dropped", s.Dropped))
		if len(broken) > 0 {
			at := fmt.Sprintf("at %s/s: %s", plan.FormatFloat(s.Rate), strings.Join(broken, ", "))
			if then = "; then " + at; held == 0 {
				return 0, fmt.Sprintf("past due p99 of %s does not hold %s", limit, at)
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
	delay, end, planned, least := delayed.Seconds(), 0., 0., time.Hour
	for part := range strings.SplitSeq(r.Scenario.Ramp, ", ") {
		s, text := RateStep{}, ""
		_, err := fmt.Sscanf(part, "%f/s for %s", &s.Rate, &text)
		length, malformed := time.ParseDuration(text)
		if err != nil || malformed != nil {
			return nil
		}
		begin := end
		end, planned, least = end+length.Seconds(), planned+s.Rate*length.Seconds(), min(least, length/5)
		seconds, missing, late := 0., planned, []int64{} // of the offers up to its end
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
		s.cut = r.Interrupted && (end > r.offeredFor()-1 || end+delay > r.ElapsedSeconds-1)
		s.Offered, s.ServerCPU, s.behind = s.Offered/max(seconds, .1), s.ServerCPU/max(seconds, .1), missing/max(s.Rate*length.Seconds(), 1)
		if slices.Sort(late); len(late) > 0 {
			s.PastDueP50 = late[len(late)/2]
			s.grows = time.Duration(s.PastDueP50) > least+length/20
			least = min(least, time.Duration(s.PastDueP50))
		}
		steps = append(steps, s)
	}
	return steps
}
