package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/compare"
	"github.com/dq-bench/dq-bench/harness/run"
)

// setVerdict takes the sentence at the top from the comparisons, the only run, or
// all the runs.
func (v *pageView) setVerdict(comparisons []*compare.Comparison) {
	all := v.allRuns()
	switch {
	case len(comparisons) > 0:
		v.setCompared(comparisons)
	case len(all) == 1:
		v.Verdict = all[0].Verdict.Text
		v.State, v.StateTag = stateOf(all[0])
	default:
		v.setManyRuns(all)
	}
}

// setCompared lets the worst outcome colour the whole.
func (v *pageView) setCompared(comparisons []*compare.Comparison) {
	worst := comparisons[0]
	var verdicts []string
	rank := []compare.Outcome{compare.Better, compare.NoDifference, compare.Inconclusive, compare.Worse}
	for i, c := range comparisons {
		if slices.Index(rank, c.Outcome) > slices.Index(rank, worst.Outcome) {
			worst = c
		}
		name := v.Sides[i+1].Name
		verdicts = append(verdicts, name+": "+string(c.Outcome))
		v.Compared = append(v.Compared, comparisonView{Old: v.Sides[0], New: v.Sides[i+1], Text: c.Text, Rows: comparisonRows(c)})
		v.warn(c, name, len(comparisons) > 1)
	}
	v.Verdict, v.StateTag, v.State = worst.Text, string(worst.Outcome), outcomeState(worst.Outcome)
	if len(comparisons) > 1 {
		v.Verdict = "Against " + v.Sides[0].Name + " – " + strings.Join(verdicts, "; ") + "."
	}
}

// warn shows what a comparison was made in spite of, and what weakens it, each once.
func (v *pageView) warn(c *compare.Comparison, name string, named bool) {
	var unfit []string
	for _, r := range v.allRuns() {
		unfit = append(unfit, compare.Unfit(r))
	}
	add := func(title, text string) {
		if named {
			text = name + ": " + text
		}
		if b := (banner{title, text}); !slices.Contains(v.Warnings, b) {
			v.Warnings = append(v.Warnings, b)
		}
	}
	for _, warning := range c.Warnings {
		add("Warning.", warning)
	}
	for _, d := range c.Differences {
		if slices.Contains(unfit, d) {
			add("Not to be judged.", d)
		} else {
			add("Different configurations.", d)
		}
	}
}

func outcomeState(o compare.Outcome) string {
	switch o {
	case compare.Better:
		return "ok"
	case compare.Worse:
		return "bad"
	case "":
		return "" // not judged
	default:
		return "open"
	}
}

// stateOf is how a run is marked: one that was stopped early passed only what it came to.
func stateOf(r *run.Document) (state, outcome string) {
	interrupted := ""
	if r.Interrupted {
		interrupted = "interrupted, "
	}
	switch {
	case !r.Valid():
		return "bad", interrupted + "invalid"
	case !r.Verdict.Passed:
		return "bad", interrupted + "failed"
	case r.Interrupted:
		return "open", "interrupted"
	}
	return "ok", "passed"
}

func (v *pageView) setManyRuns(all []*run.Document) {
	var failed, interrupted []*run.Document
	for _, r := range all {
		if !r.Verdict.Passed {
			failed = append(failed, r)
		}
		if r.Interrupted {
			interrupted = append(interrupted, r)
		}
	}
	v.State, v.StateTag = "ok", "passed"
	switch {
	case len(failed) > 0:
		v.State, v.StateTag = "bad", "failed"
		v.Verdict = fmt.Sprintf("%d of %d runs failed; the first one: %s", len(failed), len(all), failed[0].Verdict.Text)
		if len(interrupted) > 0 {
			v.StateTag = "interrupted, failed"
			v.Verdict = fmt.Sprintf("%d of %d runs were interrupted, and %s", len(interrupted), len(all), v.Verdict)
		}
		return
	case len(interrupted) > 0:
		v.State, v.StateTag = "open", "interrupted"
		v.Verdict = fmt.Sprintf("%d of %d runs were interrupted; the first one: %s", len(interrupted), len(all), interrupted[0].Verdict.Text)
		return
	}
	var tails []string
	for _, s := range v.Sides {
		if s.late().Count() > 0 {
			tails = append(tails, s.Name+" "+run.TailText(s.late()))
		}
	}
	v.Verdict = fmt.Sprintf("All %d runs passed; %s: %s.", len(all), v.Sides[0].latency.name, strings.Join(tails, ", "))
}

func (v *pageView) allRuns() []*run.Document {
	var all []*run.Document
	for _, s := range v.Sides {
		all = append(all, s.all...)
	}
	return all
}

// setLead says in a few words what ran where, and marks what ran on no Redis.
func (v *pageView) setLead() {
	var names []string
	for _, s := range v.Sides {
		names = append(names, s.Name)
		r := s.Runs[0]
		text := r.Driver.String() + " on " + serverName(r)
		if v.Many {
			text = s.Name + " on " + serverName(r)
		}
		if len(s.Runs) > 1 {
			text += ", " + compare.CountRuns(len(s.Runs))
		}
		v.Lead = append(v.Lead, text)
		for _, r := range s.Runs {
			if r.Server != nil && r.Server.Embedded {
				v.Embedded = append(v.Embedded, s.Name)
				break
			}
		}
	}
	first := v.Sides[0].Runs[0]
	q := first.Scenario
	v.Lead = append(v.Lead, fmt.Sprintf("%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B",
		q.Producers, q.Consumers, run.FormatFloat(q.Rate), q.Duration, q.Delay, q.PayloadSize))
	if more := more(q); more != "" {
		v.Lead = append(v.Lead, more)
	}
	if text := q.ScaleText(); text != "" {
		v.Lead = append(v.Lead, text)
	}
	v.Title = strings.Join(names, " against ") + " · " + v.StateTag
	v.Tool = strings.TrimSpace(first.Tool.Name + " " + first.Tool.Version)
}

// serverName is short: the embedded server has a banner of its own.
func serverName(r *run.Document) string {
	if r.Server == nil {
		return "no server"
	}
	return strings.TrimSpace(r.Server.Product + " " + r.Server.Version)
}
