package report

import (
	"fmt"
	"strings"
)

// Judge evaluates the objectives, sets SLO and Verdict, and returns the verdict.
//
// A run fails if anything was lost, delivered twice or early, if it ended by
// itself while messages that were due were still pending, if it offered
// something and nothing was taken over, or if an objective was missed. An
// interrupted run may leave messages pending.
func (r *Run) Judge(slos []SLO) Verdict {
	r.SLO = make([]Objective, 0, len(slos))
	faults := r.faults()
	for _, slo := range slos {
		objective := slo.Evaluate(r)
		r.SLO = append(r.SLO, objective)
		if !objective.Met {
			faults = append(faults, objective.miss())
		}
	}
	text := r.outcome()
	if len(faults) > 0 {
		text = "Failed: " + strings.Join(faults, "; ") + "."
	}
	if r.Interrupted {
		text = "Interrupted. " + text
	}
	r.Verdict = Verdict{Passed: len(faults) == 0, Text: text}
	return r.Verdict
}

func (r *Run) faults() []string {
	c := r.Counts
	var faults []string
	for _, f := range []struct {
		n    int64
		what string
	}{
		{c.Lost, "lost"}, {c.Duplicate, "delivered more than once"}, {c.Early, "delivered early"},
	} {
		if f.n > 0 {
			faults = append(faults, fmt.Sprintf("%d %s", f.n, f.what))
		}
	}
	if c.Pending > 0 && !r.Interrupted {
		faults = append(faults, fmt.Sprintf("%d still pending after the drain timeout of %s", c.Pending, r.Scenario.DrainTimeout))
	}
	if c.Offered == 0 && !r.Interrupted {
		faults = append(faults, fmt.Sprintf("no message was taken over, %d offers failed", c.OfferErrors))
	}
	return faults
}

// outcome is the sentence on a run without a fault.
func (r *Run) outcome() string {
	c := r.Counts
	var s strings.Builder
	fmt.Fprintf(&s, "All %d messages delivered", c.Delivered)
	if c.Pending > 0 {
		s.Reset()
		fmt.Fprintf(&s, "%d messages delivered, %d still pending", c.Delivered, c.Pending)
	}
	s.WriteString(", none lost, duplicate or early")
	if c.OfferErrors > 0 {
		fmt.Fprintf(&s, "; %d offers failed", c.OfferErrors)
	}
	if h := r.Histograms.Lateness; h != nil && h.Count() > 0 {
		fmt.Fprintf(&s, "; lateness p50 %s, %s", FormatNs(h.Quantile(.5)), tailText(h))
	}
	return s.String() + "."
}

// tailText names the highest of p99 and max that the samples bear.
func tailText(h *Histogram) string {
	if Bears(h.Count(), .99) {
		return "p99 " + FormatNs(h.Quantile(.99))
	}
	return "max " + FormatNs(h.Max())
}
