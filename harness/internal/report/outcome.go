package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// outcome is a verdict: its colour, in a word, and in a sentence.
type outcome struct{ state, tag, text string }

// outcome is the verdict of the comparisons, of the only run, or of all runs. With Verdicts it is no milder than theirs.
func (r Result) outcome() outcome {
	all := compare.All(r.Sets)
	if len(r.Comparisons) == 0 && len(all) == 1 {
		return stateOf(all[0])
	}
	var failed, cut []*run.Document
	for _, d := range all {
		if !d.Verdict.Passed {
			failed = append(failed, d)
		}
		if d.Interrupted {
			cut = append(cut, d)
		}
	}
	some := func(runs []*run.Document, what string) string {
		return fmt.Sprintf("%d of %d runs %s", len(runs), len(all), what)
	}
	failures := ""
	if len(failed) > 0 {
		failures = some(failed, "failed; the first one: ") + failed[0].Verdict.Text
	}
	switch {
	case len(r.Comparisons) > 0 && r.Verdicts && failures != "":
		o := r.compared()
		return outcome{"bad", "failed, " + o.tag, failures + " Compared: " + o.text}
	case len(r.Comparisons) > 0:
		return r.compared()
	case failures != "" && len(cut) > 0:
		return outcome{"bad", "interrupted, failed", some(cut, "were interrupted, and ") + failures}
	case failures != "":
		return outcome{"bad", "failed", failures}
	case len(cut) > 0:
		return outcome{"open", "interrupted", some(cut, "were interrupted; the first one: ") + cut[0].Verdict.Text}
	}
	late := lateOf(r.Sets)
	var tails []string
	for _, s := range r.Sets {
		if h := merged(s, late); h.Count() > 0 {
			tails = append(tails, s.Name+" "+run.TailText(h))
		}
	}
	return outcome{"ok", "passed", fmt.Sprintf("All %d runs passed; %s: %s.", len(all), late.Name, strings.Join(tails, ", "))}
}

// compared lets the worst comparison decide.
func (r Result) compared() outcome {
	worst := r.Comparisons[0]
	var each []string
	rank := []compare.Outcome{compare.Better, compare.NoDifference, compare.Inconclusive, compare.Worse}
	for i, c := range r.Comparisons {
		if slices.Index(rank, c.Outcome) > slices.Index(rank, worst.Outcome) {
			worst = c
		}
		each = append(each, r.Sets[i+1].Name+": "+string(c.Outcome))
	}
	o := outcome{stateOfOutcome(worst.Outcome), string(worst.Outcome), worst.Text}
	if len(r.Comparisons) > 1 {
		o.text = "Against " + r.Sets[0].Name + " – " + strings.Join(each, "; ") + "."
	}
	return o
}

func stateOfOutcome(o compare.Outcome) string {
	return map[compare.Outcome]string{compare.Better: "ok", compare.NoDifference: "ok", compare.Worse: "bad", compare.Inconclusive: "open"}[o]
}

// stateOf is how a run is marked. An interrupted run passed only as far as it came.
func stateOf(r *run.Document) outcome {
	o := outcome{"ok", "passed", r.Verdict.Text}
	switch {
	case !r.Valid():
		o.state, o.tag = "bad", "invalid"
	case !r.Verdict.Passed:
		o.state, o.tag = "bad", "failed"
	case r.Interrupted:
		o.state, o.tag = "open", ""
	}
	if r.Interrupted {
		o.tag = strings.TrimSuffix("interrupted, "+o.tag, ", ")
	}
	return o
}

// Cases are plans that run one after the other, such as the variants of a scenario.
type Cases struct {
	Kind string // the noun for one of them: "variant"
	All  []Case
}

// Case is one of Cases: its Result, or why there is none.
type Case struct {
	Name string
	Result
	Standing string // why a case has no runs: ToCome, Running or NeverRan
	Failure  string // why the case has no result; empty if it did not fail
}

// The standings of a Case without runs.
const (
	ToCome   = "to come"
	Running  = "running"
	NeverRan = "never ran"
)

func (c Case) outcome() outcome {
	switch {
	case c.Failure != "":
		return outcome{"bad", "failed", c.Failure}
	case len(c.Sets) == 0:
		return outcome{"open", c.Standing, ""}
	}
	c.Verdicts = true
	o := c.Result.outcome()
	if c.Interrupted != "" {
		if !strings.Contains(o.tag, "interrupted") {
			o.tag = "interrupted, " + o.tag
		}
		o.text += " Interrupted: " + c.Interrupted + "."
	}
	return o
}

func (c Case) failed() bool {
	return c.Failure != "" || slices.ContainsFunc(compare.All(c.Sets), func(r *run.Document) bool { return !r.Verdict.Passed })
}

// Failed reports whether any case failed.
func (c Cases) Failed() bool { return slices.ContainsFunc(c.All, Case.failed) }

// Text says which cases passed, which failed and why the first one did, and which an interrupt left out.
func (c Cases) Text() string { return c.outcome().text }

// outcome is no milder than the outcome of any case.
func (c Cases) outcome() outcome {
	state, reason, tags := "ok", "", map[string]bool{}
	names := map[string][]string{}
	var texts, compared []string
	for _, one := range c.All {
		o := one.outcome()
		if o.state == "bad" || o.state == "open" && state == "ok" {
			state = o.state
		}
		for tag := range strings.SplitSeq(o.tag, ", ") {
			tags[tag] = true
		}
		became := ""
		switch {
		case one.failed():
			became, reason = "failed", cmp.Or(reason, " "+one.Name+": "+o.text)
		case strings.Contains(o.tag, "interrupted"):
			became = "interrupted"
		case one.Standing == NeverRan:
			became, tags["interrupted"] = NeverRan, true
		}
		names[became] = append(names[became], one.Name)
		if len(one.Comparisons) > 0 {
			compared = append(compared, one.Name+" "+one.compared().tag)
		}
	}
	for _, became := range []string{"failed", "interrupted", NeverRan} {
		if n := names[became]; n != nil {
			texts = append(texts, fmt.Sprintf("%d of %d %ss %s: %s.", len(n), len(c.All), c.Kind, became, strings.Join(n, ", ")))
		}
	}
	if texts == nil {
		texts = []string{fmt.Sprintf("All %d %ss passed.", len(c.All), c.Kind)}
	}
	if compared != nil {
		texts = append(texts, "Compared: "+strings.Join(compared, ", ")+".")
	}
	worst := slices.DeleteFunc([]string{"interrupted", "invalid", "failed", string(compare.Worse)}, func(tag string) bool { return !tags[tag] })
	if len(worst) == 0 {
		worst = []string{map[string]string{"open": string(compare.Inconclusive)}[state]}
	}
	return outcome{state, cmp.Or(strings.Join(worst, ", "), "passed"), strings.Join(texts, " ") + reason}
}

// Table has a row for each case.
func (c Cases) Table() Table {
	t := Table{ID: "cases", Title: title(c.Kind) + "s", Head: []string{c.Kind, "", "verdict"}, Words: 3, Wraps: true}
	for _, one := range c.All {
		o := one.outcome()
		t.Rows = append(t.Rows, Row{o.state, []Cell{{Text: one.Name}, {Text: o.tag, Class: "pill"}, {Text: o.text}}})
	}
	return t
}

// OfCases is the page of all cases, with the figures of all that ran unless they are more than have colours.
func OfCases(c Cases) Page {
	o, table := c.outcome(), c.Table()
	p := Page{Title: title(c.Kind) + "s · " + o.tag}
	all := Result{}
	var names []string
	var compared Page
	for _, one := range c.All {
		if len(one.Sets) > 0 {
			names = append(names, one.Name)
		}
		for k, s := range called(one.Result) {
			if s.Name = one.Name + ": " + strings.Join(slices.Compact([]string{s.Name, one.Sets[k].Name}), " "); len(one.Sets) == 1 {
				s.Name = one.Name
			}
			if all.Sets = append(all.Sets, s); k > 0 && k <= len(one.Comparisons) {
				compared.compared(one.Comparisons[k-1], s.Name)
			}
		}
	}
	switch n := len(all.Sets); {
	case n > mostSides:
		table.Hint, p.Data = "The figures of each are on a page of its own in its folder.", runsAsData(all.Sets)
	case n > 0:
		p = OfSets(all)
		p.Title = strings.Join(names, ", ") + " · " + o.tag
	}
	p.State, p.Tag, p.Verdict, p.Headline = o.state, o.tag, o.text, append([]Table{table}, compared.Headline...)
	return p
}
