package run

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Judge evaluates the objectives, sets SLO and Verdict, and returns the verdict.
//
// A run is invalid if the load that was asked for was not made, for the tool or the machine (Validity).
// It fails if the system under test held the load up, or an agent broke the protocol, if anything was lost, delivered twice, early or after it had been cancelled, if it
// ended by itself while messages that were due were still pending, if an offer failed
// and no objective says how many may, if nothing was accepted, or if an objective was
// missed. An interrupted run may leave messages pending.
//
// Expected are objectives on what the system under test is known to do wrong:
// each must hold, and the count it names is no fault. Where something was made to break, of
// the lost, early and pending messages those are a fault that no event accounts for. So a run that is expected to
// lose messages fails if it loses none.
func (r *Document) Judge(slos []SLO, expected ...SLO) Verdict {
	r.SLO = make([]Objective, 0, len(slos)+len(expected))
	excused := map[string]bool{"offer_errors": slices.ContainsFunc(slos, func(s SLO) bool { return s.metric == "offer_errors" })}
	for _, e := range expected {
		excused[e.metric] = true
	}
	if r.Faults != nil {
		excused["lost"], excused["early"] = true, true
	}
	slos = slices.DeleteFunc(slices.Clone(slos), func(s SLO) bool { return s.none })
	climbs := ""
	faults := append(r.agentFaults(), r.faults(excused)...)
	if r.Scenario.Climb {
		limit := time.Second
		slos = slices.DeleteFunc(slos, func(s SLO) bool {
			late := s.metric == "past_due.p99" || s.metric == "lateness.p99"
			if late {
				limit = time.Duration(s.limit)
			}
			return late
		})
		var held float64
		if held, climbs = r.climbed(limit); held == 0 {
			faults = append(faults, climbs)
		}
	}
	judged := slices.ContainsFunc(slos, func(s SLO) bool { return strings.HasPrefix(s.metric, "response_time") })
	if text := r.heldUpText(); text != "" && !judged && !r.Scenario.Climb {
		faults = append(faults, text)
	}
	if r.Faults != nil && r.Faults.LostBeyond > 0 {
		faults = append(faults, fmt.Sprintf("%d lost that no fault accounts for", r.Faults.LostBeyond))
	}
	if r.Faults != nil && r.Faults.EarlyBeyond > 0 {
		faults = append(faults, fmt.Sprintf("%d early that no fault accounts for", r.Faults.EarlyBeyond))
	}
	for i, slo := range slices.Concat(slos, expected) {
		objective := slo.Evaluate(r)
		if slo.standard && objective.Actual == nil {
			continue // nothing came, which other counts tell
		}
		objective.Expected, objective.Default = i >= len(slos), slo.standard
		r.SLO = append(r.SLO, objective)
		if !objective.Met {
			faults = append(faults, objective.miss())
		}
	}
	text := r.outcome()
	if climbs != "" && len(faults) == 0 {
		text = climbs + " " + text
	}
	if len(faults) > 0 {
		text = "Failed: " + strings.Join(faults, "; ") + "."
	}
	r.Validity = r.validate()
	if !r.Validity.Valid {
		text = "Invalid: " + r.Validity.Reasons[0] + ". " + r.remedy()
		if len(faults) > 0 {
			text += " Not judged: " + strings.Join(faults, "; ") + "."
		}
	}
	if r.Interrupted {
		text = "Interrupted. " + text
	}
	r.Verdict = Verdict{Passed: len(faults) == 0 && r.Validity.Valid, Text: text}
	return r.Verdict
}

// remedy says what to do about an invalid run.
func (r *Document) remedy() string {
	switch {
	case r.ServerGone != "":
		return "Look at the server's log, and run again."
	case len(r.Faults.broken()) > 0:
		return "Give the server that --redis process starts, and run again."
	case r.Offers != nil && r.Offers.LateForMachine > r.Offers.LateForTool:
		return "Leave the machine to the run, and run again."
	}
	return "Lower --rate, or spread the load over more hosts with --listen and --agents."
}

// agentFaults says what agents did against the protocol, and when.
func (r *Document) agentFaults() (faults []string) {
	for _, f := range r.AgentFaults {
		faults = append(faults, fmt.Sprintf("%s at %.1f s: %s", f.Agent, f.Second, f.Text))
	}
	if r.Warmup != nil && r.Warmup.Lost > 0 {
		faults = append(faults, fmt.Sprintf("%d of the warm-up lost", r.Warmup.Lost))
	}
	return faults
}

// faults says what went wrong, the excused counts apart.
func (r *Document) faults(excused map[string]bool) []string {
	c := r.Counts
	var faults []string
	for _, count := range AllCounts {
		if n := count.Of(c); n > 0 && count.Fault != "" && !excused[count.Name] {
			faults = append(faults, fmt.Sprintf("%d %s", n, count.Fault))
		}
	}
	due := c.Pending - c.NotDue
	if r.Faults != nil {
		due -= r.Faults.Postponed
	}
	if n := due; n > 0 && !r.Interrupted && !excused["pending"] {
		waited := "timeout of " + r.Scenario.DrainTimeout
		if r.Scenario.DrainLimit != "" {
			waited = "limit of " + r.Scenario.DrainLimit
		}
		faults = append(faults, fmt.Sprintf("%d still pending after the drain %s", n, waited))
	}
	if own := "dq-bench:" + r.RunID; c.Foreign > 0 && (r.Scenario.Queue == own || strings.HasPrefix(r.Scenario.Queue, own+":")) && !excused["foreign"] {
		faults = append(faults, fmt.Sprintf("%d values that nobody offered came out of the run's own queue", c.Foreign))
	}
	if c.Offered == 0 && !r.Interrupted {
		faults = append(faults, fmt.Sprintf("no message was accepted, %d offers failed", c.OfferErrors))
	}
	return faults
}

// outcome is the sentence on a run without a fault.
func (r *Document) outcome() string {
	c := r.Counts
	var s strings.Builder
	fmt.Fprintf(&s, "All %d messages delivered", c.Delivered)
	if c.Delivered < c.Offered {
		s.Reset()
		fmt.Fprintf(&s, "%d messages delivered", c.Delivered)
	}
	for _, part := range []struct {
		n    int64
		what string
	}{{c.Removed, "cancelled"}, {c.NotDue, "not due yet"}, {c.Pending - c.NotDue, "still pending"}} {
		if part.n > 0 {
			fmt.Fprintf(&s, ", %d %s", part.n, part.what)
		}
	}
	if c.Faults() == 0 {
		s.WriteString(", none lost, duplicate or early")
	} else {
		fmt.Fprintf(&s, "; as expected %s", strings.Join(r.faults(map[string]bool{"offer_errors": true}), ", "))
	}
	if c.OfferErrors > 0 {
		fmt.Fprintf(&s, "; %d offers failed", c.OfferErrors)
	}
	if name, h := r.Late(); h != nil && h.Count() > 0 {
		fmt.Fprintf(&s, "; %s p50 %s, %s", strings.ReplaceAll(name, "_", " "), FormatNs(h.Quantile(.5)), TailText(h))
	}
	for _, o := range r.SLO {
		if o.Default {
			fmt.Fprintf(&s, " (%s by default)", o.Expr)
		}
	}
	return s.String() + "."
}

// TailText names the highest of p99 and max that the samples bear.
func TailText(h *Histogram) string {
	if Bears(h.Count(), .99) {
		return "p99 " + FormatNs(h.Quantile(.99))
	}
	return "max " + FormatNs(h.Max())
}
