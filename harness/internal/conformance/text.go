package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Text returns the report for people, in 80 columns: what the run says of the statements, failures by cause, of each
// cause the first case in full and the others by name, then what could not be judged, what failed as expected, and the
// numbers.
func (r *Report) Text() string {
	var b strings.Builder
	r.writeStatements(&b)
	for _, c := range r.Causes {
		r.writeCause(&b, c)
	}
	for _, c := range r.Cases {
		if c.Status == Error {
			b.WriteString(c.Text() + "\n")
		}
	}
	r.writeExpected(&b)
	if r.Stopped != "" {
		text.Wrap(&b, "", fmt.Sprintf("Stopped: %s. %d cases were not run; --verbose runs all.", r.Stopped, r.Total-len(r.Cases)))
		b.WriteString("\n")
	}
	at := ""
	if r.Level != Wire {
		at = fmt.Sprintf(", at the level %q", r.Level)
	}
	if r.As != "" {
		at += ", " + r.As
	}
	text.Wrap(&b, "", fmt.Sprintf("%s as Redisson %s on %s%s", r.Driver, r.Release, r.Server, at))
	fmt.Fprintln(&b, r.Counts)
	text.Wrap(&b, "", r.Judges())
	return printable(b.String())
}

// writeStatements counts the statements by verdict, and names those that are broken.
func (r *Report) writeStatements(b *strings.Builder) {
	verdicts := r.Verdicts()
	if len(verdicts) == 0 {
		return
	}
	text.Wrap(b, "", fmt.Sprintf("Statements of %s for Redisson %s, at the level %s:", spec.Dir, r.Release, r.Level))
	for _, line := range counted(verdicts) {
		b.WriteString("  " + line + "\n")
	}
	for _, v := range verdicts {
		if v.Verdict == Broken {
			text.Wrap(b, "  broken  ", fmt.Sprintf("%s (%s) in %s", v.ID, v.Level, printable(v.By)))
		}
	}
	b.WriteString("\n")
}

// writeCause writes what went wrong and in which cases.
func (r *Report) writeCause(b *strings.Builder, cause Cause) {
	noun := "cases"
	if cause.Cases == 1 {
		noun = "case"
	}
	text.Wrap(b, "", fmt.Sprintf("%d %s: %s", cause.Cases, noun, printable(cause.Cause)))
	kind, others := "", []string{}
	for _, c := range r.Cases {
		if c.ID == cause.First {
			kind = c.kind()
		}
	}
	for _, c := range r.Cases {
		switch {
		case c.Status != Fail || c.kind() != kind:
		case c.ID == cause.First:
			c.write(b, "  ")
		default:
			others = append(others, c.ID)
		}
	}
	if len(others) > 0 {
		text.Wrap(b, "  and also  ", strings.Join(others, ", "))
	}
	b.WriteString("\n")
}

// writeExpected names the cases that failed as they are known to.
func (r *Report) writeExpected(b *strings.Builder) {
	byReason, order := map[string][]string{}, []string{}
	for _, c := range r.Cases {
		if c.Status != FailedAsExpected {
			continue
		}
		reason, _, _ := strings.Cut(printable(c.Detail), "\n")
		if byReason[reason] == nil {
			order = append(order, reason)
		}
		byReason[reason] = append(byReason[reason], c.ID)
	}
	for _, reason := range order {
		text.Wrap(b, "", "Failed as expected: "+reason)
		text.Wrap(b, "  ", strings.Join(byReason[reason], ", "))
		b.WriteString("\n")
	}
}

// Judges says by what the cases were judged whose replies and keys are right, and which release stands for one that the
// catalogue does not know.
func (r *Report) Judges() string {
	by, alone := map[string]int{}, 0
	for _, c := range r.Cases {
		switch {
		case c.JudgedBy != "":
			by[c.JudgedBy]++
		case c.Status == Pass:
			alone++
		}
	}
	var parts []string
	for _, release := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d by the recordings of %s", by[release], release))
	}
	if alone > 0 {
		parts = append(parts, fmt.Sprintf("%d by replies, keys, times, rules and script texts alone", alone))
	}
	text := "nothing was judged"
	switch {
	case len(parts) == 0 && r.Counts.Fail > 0:
		text = "no case got as far as the comparison with a recording"
	case len(parts) > 0:
		text = "judged: " + strings.Join(parts, ", ")
	}
	if r.StandsIn != "" {
		text += ". " + r.StandsIn
	}
	return text
}

// Line returns a result in one line of 80 columns.
func (r Result) Line() string {
	line := fmt.Sprintf("%-17s  %s", r.Status, r.ID)
	if r.Status == Fail || r.Status == Error {
		line += "  " + printable(r.CauseText())
	}
	if utf8.RuneCountInString(line) > text.Width {
		return string([]rune(line)[:text.Width-1]) + "…"
	}
	return line
}

// laidOut are the lines of a window of two recordings.
var laidOut = regexp.MustCompile(`^(?: |>>> |left: |right: |before its declared)`)

// Text returns one result for people, in 80 columns.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.ToUpper(string(r.Status)))
	r.write(&b, "")
	return b.String()
}

func (r Result) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s (%s)\n", indent, r.ID, r.Place)
	text.Wrap(b, indent+"  required  ", r.Requirement)
	text.Wrap(b, indent+"  source    ", r.Source)
	for i, s := range r.Statements {
		head := indent + "            "
		if i == 0 {
			head = indent + "  spec      "
		}
		text.Wrap(b, head, s.ID+": "+s.Text)
		text.Wrap(b, indent+"            ", s.Link)
	}
	first, rest, _ := strings.Cut(printable(r.Detail), "\n")
	text.Wrap(b, indent+"  seen      ", first)
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		if laidOut.MatchString(line) {
			fmt.Fprintln(b, line)
			continue
		}
		text.Wrap(b, indent+"            ", line) // a sentence more
	}
	if r.Command != "" {
		// Not wrapped, so that it can be copied.
		fmt.Fprintf(b, "%s  alone     %s\n", indent, r.Command)
	}
}

// cited says which statements the case shows, each on a line; empty for none.
func (r Result) cited() string {
	var b strings.Builder
	for _, s := range r.Statements {
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.ID, s.Text, s.Link)
	}
	return b.String()
}
