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
	// Finding is nil where both sides mean the same.
	Finding *Finding `json:"finding,omitempty"`
}

// The metadata by which a recording declares what is not compared, each with the value "<case id>: <why>".
const (
	// AbsentKey is of a case that the implementation has no means to run.
	AbsentKey = "absent"
	// UncomparedKey is of a case whose commands are not the same each time.
	UncomparedKey = "uncompared"
)

// declared are the reasons for not comparing cases, by their ids.
func declared(recordings ...*Recording) map[string]string {
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
		if len(rec.Lines) == 0 && len(declared(rec)) == 0 {
			return nil, fmt.Errorf("%s: the recording has no commands, so that there is nothing to compare", rec.Path)
		}
	}
	reasons := declared(left, right)
	lefts, rights := casesOf(left), casesOf(right)
	var outcomes []Outcome
	for _, c := range append(lefts, slices.DeleteFunc(slices.Clone(rights), func(r keyedCase) bool { return r.in(lefts) >= 0 })...) {
		o := Outcome{Case: c.id, Declared: reasons[c.id]}
		l, r := c.in(lefts), c.in(rights)
		switch {
		case o.Declared != "":
		case r < 0:
			o = onlyIn(c.id, "left", left.Path)
		case l < 0:
			o = onlyIn(c.id, "right", right.Path)
		default:
			var err error
			if o, err = diffCase(left, right, lefts[l], rights[r], tolerance); err != nil {
				return nil, err
			}
		}
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// keyedCase is one case of a recording, in which an id may come several times.
type keyedCase struct {
	id    string
	times int
	lines []Line
}

// in returns the index of the same case in a list, or -1.
func (c keyedCase) in(list []keyedCase) int {
	return slices.IndexFunc(list, func(other keyedCase) bool { return other.id == c.id && other.times == c.times })
}

func casesOf(rec *Recording) (all []keyedCase) {
	seen := map[string]int{}
	for i, c := range rec.Cases() {
		// A client that connects before the first case is no case.
		if i == 0 && c.ID == "" && len(rec.Cases()) > 1 && len(dropSetUp(Group(c.Lines))) == 0 {
			continue
		}
		all = append(all, keyedCase{c.ID, seen[c.ID], c.Lines})
		seen[c.ID]++
	}
	return all
}

func diffCase(left, right *Recording, lc, rc keyedCase, tolerance time.Duration) (Outcome, error) {
	l, err := Normalise(left, "left", lc.lines)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", left.Path, err)
	}
	r, err := Normalise(right, "right", rc.lines)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", right.Path, err)
	}
	o := Outcome{Case: lc.id, Left: len(l.Events), Right: len(r.Events), Finding: Compare(l, r, tolerance)}
	if o.Finding != nil {
		o.Finding.Case = lc.id
	}
	return o, nil
}

func onlyIn(id, side, path string) Outcome {
	what := fmt.Sprintf("the case %s is", id)
	if id == "" {
		what = "commands outside any case are"
	}
	return Outcome{Case: id, Finding: &Finding{Case: id, Meaning: fmt.Sprintf("%s only on the %s, in %s", what, side, path)}}
}
