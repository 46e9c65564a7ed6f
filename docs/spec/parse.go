package spec

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Error says what is wrong with a file of the specification, and where.
type Error struct {
	File string
	Line int
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

var (
	// heading is that of a statement; its anchor is the id in lower case.
	heading = regexp.MustCompile(`^### (W-[A-Z]+-[1-9][0-9]{0,3})$`)
	// almost is a heading that was meant as one.
	almost = regexp.MustCompile(`^#+\s*W-`)
	// keyword is a word of RFC 2119.
	keyword = regexp.MustCompile(`\b(?:MUST NOT|MUST|SHOULD NOT|SHOULD|MAY|SHALL|REQUIRED|RECOMMENDED|OPTIONAL)\b`)
	// code is Markdown's.
	code = regexp.MustCompile("`([^`]+)`")
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
// and whatever prose follows, up to the next heading; Scripts may be missing. The words of
// RFC 2119 are for statements: prose that uses one in capitals is refused, so that nothing is
// asked for that no case shows. The numbers of an area count from 1. Errors are *Error.
func Parse(file, text string) ([]*Statement, error) {
	p := &parser{file: file, lines: strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), numbers: map[string]int{}}
	var all []*Statement
	for p.at < len(p.lines) {
		line := p.lines[p.at]
		switch {
		case strings.HasPrefix(line, "```"):
			if err := p.skipFence(); err != nil {
				return nil, err
			}
		case heading.MatchString(line):
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		case almost.MatchString(line):
			return nil, p.errorf(p.at, "expected a heading such as ### W-OFFER-3, got %q", line)
		case keyword.MatchString(line):
			return nil, p.errorf(p.at, "%s is for statements: say it in one, or in small letters", keyword.FindString(line))
		default:
			p.at++
		}
	}
	return all, nil
}

// parser is at a line of a file.
type parser struct {
	file    string
	lines   []string
	at      int
	numbers map[string]int // the last one of each area
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return &Error{p.file, line + 1, fmt.Errorf(format, args...)}
}

func (p *parser) skipFence() error {
	begin := p.at
	for p.at++; p.at < len(p.lines); p.at++ {
		if strings.HasPrefix(p.lines[p.at], "```") {
			p.at++
			return nil
		}
	}
	return p.errorf(begin, "expected the end of this block, ```")
}

// paragraph returns the lines up to the next blank one, and skips blank ones around them.
func (p *parser) paragraph() (lines []string, begin int) {
	for p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
	begin = p.at
	for ; p.at < len(p.lines) && strings.TrimSpace(p.lines[p.at]) != ""; p.at++ {
		lines = append(lines, p.lines[p.at])
	}
	return lines, begin
}

func (p *parser) statement() (*Statement, error) {
	s := &Statement{ID: heading.FindStringSubmatch(p.lines[p.at])[1], File: p.file, Line: p.at + 1}
	area, number := split(s.ID)
	if next := p.numbers[area] + 1; number != next {
		return nil, p.errorf(p.at, "%s: expected W-%s-%d here: numbers are used once, and ascend", s.ID, area, next)
	}
	p.numbers[area] = number
	p.at++
	lines, begin := p.paragraph()
	s.Text = strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	words := keyword.FindAllString(s.Text, -1)
	switch {
	case s.Text == "" || strings.HasPrefix(s.Text, "- ") || strings.HasPrefix(s.Text, "#"):
		return nil, p.errorf(begin, "%s: expected the statement below its heading", s.ID)
	case len(words) == 0:
		return nil, p.errorf(begin, "%s: expected one of MUST, MUST NOT, SHOULD, SHOULD NOT, MAY", s.ID)
	}
	for _, word := range words {
		if s.Level = Level(word); s.Level != Level(words[0]) {
			return nil, p.errorf(begin, "%s: %s and %s in one statement: make two of it", s.ID, words[0], word)
		}
	}
	switch s.Level {
	case Must, "MUST NOT", Should, "SHOULD NOT", May:
	default:
		return nil, p.errorf(begin, "%s: expected MUST, SHOULD or MAY for %s", s.ID, s.Level)
	}
	return s, p.fields(s)
}

// fields reads the list below a statement.
func (p *parser) fields(s *Statement) error {
	lines, begin := p.paragraph()
	seen := map[string]bool{}
	for i := 0; i < len(lines); i++ {
		at := begin + i
		item, ok := strings.CutPrefix(lines[i], "- ")
		key, value, found := strings.Cut(item, ": ")
		if !ok || !found {
			return p.errorf(at, `%s: expected an item such as "- Releases: 3.2.0 on", got %q`, s.ID, lines[i])
		}
		for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "  ") {
			i++
			value += " " + strings.TrimSpace(lines[i])
		}
		if seen[key] {
			return p.errorf(at, "%s: %s is there already", s.ID, key)
		}
		seen[key] = true
		if err := s.set(key, value); err != nil {
			return p.errorf(at, "%s: %s: %w", s.ID, key, err)
		}
	}
	if !seen["Releases"] {
		s.Releases, _ = ParseRanges("all")
	}
	if !seen["Cases"] {
		return p.errorf(s.Line-1, "%s: expected an item %q below it", s.ID, "Cases")
	}
	return nil
}

func (s *Statement) set(key, value string) (err error) {
	switch key {
	case "Releases":
		s.Releases, err = ParseRanges(value)
	case "Cases":
		s.Cases, err = codes(value)
	case "Scripts":
		s.Scripts, err = codes(value)
	default:
		err = errors.New("expected Releases, Cases or Scripts")
	}
	return err
}

// codes reads words in backticks between commas.
func codes(text string) (all []string, err error) {
	for _, one := range strings.Split(text, ", ") {
		m := code.FindStringSubmatch(one)
		if m == nil || m[0] != one {
			return nil, fmt.Errorf("expected words in backticks between commas, got %q", one)
		}
		all = append(all, m[1])
	}
	return all, nil
}

// split returns the area and the number of an id.
func split(id string) (area string, number int) {
	area, digits, _ := strings.Cut(strings.TrimPrefix(id, "W-"), "-")
	number, _ = strconv.Atoi(digits) // up to four digits, by the expression
	return area, number
}
