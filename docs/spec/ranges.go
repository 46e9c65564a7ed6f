package spec

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Ranges are the releases that a statement holds for. Two lines of releases ran in parallel, 2.x and 3.2.0 and later,
// so that most have two parts.
type Ranges struct {
	text  string
	parts []part
}

// part is a range within one line, both ends included.
type part struct {
	first, last wire.Release
	open        bool // it has no end: last counts for nothing
}

// everything is the range of "all".
const everything = "2.7.0 to 2.15.2, 3.2.0 on"

// ParseRanges reads "all", or ranges between commas in ascending order: "2.8.2 to 2.15.2, 3.3.2 on". A part may be one
// release.
func ParseRanges(text string) (Ranges, error) {
	r := Ranges{text: text}
	if text == "all" {
		text = everything
	}
	for _, one := range strings.Split(text, ", ") {
		p, err := parsePart(one)
		if err != nil {
			return Ranges{}, err
		}
		if n := len(r.parts); n > 0 && (r.parts[n-1].open || !p.first.AtLeast(r.parts[n-1].last) || p.first == r.parts[n-1].last) {
			return Ranges{}, fmt.Errorf("%q is not later than the range before it", one)
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

func parsePart(text string) (p part, err error) {
	first, last, both := strings.Cut(text, " to ")
	if !both {
		first, p.open = strings.CutSuffix(text, " on")
		last = first
	}
	var err1, err2 error
	p.first, err1 = wire.LookupRelease(first)
	p.last, err2 = wire.LookupRelease(last)
	if err := errors.Join(err1, err2); err != nil {
		return p, fmt.Errorf(`expected "all", or ranges such as "2.8.2 to 2.15.2, 3.3.2 on", got %q: %w`, text, err)
	}
	switch {
	case p.first.Major == 2 && (p.open || p.last.Major != 2):
		return p, fmt.Errorf("%q: a range of 2.x ends within it, at 2.15.2 or before", text)
	case !p.last.AtLeast(p.first):
		return p, fmt.Errorf("%q ends before it begins", text)
	}
	return p, nil
}

// Contain reports whether a release is among them.
func (r Ranges) Contain(release wire.Release) bool {
	for _, p := range r.parts {
		sameLine := (p.first.Major == 2) == (release.Major == 2)
		if sameLine && release.AtLeast(p.first) && (p.open || p.last.AtLeast(release)) {
			return true
		}
	}
	return false
}

// String returns the ranges as they are written.
func (r Ranges) String() string { return r.text }
