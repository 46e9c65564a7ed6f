package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

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
func Parse(file, text string) (all []*Statement, err error) {
	for _, m := range written.FindAllStringSubmatch(strings.ReplaceAll(text, "\r\n", "\n")+"\n", -1) {
		s := &Statement{ID: m[1], Text: line(m[2]), File: file}
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
