package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// outcome is what runs came to: how it is coloured (ok, bad or open), in a word, and in a sentence.
type outcome struct{ State, Tag, Text string }

// outcomeOf takes it from the comparisons, the only run, or all the runs. With verdicts, it is no milder than
// those of the runs.
func outcomeOf(sides []Side, comparisons []*compare.Comparison, verdicts bool) outcome {
	all := runsOf(sides)
	switch {
	case len(comparisons) > 0:
		o := outcomeOfCompared(sides, comparisons)
		if failed := failedOf(all); verdicts && len(failed) > 0 {
			o = outcome{"bad", "failed, " + o.Tag, failedText(failed, all) + " Compared: " + o.Text}
		}
		return o
	case len(all) == 1:
		state, tag := stateOf(all[0])
		return outcome{state, tag, all[0].Verdict.Text}
	default:
		return outcomeOfMany(sides, all)
	}
}

// outcomeOfCompared lets the worst outcome colour the whole.
func outcomeOfCompared(sides []Side, comparisons []*compare.Comparison) outcome {
	worst := comparisons[0]
	var verdicts []string
	rank := []compare.Outcome{compare.Better, compare.NoDifference, compare.Inconclusive, compare.Worse}
	for i, c := range comparisons {
		if slices.Index(rank, c.Outcome) > slices.Index(rank, worst.Outcome) {
			worst = c
		}
		verdicts = append(verdicts, sides[i+1].Name+": "+string(c.Outcome))
	}
	o := outcome{outcomeState(worst.Outcome), string(worst.Outcome), worst.Text}
	if len(comparisons) > 1 {
		o.Text = "Against " + sides[0].Name + " – " + strings.Join(verdicts, "; ") + "."
	}
	return o
}

// setCompared shows the comparisons of sides, the first of which is that of the page at first.
func (v *pageView) setCompared(first int, comparisons []*compare.Comparison) {
	for i, c := range comparisons {
		old, new := v.Sides[first], v.Sides[first+i+1]
		v.Compared = append(v.Compared, comparisonView{Old: old, New: new, Text: c.Text, Rows: comparisonRows(c)})
		v.warn(c, new.Name, len(v.Sides) > 2)
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

func failedOf(all []*run.Document) (failed []*run.Document) {
	for _, r := range all {
		if !r.Verdict.Passed {
			failed = append(failed, r)
		}
	}
	return failed
}

func failedText(failed, all []*run.Document) string {
	return fmt.Sprintf("%d of %d runs failed; the first one: %s", len(failed), len(all), failed[0].Verdict.Text)
}

func outcomeOfMany(sides []Side, all []*run.Document) outcome {
	failed := failedOf(all)
	var interrupted []*run.Document
	for _, r := range all {
		if r.Interrupted {
			interrupted = append(interrupted, r)
		}
	}
	switch {
	case len(failed) > 0 && len(interrupted) > 0:
		return outcome{"bad", "interrupted, failed", fmt.Sprintf("%d of %d runs were interrupted, and %s", len(interrupted), len(all), failedText(failed, all))}
	case len(failed) > 0:
		return outcome{"bad", "failed", failedText(failed, all)}
	case len(interrupted) > 0:
		return outcome{"open", "interrupted", fmt.Sprintf("%d of %d runs were interrupted; the first one: %s", len(interrupted), len(all), interrupted[0].Verdict.Text)}
	}
	var tails []string
	late := latencyOf(sides)
	for _, s := range sides {
		if tail := lateTail(s, late); tail != "" {
			tails = append(tails, s.Name+" "+tail)
		}
	}
	return outcome{"ok", "passed", fmt.Sprintf("All %d runs passed; %s: %s.", len(all), late.name, strings.Join(tails, ", "))}
}

// lateTail is empty of a side that has no latency.
func lateTail(s Side, late latency) string {
	all := run.NewHistogram(run.TotalDigits)
	for _, r := range s.Runs {
		if h := late.histogram(r.Histograms); h != nil && all.Merge(h) != nil {
			return ""
		}
	}
	if all.Count() == 0 {
		return ""
	}
	return run.TailText(all)
}

func runsOf(sides []Side) (all []*run.Document) {
	for _, s := range sides {
		all = append(all, s.Runs...)
	}
	return all
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
	v.Lead = append(v.Lead, v.loadLines()...)
	between := " against "
	if v.Cases != nil {
		between = ", "
	}
	v.Title = strings.Join(names, between) + " · " + v.StateTag
	first := v.Sides[0].Runs[0]
	v.Tool = strings.TrimSpace(first.Tool.Name + " " + first.Tool.Version)
}

// loadLines say what was asked for, as far as it is the same of all sides.
func (v *pageView) loadLines() []string {
	var lines []string
	for i, s := range v.Sides {
		q := s.Runs[0].Scenario
		own := []string{
			fmt.Sprintf("%d producers, %d consumers, %s msg/s for %s, delay %s, payload %d B",
				q.Producers, q.Consumers, run.FormatFloat(q.Rate), q.Duration, q.Delay, q.PayloadSize),
			more(q), q.ScaleText(),
		}
		if i == 0 {
			lines = own
		}
		lines = slices.DeleteFunc(lines, func(line string) bool { return line == "" || !slices.Contains(own, line) })
	}
	return lines
}

// serverName is short: the embedded server has a banner of its own.
func serverName(r *run.Document) string {
	if r.Server == nil {
		return "no server"
	}
	return strings.TrimSpace(r.Server.Product + " " + r.Server.Version)
}
