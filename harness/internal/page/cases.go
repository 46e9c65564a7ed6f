package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
)

// Cases are plans that are run one after the other, such as the variants of a scenario.
type Cases struct {
	// Kind is what one of them is called: "variant".
	Kind string
	All  []Case
}

// Case is one of Cases.
type Case struct {
	Name string
	// Sides and Comparisons are those of a Page. A case without sides has a Standing.
	Sides       []Side
	Comparisons []*compare.Comparison
	// Interrupted is that of a Page.
	Interrupted string
	// Standing says why there are no runs.
	Standing Standing
	// Failure is why the case came to nothing; empty if it did not.
	Failure string
}

// Standing is that of a case without runs.
type Standing string

// A case is to come, runs, or never ran because of an interrupt.
const (
	ToCome   Standing = "to come"
	Running  Standing = "running"
	NeverRan Standing = "never ran"
)

// outcome is what the case came to.
func (c Case) outcome() outcome {
	switch {
	case c.Failure != "":
		return outcome{"bad", "failed", c.Failure}
	case len(c.Sides) == 0:
		return outcome{"open", string(c.Standing), ""}
	}
	o := outcomeOf(c.Sides, c.Comparisons, true)
	if c.Interrupted != "" && !strings.Contains(o.Tag, "interrupted") {
		o.Tag = "interrupted, " + o.Tag
	}
	if c.Interrupted != "" {
		o.Text += " Interrupted: " + c.Interrupted + "."
	}
	return o
}

// failed reports whether a run did, or the case came to nothing.
func (c Case) failed() bool { return c.Failure != "" || len(failedOf(runsOf(c.Sides))) > 0 }

// Failed reports whether any case failed.
func (c *Cases) Failed() bool { return slices.ContainsFunc(c.All, Case.failed) }

// Text says in a sentence or two what they came to: whether all passed, which ones failed, why the first one did,
// and which ones an interrupt left out.
func (c *Cases) Text() string {
	var failed, cut, never, compared []string
	reason := ""
	for _, one := range c.All {
		o := one.outcome()
		switch {
		case one.failed():
			if failed = append(failed, one.Name); reason == "" {
				reason = " " + one.Name + ": " + o.Text
			}
		case strings.Contains(o.Tag, "interrupted"):
			cut = append(cut, one.Name)
		case one.Standing == NeverRan:
			never = append(never, one.Name)
		}
		if len(one.Comparisons) > 0 {
			compared = append(compared, one.Name+" "+outcomeOfCompared(one.Sides, one.Comparisons).Tag)
		}
	}
	text := ""
	say := func(names []string, what string) {
		if len(names) > 0 {
			text += fmt.Sprintf("%d of %d %ss %s: %s. ", len(names), len(c.All), c.Kind, what, strings.Join(names, ", "))
		}
	}
	say(failed, "failed")
	say(cut, "interrupted")
	say(never, "never ran")
	if text == "" {
		text = fmt.Sprintf("All %d %ss passed. ", len(c.All), c.Kind)
	}
	if len(compared) > 0 {
		text += "Compared: " + strings.Join(compared, ", ") + ". "
	}
	return strings.TrimSpace(strings.TrimSpace(text) + reason)
}

// outcome is that of all: no milder than that of any.
func (c *Cases) outcome() outcome {
	all := outcome{"ok", "passed", c.Text()}
	var tags []string
	for _, one := range c.All {
		o := one.outcome()
		if o.State == "bad" || o.State == "open" && all.State == "ok" {
			all.State = o.State
		}
		tags = append(tags, strings.Split(o.Tag, ", ")...)
		if one.Standing == NeverRan {
			tags = append(tags, "interrupted")
		}
	}
	var worst []string
	for _, tag := range []string{"interrupted", "invalid", "failed", string(compare.Worse)} {
		if slices.Contains(tags, tag) {
			worst = append(worst, tag)
		}
	}
	if len(worst) > 0 {
		all.Tag = strings.Join(worst, ", ")
	} else if all.State == "open" {
		all.Tag = string(compare.Inconclusive)
	}
	return all
}

// group is sides that have a comparison in common.
type group struct {
	of          string // their case, where there are several
	sides       []Side
	comparisons []*compare.Comparison
}

// name tells a side from those of other cases.
func (g group) name(side string) string {
	switch {
	case g.of == "":
		return side
	case len(g.sides) == 1:
		return g.of
	default:
		return g.of + ": " + side
	}
}

// mostSides is how many sides have a colour of their own.
const mostSides = 8

// groups are the sides of the page, or of the cases: of those that failed first where there are more than
// have a colour.
func (p Page) groups() []group {
	if p.Cases == nil || len(p.Sides) > 0 {
		return []group{{"", p.Sides, p.Comparisons}}
	}
	shown, room := map[int]bool{}, mostSides
	for _, failed := range []bool{true, false} {
		for i, c := range p.Cases.All {
			if n := len(c.Sides); n > 0 && c.failed() == failed && (n <= room || len(shown) == 0) {
				shown[i], room = true, room-n
			}
		}
	}
	var groups []group
	for i, c := range p.Cases.All {
		if shown[i] {
			groups = append(groups, group{c.Name, c.Sides, c.Comparisons})
		}
	}
	return groups
}

// casesView is the table of cases.
type casesView struct {
	Title string
	Rows  []caseRow
	// Hint says whose figures the page has, where not all.
	Hint string
}

type caseRow struct {
	Name string
	outcome
}

// setVerdict says at the top what all came to, and of several cases each.
func (v *pageView) setVerdict(p Page, groups []group) {
	if p.Interrupted != "" {
		v.Warnings = append([]banner{{"Interrupted.", p.Interrupted + "."}}, v.Warnings...)
	}
	if p.Cases == nil {
		v.setOutcome(outcomeOf(p.Sides, p.Comparisons, p.Verdicts))
		return
	}
	v.setOutcome(p.Cases.outcome())
	v.Cases = &casesView{Title: strings.ToUpper(p.Cases.Kind[:1]) + p.Cases.Kind[1:] + "s"}
	with := 0
	for _, c := range p.Cases.All {
		v.Cases.Rows = append(v.Cases.Rows, caseRow{c.Name, c.outcome()})
		if len(c.Sides) > 0 {
			with++
		}
	}
	if len(groups) < with && len(p.Sides) == 0 {
		var names []string
		for _, g := range groups {
			names = append(names, g.of)
		}
		v.Cases.Hint = fmt.Sprintf("Below are the figures of %s; each of the others has a page of its own in its folder.", strings.Join(names, ", "))
	}
}

func (v *pageView) setOutcome(o outcome) { v.State, v.StateTag, v.Verdict = o.State, o.Tag, o.Text }
