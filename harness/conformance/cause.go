package conformance

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Cause is what several cases failed for.
type Cause struct {
	// Cause says what went wrong, without what differs from case to case.
	Cause string `json:"cause"`
	// Cases is how many failed for it.
	Cases int `json:"cases"`
	// First is the id of the first of them.
	First string `json:"first"`
}

// causesOf groups failures, the most frequent cause first.
func causesOf(results []Result) []Cause {
	places, causes := map[string]int{}, []Cause{}
	for _, r := range results {
		if r.Status != Fail {
			continue
		}
		name := causeOf(r)
		at, known := places[name]
		if !known {
			at = len(causes)
			places[name] = at
			causes = append(causes, Cause{Cause: name, First: r.ID})
		}
		causes[at].Cases++
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Cases, a.Cases) })
	return causes
}

// What differs from case to case though the cause is one: which step and which call it was,
// in which queue, and numbers.
var (
	place  = regexp.MustCompile(`^(?:step \d+ \([^)]*\): |call \d+ of the (?:publisher|transfer task|consumer|subscriber)(?: of "(?:[^"\\]|\\.)*")?,? )`)
	figure = regexp.MustCompile(`-?\d+(\.\d+)?`)
)

// CauseText is the cause under which a report groups a failure.
func (r Result) CauseText() string { return causeOf(r) }

// causeOf is the first line of a failure without what is the case's own.
func causeOf(r Result) string {
	if r.Cause != "" {
		return r.Cause
	}
	line, _, _ := strings.Cut(r.Detail, "\n")
	return figure.ReplaceAllString(place.ReplaceAllString(line, ""), "N")
}

// alike counts failures of one cause.
type alike struct {
	most  int
	last  string
	inRow int
	// broken counts, by cause, the cases in which the program itself has failed.
	broken map[string]int
}

// after says why the run ends after a result, and "" where it goes on.
func (a *alike) after(r Result, broken bool) string {
	switch {
	case r.Status == Skip:
		return ""
	case r.Status != Fail && r.Status != Error:
		a.last, a.inRow = "", 0
		return ""
	}
	cause := causeOf(r)
	if cause != a.last {
		a.last, a.inRow = cause, 0
	}
	a.inRow++
	if a.broken == nil {
		a.broken = map[string]int{}
	}
	if broken {
		a.broken[cause]++
	}
	switch {
	case a.most == 0:
		return ""
	case a.inRow >= a.most:
		return fmt.Sprintf("%d cases in a row failed alike: %s", a.inRow, cause)
	case a.broken[cause] >= a.most:
		return fmt.Sprintf("in %d cases the program failed alike: %s", a.broken[cause], cause)
	}
	return ""
}
