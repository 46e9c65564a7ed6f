package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// textWidth is how many columns a report for people takes.
const textWidth = 80

// Text returns the report for people, in 80 columns: failures by cause, of each cause the
// first case in full and the others by name, then what could not be judged, what failed as
// expected, and the numbers.
func (r *Report) Text() string {
	var b strings.Builder
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
		wrapTo(&b, "", fmt.Sprintf("Stopped: %s. %d cases were not run; --max-failures 0 runs all.", r.Stopped, r.Total-len(r.Cases)))
		b.WriteString("\n")
	}
	at := ""
	if r.Level != Wire {
		at = fmt.Sprintf(", at the level %q", r.Level)
	}
	wrapTo(&b, "", fmt.Sprintf("%s as Redisson %s on %s%s: %s", r.Driver, r.Release, r.Server, at, r.Counts))
	wrapTo(&b, "", r.Judges())
	return b.String()
}

// writeCause writes what went wrong and in which cases.
func (r *Report) writeCause(b *strings.Builder, cause Cause) {
	noun := "cases"
	if cause.Cases == 1 {
		noun = "case"
	}
	wrapTo(b, "", fmt.Sprintf("%d %s: %s", cause.Cases, noun, printable(cause.Cause)))
	var others []string
	for _, c := range r.Cases {
		switch {
		case c.Status != Fail || causeOf(c) != cause.Cause:
		case c.ID == cause.First:
			c.write(b, "  ")
		default:
			others = append(others, c.ID)
		}
	}
	if len(others) > 0 {
		wrapTo(b, "  and also  ", strings.Join(others, ", "))
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
		wrapTo(b, "", "Failed as expected: "+reason)
		wrapTo(b, "  ", strings.Join(byReason[reason], ", "))
		b.WriteString("\n")
	}
}

// Judges says by what the cases were judged whose replies and keys are right, and which
// release stands for one that the catalogue does not know.
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
		parts = append(parts, fmt.Sprintf("%d by replies, keys, times and script texts alone", alone))
	}
	text := "nothing was judged"
	if len(parts) > 0 {
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
		line += "  " + printable(causeOf(r))
	}
	if utf8.RuneCountInString(line) > textWidth {
		return string([]rune(line)[:textWidth-1]) + "…"
	}
	return line
}

// Text returns one result for people, in 80 columns.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.ToUpper(string(r.Status)))
	r.write(&b, "")
	return b.String()
}

func (r Result) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s (%s)\n", indent, r.ID, r.Place)
	wrapTo(b, indent+"  required  ", r.Requirement)
	wrapTo(b, indent+"  source    ", r.Source)
	first, rest, _ := strings.Cut(printable(r.Detail), "\n")
	wrapTo(b, indent+"  seen      ", first)
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		if utf8.RuneCountInString(line) > textWidth && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, ">") {
			wrapTo(b, indent+"            ", line) // a sentence more
			continue
		}
		fmt.Fprintln(b, line)
	}
	if r.Command != "" {
		// Not wrapped, so that it can be copied.
		fmt.Fprintf(b, "%s  alone     %s\n", indent, r.Command)
	}
}

// wrapTo writes words behind a head, in lines of 80 columns, the further ones as far in as
// the first. A word is never cut.
func wrapTo(b *strings.Builder, head, text string) {
	column := utf8.RuneCountInString(head)
	indent := strings.Repeat(" ", column)
	b.WriteString(head)
	at := column
	for i, word := range strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\n", " "), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > textWidth:
			b.WriteString("\n" + indent)
			at = column
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteString("\n")
}
