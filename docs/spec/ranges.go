package spec

import (
	"cmp"
	"errors"
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
type part struct{ first, last wire.Release }

// ParseRanges reads "all", or ranges between commas in ascending order: "2.8.2 to 2.15.2, 3.3.2 on". A part may be one
// release.
func ParseRanges(text string) (Ranges, error) {
	r := Ranges{text: text}
	if text == "all" {
		text = "2.7.0 to 2.15.2, 3.2.0 on"
	}
	for one := range strings.SplitSeq(text, ", ") {
		one, open := strings.CutSuffix(one, " on")
		first, last, _ := strings.Cut(one, " to ")
		var p part
		var err1, err2 error
		p.first, err1 = wire.LookupRelease(first)
		p.last, err2 = wire.LookupRelease(cmp.Or(last, first))
		if err := errors.Join(err1, err2); err != nil {
			return Ranges{}, err
		}
		if open {
			p.last = wire.Release{Major: 1000}
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

// Contain reports whether a release is among them.
func (r Ranges) Contain(release wire.Release) bool {
	for _, p := range r.parts {
		sameLine := (p.first.Major == 2) == (release.Major == 2)
		if sameLine && release.AtLeast(p.first) && p.last.AtLeast(release) {
			return true
		}
	}
	return false
}

// String returns the ranges as they are written.
func (r Ranges) String() string { return r.text }
