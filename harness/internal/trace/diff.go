package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is the comparison of one case of two recordings.
type Outcome struct {
	// Case is its id; empty for lines outside cases.
	Case string `json:"case"`
	// Left and Right count the calls compared, after normalising.
	Left  int `json:"left"`
	Right int `json:"right"`
	// Declared says why the case is not compared, in the metadata of a recording.
	Declared string `json:"declared,omitempty"`
	// Finding is nil if both sides mean the same.
	Finding *Finding `json:"finding,omitempty"`
}

// The metadata by which a recording declares what is not compared, each with the value "<case id>: <why>".
const (
	// AbsentKey is of a case that the implementation has no means to run.
	AbsentKey = "absent"
	// UncomparedKey is of a case whose commands are not the same each time.
	UncomparedKey = "uncompared"
)

// Declared are the reasons for not comparing cases, by their ids.
func Declared(recordings ...*Recording) map[string]string {
	reasons := map[string]string{}
	for _, rec := range recordings {
		for _, f := range rec.Fields {
			if id, why, ok := strings.Cut(f.Value, ": "); ok && (f.Key == AbsentKey || f.Key == UncomparedKey) {
				reasons[id] = why
			}
		}
	}
	return reasons
}

// Diff compares two recordings case by case, in the order of the left one. A case of one side only is a finding, unless
// a side declares it. An error means that a recording has no normal form.
func Diff(left, right *Recording, tolerance time.Duration) ([]Outcome, error) {
	for _, rec := range []*Recording{left, right} {
		if len(rec.Lines) == 0 && len(Declared(rec)) == 0 {
			return nil, fmt.Errorf("%s: the recording has no commands, so that there is nothing to compare", rec.Path)
		}
	}
	reasons := Declared(left, right)
	order, lefts := casesOf(left)
	others, rights := casesOf(right)
	var outcomes []Outcome
	for _, id := range append(order, slices.DeleteFunc(others, func(id string) bool { return lefts[id] != nil })...) {
		o := Outcome{Case: id, Declared: reasons[id]}
		switch {
		case o.Declared != "":
		case rights[id] == nil:
			o.Finding = onlyIn(id, "left", left.Path)
		case lefts[id] == nil:
			o.Finding = onlyIn(id, "right", right.Path)
		default:
			l, err1 := Normalise(left, "left", lefts[id], false)
			r, err2 := Normalise(right, "right", rights[id], false)
			switch {
			case err1 != nil:
				return nil, fmt.Errorf("%s: %w", left.Path, err1)
			case err2 != nil:
				return nil, fmt.Errorf("%s: %w", right.Path, err2)
			}
			o.Left, o.Right, o.Finding = len(l.Events), len(r.Events), Compare(l, r, tolerance)
			if o.Finding != nil {
				o.Finding.Case = id
			}
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// casesOf are the lines of each case, of one that was recorded again all. A client that connects before the first case is no case.
func casesOf(rec *Recording) (order []string, cases map[string][]Line) {
	cases = map[string][]Line{}
	for i, c := range rec.Cases() {
		if i == 0 && c.ID == "" && len(c.Lines) < len(rec.Lines) && len(dropSetUp(Group(c.Lines))) == 0 {
			continue
		}
		if cases[c.ID] == nil {
			order, cases[c.ID] = append(order, c.ID), []Line{}
		}
		cases[c.ID] = append(cases[c.ID], c.Lines...)
	}
	return order, cases
}

func onlyIn(id, side, path string) *Finding {
	what := fmt.Sprintf("the case %s is", id)
	if id == "" {
		what = "commands outside any case are"
	}
	return &Finding{Case: id, Meaning: fmt.Sprintf("%s only on the %s, in %s", what, side, path)}
}
