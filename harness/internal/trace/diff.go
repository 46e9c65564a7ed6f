package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
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

// The metadata by which a recording declares what is not compared, each with the value
// "<case id>: <why>".
const (
	// AbsentKey is of a case that the implementation has no means to run.
	AbsentKey = "absent"
	// UncomparedKey is of a case whose commands are not the same each time.
	UncomparedKey = "uncompared"
)

// declared are the reasons for not comparing cases, by their ids.
func declared(recordings ...*monitor.Recording) map[string]string {
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

// Diff compares two recordings case by case, in the order of the left one. A case
// that only one side has is a finding, unless a side declares that it is not compared. An error means that a recording cannot be
// brought into normal form.
func Diff(left, right *monitor.Recording, tolerance time.Duration) ([]Outcome, error) {
	for _, rec := range []*monitor.Recording{left, right} {
		if len(rec.Lines) == 0 && len(declared(rec)) == 0 {
			return nil, fmt.Errorf("%s: the recording has no commands, so that there is nothing to compare", rec.Path)
		}
	}
	ls, rs := casesByKey(left), casesByKey(right)
	var outcomes []Outcome
	reasons := declared(left, right)
	for _, l := range ls.order {
		if why, ok := reasons[l.id]; ok {
			outcomes = append(outcomes, Outcome{Case: l.id, Declared: why})
			continue
		}
		outcome, err := diffCase(left, right, l, ls.byKey[l], rs.byKey[l], tolerance)
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, outcome)
	}
	for _, r := range rs.order {
		if _, ok := ls.byKey[r]; ok {
			continue
		}
		if why, ok := reasons[r.id]; ok {
			outcomes = append(outcomes, Outcome{Case: r.id, Declared: why})
		} else {
			outcomes = append(outcomes, onlyIn(r.id, "right", right.Path))
		}
	}
	return outcomes, nil
}

// caseKey tells cases of one recording apart; an id may come again.
type caseKey struct {
	id    string
	times int
}

type keyedCases struct {
	order []caseKey
	byKey map[caseKey]*monitor.Case
}

func casesByKey(rec *monitor.Recording) keyedCases {
	k := keyedCases{byKey: make(map[caseKey]*monitor.Case)}
	cases := rec.Cases()
	if len(cases) > 1 && cases[0].ID == "" && onlySetUp(cases[0].Lines) {
		cases = cases[1:]
	}
	for _, c := range cases {
		key := caseKey{id: c.ID}
		for k.byKey[key] != nil {
			key.times++
		}
		k.order = append(k.order, key)
		k.byKey[key] = &c
	}
	return k
}

// onlySetUp reports whether lines before the first case show no more than a client
// that connects.
func onlySetUp(lines []monitor.Line) bool {
	return len(dropSetUp(Group(lines))) == 0
}

func diffCase(left, right *monitor.Recording, key caseKey, lc, rc *monitor.Case, tolerance time.Duration) (Outcome, error) {
	if rc == nil {
		return onlyIn(key.id, "left", left.Path), nil
	}
	l, err := Normalise(left, "left", lc.Lines)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", left.Path, err)
	}
	r, err := Normalise(right, "right", rc.Lines)
	if err != nil {
		return Outcome{}, fmt.Errorf("%s: %w", right.Path, err)
	}
	o := Outcome{Case: key.id, Left: len(l.Events), Right: len(r.Events), Finding: Compare(l, r, tolerance)}
	if o.Finding != nil {
		o.Finding.Case = key.id
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
