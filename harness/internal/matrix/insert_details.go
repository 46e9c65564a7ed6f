package matrix

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

// block is what the details say of one case, of some releases alike, or else any paragraph.
type block struct {
	id, cell, requirement string // of a case
	releases              []string
	text                  string // what follows, or all of it
}

var caseLine = regexp.MustCompile("^\\*\\*([^*]+)\\*\\*, `([^`]+)` at ((?:\\d+\\.\\d+\\.\\d+, )*\\d+\\.\\d+\\.\\d+)\\. (.*)\n")

func (b block) String() string {
	if b.id == "" {
		return b.text
	}
	return "**" + b.id + "**, `" + b.cell + "` at " + strings.Join(b.releases, ", ") + ". " + b.requirement + "\n" + b.text
}

// nothing is what the details say of a table without any.
const nothing = "Nothing failed, differed or was left out.\n"

// secondRunsHead begins the list of what was good at its second run only.
const secondRunsHead = "Good at the second run only:\n\n"

// blocksOf cuts details into what stands before the cases, the list of second runs, and the
// cases.
func blocksOf(text string) (others, secondRuns []string, cases []block) {
	text = strings.TrimPrefix(text, "\n")
	for _, part := range paragraphs(text) {
		switch m := caseLine.FindStringSubmatch(part); {
		case m != nil:
			cases = append(cases, block{id: m[1], cell: m[2], releases: strings.Split(m[3], ", "), requirement: m[4], text: part[len(m[0]):]})
		case strings.HasPrefix(part, secondRunsHead):
			secondRuns = append(secondRuns, strings.SplitAfter(strings.TrimSpace(part[len(secondRunsHead):])+"\n", "\n")...)
		case part != nothing:
			others = append(others, part)
		}
	}
	return others, slices.DeleteFunc(secondRuns, func(line string) bool { return line == "" }), cases
}

// paragraphs cuts details before each line that begins one: an indented block, a list and the
// empty lines belong to what is before them.
func paragraphs(text string) []string {
	var parts []string
	for line := range strings.Lines(text) {
		begins := line != "\n" && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "- ")
		if begins || len(parts) == 0 {
			parts = append(parts, "")
		}
		parts[len(parts)-1] += line
	}
	return parts
}

// without leaves out what is said of a release.
func without(release string, others, secondRuns []string, cases []block) ([]string, []string, []block) {
	others = slices.DeleteFunc(others, func(s string) bool { return strings.HasPrefix(s, "The column of "+release+" ") })
	secondRuns = slices.DeleteFunc(secondRuns, func(s string) bool { return strings.Contains(s, " at "+release+". The first run: ") })
	for i := range cases {
		cases[i].releases = slices.DeleteFunc(cases[i].releases, func(r string) bool { return r == release })
	}
	return others, secondRuns, slices.DeleteFunc(cases, func(b block) bool { return len(b.releases) == 0 })
}

// mergeDetails joins the details of two tables: what the same case shows at more releases in
// the same words is said once.
func (m *Matrix) mergeDetails(into, from string) string {
	others, secondRuns, cases := blocksOf(into)
	for _, c := range m.Columns {
		others, secondRuns, cases = without(c.Release.String(), others, secondRuns, cases)
	}
	moreOthers, moreRuns, moreCases := blocksOf(from)
	for _, b := range moreCases {
		i := slices.IndexFunc(cases, func(c block) bool { return c.id == b.id && c.cell == b.cell && c.text == b.text })
		if i < 0 {
			cases = append(cases, b)
			continue
		}
		cases[i].releases = append(cases[i].releases, b.releases...)
		slices.SortFunc(cases[i].releases, byRelease)
	}
	slices.SortStableFunc(cases, func(a, b block) int { return cmp.Compare(m.place(a.id), m.place(b.id)) })
	text := strings.Join(append(others, moreOthers...), "")
	if runs := slices.Concat(secondRuns, moreRuns); len(runs) > 0 {
		text += secondRunsHead + strings.Join(runs, "") + "\n"
	}
	for _, b := range cases {
		text += b.String()
	}
	if text == "" {
		text = nothing
	}
	return "\n" + text
}

// place is where a case stands among all; one that is not among them comes last.
func (m *Matrix) place(id string) int {
	if i := slices.IndexFunc(m.Cases, func(c *conformance.Case) bool { return c.ID == id }); i >= 0 {
		return i
	}
	return len(m.Cases)
}
