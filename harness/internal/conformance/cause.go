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
	// Cause says what went wrong, in the words of the first case, but for where it did.
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

// What differs from case to case though the cause is one: which step and which call it was, in which queue, what is in
// quotes, and numbers.
var (
	place  = regexp.MustCompile(`^(?:open: |step \d+ \([^)]*\): |call \d+ of the (?:publisher|transfer task|consumer|subscriber)(?: of "(?:[^"\\]|\\.)*")?,? )`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	figure = regexp.MustCompile(`-?\d+(\.\d+)?`)
)

// CauseText is the cause under which a report groups a failure, in the failure's own words: its first sentence, without
// the place. A first line that only announces goes on in the next.
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

// Alike reports whether two failures have one cause.
func (r Result) Alike(other Result) bool { return r.kind() == other.kind() }

// kind is what failures of one cause share.
func (r Result) kind() string {
	if r.silent {
		return "the program does not answer"
	}
	return figure.ReplaceAllString(quoted.ReplaceAllString(r.CauseText(), "Q"), "N")
}

// alike counts failures of one cause.
type alike struct {
	most  int
	last  string            // the kind of the latest failure
	first map[string]string // how the first failure of each kind says it, as the report does
	inRow int
	// broken counts, by cause, the cases in which the program itself has failed.
	broken map[string]int
	vain   int // cases in which something was waited for in vain
}

// after says why the run ends after a result, and "" where it goes on.
func (a *alike) after(r Result, broken bool) string {
	switch {
	case r.Status == Skip, r.listed:
		return "" // a listed failure that is none any more is good news
	case r.Status != Fail && r.Status != Error:
		a.last, a.inRow = "", 0
		return ""
	}
	kind := r.kind()
	if kind != a.last {
		a.last, a.inRow = kind, 0
	}
	a.inRow++
	if a.broken == nil {
		a.broken, a.first = map[string]int{}, map[string]string{}
	}
	if _, known := a.first[kind]; !known {
		a.first[kind] = r.CauseText()
	}
	cause := a.first[kind]
	if broken {
		a.broken[kind]++
	}
	if r.vain {
		a.vain++
	}
	most := a.most
	if r.silent {
		most = (most + 1) / 2 // to wait takes long
	}
	switch {
	case a.most == 0:
		return ""
	case a.inRow >= a.most:
		return fmt.Sprintf("%d cases in a row failed alike: %s", a.inRow, cause)
	case a.broken[kind] >= most:
		return fmt.Sprintf("in %d cases the program failed alike: %s", a.broken[kind], cause)
	case a.vain >= a.most:
		return fmt.Sprintf("in %d cases something was waited for in vain, the last time: %s", a.vain, r.CauseText())
	}
	return ""
}
