package conformance

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Cause is the common cause of failures.
type Cause struct {
	// Cause is in the words of the first case, without the place.
	Cause string `json:"cause"`
	// Cases is the number of failures, First the id of the first.
	Cases int    `json:"cases"`
	First string `json:"first"`
}

// causesOf groups failures, the most frequent cause first.
func causesOf(results []Result) []Cause {
	places, causes := map[string]int{}, []Cause{}
	for _, r := range results {
		if r.Status != Fail {
			continue
		}
		kind := r.kind()
		at, known := places[kind]
		if !known {
			at = len(causes)
			places[kind] = at
			causes = append(causes, Cause{Cause: r.CauseText(), First: r.ID})
		}
		causes[at].Cases++
	}
	slices.SortStableFunc(causes, func(a, b Cause) int { return cmp.Compare(b.Cases, a.Cases) })
	return causes
}

// Failures of one cause differ in the step, the call, the queue, in quoted text and in numbers.
var (
	place  = regexp.MustCompile(`^(?:open: |step \d+ \([^)]*\): |call \d+ of the (?:publisher|transfer task|consumer|subscriber)(?: of "(?:[^"\\]|\\.)*")?,? )`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	figure = regexp.MustCompile(`-?\d+(\.\d+)?`)
)

// CauseText is the cause under which a report groups a failure: its first sentence, without the place. A first line that
// ends with a colon goes on in the next.
func (r Result) CauseText() string {
	if r.Cause != "" {
		return r.Cause
	}
	line, rest, _ := strings.Cut(r.Detail, "\n")
	if strings.HasSuffix(line, ":") {
		next, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		line += " " + strings.TrimSpace(next)
	}
	return place.ReplaceAllString(line, "")
}

// kind is equal for failures of one cause.
func (r Result) kind() string {
	if r.silent {
		return "the program does not answer"
	}
	return kindOf(r.CauseText())
}

func kindOf(cause string) string {
	return figure.ReplaceAllString(quoted.ReplaceAllString(cause, "Q"), "N")
}

// alike counts failures of one cause, and slow ones.
type alike struct {
	most  int
	last  string // the kind of the latest failure
	inRow int
	slow  int // cases in which the program failed, or a wait was in vain
}

// after says why the run ends after a result, and "" if it goes on.
func (a *alike) after(r Result, broken bool) string {
	switch {
	case r.Status == Skip, r.listed, a.most == 0:
		return "" // a listed failure that is none any more is good news
	case r.Status != Fail && r.Status != Error:
		a.last, a.inRow = "", 0
		return ""
	}
	if kind := r.kind(); kind != a.last {
		a.last, a.inRow = kind, 0
	}
	a.inRow++
	if broken || r.vain {
		a.slow++
	}
	switch {
	case a.inRow >= a.most:
		return fmt.Sprintf("%d cases in a row failed alike: %s", a.inRow, r.CauseText())
	case a.slow >= a.most:
		return fmt.Sprintf("in %d cases the program failed or a wait timed out, most recently: %s", a.slow, r.CauseText())
	}
	return ""
}
