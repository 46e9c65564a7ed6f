// Package spec answers: what does the specification of the wire protocol state, for which releases, and which conformance
// cases show it? The Markdown is the only list of statements. Package conformance cites them in a failure; package ops
// lists the changes between two releases. The tests hold the Markdown against cases, recordings and scripts.
package spec

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Dir is the folder of the specification, from the root of the module.
const Dir = "docs/spec"

// Level is how strictly a statement is meant, in the words of RFC 2119.
type Level string

// The levels, of which MUST and SHOULD may have a NOT. REQUIRED, SHALL, RECOMMENDED and OPTIONAL are not used.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Statement is one thing that the specification says. Reports cite it as JSON.
type Statement struct {
	ID    string `json:"id"` // W-<area>-<number>, such as W-OFFER-1
	Level Level  `json:"level"`
	Text  string `json:"text"` // in one line of Markdown, the word of its level included
	Link  string `json:"link"` // a path from the root of this project's source, with an anchor

	Releases Ranges   `json:"-"` // that it holds for
	Cases    []string `json:"-"` // ids of the conformance cases that show it, at least one
	Scripts  []string `json:"-"` // names of the catalogue's scripts that it is about, if any
}

// IDs returns the ids of statements, between commas.
func IDs(cited []Statement) string {
	ids := make([]string, len(cited))
	for i, c := range cited {
		ids[i] = c.ID
	}
	return strings.Join(ids, ", ")
}

// Spec has all statements, in the order of the files' names, and of the lines in each.
type Spec []Statement

//go:embed *.md
var files embed.FS

// All returns the specification that this program was built with. Its files are part of the program, so that a fault in
// them is a fault of the build.
var All = sync.OnceValue(func() Spec {
	s, err := Load(files)
	if err != nil {
		panic("spec: " + err.Error())
	}
	return s
})

// Load reads every *.md of a folder but its README.md.
func Load(folder fs.FS) (all Spec, err error) {
	names, err := fs.Glob(folder, "*.md")
	for _, name := range names {
		if name == "README.md" {
			continue
		}
		text, unread := fs.ReadFile(folder, name)
		statements, wrong := Parse(path.Join(Dir, name), string(text))
		all, err = append(all, statements...), errors.Join(err, unread, wrong)
	}
	return all, err
}

// Where returns the statements for which keep is true; never nil.
func (s Spec) Where(keep func(Statement) bool) []Statement {
	return slices.DeleteFunc(slices.Clone(s), func(one Statement) bool { return !keep(one) })
}

var (
	// written is a statement: a heading, a paragraph, a list.
	written = regexp.MustCompile(`(?m)^### (W-[A-Z]+-[1-9][0-9]{0,3})\n\n+((?:[^-#\s].*\n)+)\n+((?:- .*\n(?:  .*\n)*)+)`)
	item    = regexp.MustCompile(`(?m)^- (\w+): (.*\n(?:  .*\n)*)`)
	code    = regexp.MustCompile("`([^`]+)`")
	level   = regexp.MustCompile(`\b(?:MUST|SHOULD|MAY)(?: NOT)?\b`)
)

// Parse reads the statements of one file. A statement is
//
//	### W-OFFER-3
//
//	An offer that is due before all others MUST publish its due time.
//
//	- Releases: 2.8.2 to 2.15.2, 3.3.2 on
//	- Cases: `DQ.offer/new-head-publishes`, `DQ.offer/unit`
//	- Scripts: `offer`
//
// with any prose below it. Releases and Scripts may be missing. The files are part of the program: a test finds
// their faults.
func Parse(file, text string) (all []Statement, err error) {
	for _, m := range written.FindAllStringSubmatch(strings.ReplaceAll(text, "\r\n", "\n")+"\n", -1) {
		s := Statement{ID: m[1], Text: line(m[2]), Link: file + "#" + strings.ToLower(m[1])}
		s.Level = Level(level.FindString(s.Text))
		releases := "all"
		for _, m := range item.FindAllStringSubmatch(m[3], -1) {
			switch m[1] {
			case "Releases":
				releases = line(m[2])
			case "Cases":
				s.Cases = codes(m[2])
			case "Scripts":
				s.Scripts = codes(m[2])
			}
		}
		var wrong error
		if s.Releases, wrong = ParseRanges(releases); wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %s: %w", file, s.ID, wrong))
		}
		all = append(all, s)
	}
	return all, err
}

// line joins lines.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// codes are the words in backticks.
func codes(text string) (all []string) {
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// Ranges are the releases that a statement holds for. Two lines of releases ran in parallel, 2.x and 3.2.0 and later,
// so that most have two parts.
type Ranges struct {
	text  string
	parts []part
}

// part is a range within one line, both ends included.
type part struct{ first, last wire.Release }

// ParseRanges reads "all", or ranges between commas in ascending order: "2.8.2 to 2.15.2, 3.3.2 on". A part may be one release.
func ParseRanges(text string) (Ranges, error) {
	r := Ranges{text: text}
	if text == "all" {
		text = "2.7.0 to 2.15.2, 3.2.0 on"
	}
	for one := range strings.SplitSeq(text, ", ") {
		one, open := strings.CutSuffix(one, " on")
		from, to, _ := strings.Cut(one, " to ")
		first, err1 := wire.LookupRelease(from)
		last, err2 := wire.LookupRelease(cmp.Or(to, from))
		if err := errors.Join(err1, err2); err != nil {
			return Ranges{}, err
		}
		if open {
			last = wire.Release{Major: 1000}
		}
		r.parts = append(r.parts, part{first, last})
	}
	return r, nil
}

// Contain reports whether a release is among them.
func (r Ranges) Contain(release wire.Release) bool {
	return slices.ContainsFunc(r.parts, func(p part) bool {
		sameLine := (p.first.Major == 2) == (release.Major == 2)
		return sameLine && release.AtLeast(p.first) && p.last.AtLeast(release)
	})
}

// String returns the ranges as they are written.
func (r Ranges) String() string { return r.text }
