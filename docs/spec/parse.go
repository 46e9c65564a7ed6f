package spec

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	// written is a statement: a heading, a paragraph, a list.
	written = regexp.MustCompile(`(?m)^### (W-[A-Z]+-[1-9][0-9]{0,3})\n\n+((?:[^-#\s].*\n)+)\n+((?:- .*\n(?:  .*\n)*)+)`)
	// heading is any that was meant as one of a statement.
	heading = regexp.MustCompile(`(?m)^#+\s*W-.*$`)
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
// with any prose below it. Releases and Scripts may be missing.
func Parse(file, text string) (all []*Statement, err error) {
	text = strings.ReplaceAll(text, "\r\n", "\n") + "\n"
	found := written.FindAllStringSubmatchIndex(text, -1)
	for i, at := range heading.FindAllStringIndex(text, -1) {
		line := 1 + strings.Count(text[:at[0]], "\n")
		if i >= len(found) || found[i][0] != at[0] {
			return nil, fmt.Errorf("%s:%d: expected ### W-AREA-1, a paragraph and a list such as \"- Cases: `DQ.offer/unit`\", got %q", file, line, text[at[0]:at[1]])
		}
		part := func(n int) string { return text[found[i][2*n]:found[i][2*n+1]] }
		s := &Statement{ID: part(1), Text: strings.Join(strings.Fields(part(2)), " "), File: file, Line: line}
		s.Level = Level(level.FindString(s.Text))
		if s.Releases, err = ParseRanges("all"); err == nil {
			err = s.list(part(3))
		}
		if err == nil && (s.Level == "" || len(s.Cases) == 0) {
			err = fmt.Errorf("expected MUST, SHOULD or MAY in %q, and an item Cases", s.Text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", file, line, s.ID, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// list reads the items below a statement.
func (s *Statement) list(text string) (err error) {
	for item := range strings.SplitSeq(strings.TrimPrefix(strings.TrimSpace(text), "- "), "\n- ") {
		key, value, _ := strings.Cut(strings.Join(strings.Fields(item), " "), ": ")
		switch key {
		case "Releases":
			s.Releases, err = ParseRanges(value)
		case "Cases":
			s.Cases, err = codes(value)
		case "Scripts":
			s.Scripts, err = codes(value)
		default:
			err = fmt.Errorf("expected Releases, Cases or Scripts, got %q", item)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

// codes reads words in backticks between commas.
func codes(text string) (all []string, err error) {
	for one := range strings.SplitSeq(text, ", ") {
		word := strings.Trim(one, "`")
		if len(one) != len(word)+2 || word == "" {
			return nil, fmt.Errorf("expected words in backticks between commas, got %q", one)
		}
		all = append(all, word)
	}
	return all, nil
}
