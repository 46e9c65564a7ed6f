package conformance

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Text returns the report for people, in 80 columns: the statements, failures by cause with the first case of each in
// full, the cases without a verdict, those that failed as expected, and the numbers.
func (r *Report) Text() string {
	var b strings.Builder
	if verdicts := r.Verdicts(); len(verdicts) > 0 {
		text.Wrap(&b, "", fmt.Sprintf("Statements of %s for Redisson %s, at the level %s:", spec.Dir, r.Release, r.Level))
		b.WriteString("  " + strings.Join(counted(verdicts), "\n  ") + "\n")
		for _, v := range verdicts {
			if v.Verdict == Broken {
				text.Wrap(&b, "  broken  ", fmt.Sprintf("%s (%s) in %s", v.ID, v.Level, text.Inert(v.By)))
			}
		}
		b.WriteString("\n")
	}
	for _, cause := range r.Causes {
		text.Wrap(&b, "", text.Plural(int64(cause.Cases), "case")+": "+text.Inert(cause.Cause))
		alike := r.alike(cause)
		alike[0].write(&b, "  ")
		if others := idsOf(alike[1:]); others != "" {
			text.Wrap(&b, "  and also  ", others)
		}
		b.WriteString("\n")
	}
	byReason := map[string][]Result{}
	for _, c := range r.Cases {
		switch c.Status {
		case Error:
			b.WriteString(c.Text() + "\n")
		case FailedAsExpected:
			reason, _, _ := strings.Cut(text.Inert(c.Detail), "\n")
			if c.baseline != "" && reason != seenPrefix+c.Cause {
				reason += "; this run: " + text.Inert(c.Cause)
			}
			reason = strings.TrimPrefix(reason, seenPrefix)
			byReason[reason] = append(byReason[reason], c)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		text.Wrap(&b, "", "Failed as expected: "+reason)
		text.Wrap(&b, "  ", idsOf(byReason[reason]))
		b.WriteString("\n")
	}
	if r.Stopped != "" {
		text.Wrap(&b, "", fmt.Sprintf("Stopped: %s. %d cases were not run; --verbose runs all.", r.Stopped, r.Total-len(r.Cases)))
		b.WriteString("\n")
	}
	head := fmt.Sprintf("%s as Redisson %s on %s", r.Driver, r.Release, r.Server)
	if r.Subject != "" {
		head = fmt.Sprintf("the server %s, by %s as Redisson %s", r.Server, r.Driver, r.Release)
	}
	if r.Level != Wire {
		head += fmt.Sprintf(", at the level %q", r.Level)
	}
	if r.As != "" {
		head += ", " + r.As
	}
	text.Wrap(&b, "", head)
	fmt.Fprintln(&b, r.Counts)
	text.Wrap(&b, "", r.Judges())
	return text.Inert(b.String())
}

// alike are the cases that failed for a cause, the first one first.
func (r *Report) alike(cause Cause) []Result {
	first := r.Cases[slices.IndexFunc(r.Cases, func(c Result) bool { return c.ID == cause.First })]
	return slices.DeleteFunc(slices.Clone(r.Cases), func(c Result) bool { return c.Status != Fail || c.kind() != first.kind() })
}

func idsOf(results []Result) string {
	ids := make([]string, len(results))
	for i, r := range results {
		ids[i] = r.ID
	}
	return strings.Join(ids, ", ")
}

// Judges names the recordings that judged the cases with right replies and keys, and the release that stands for one
// that the catalogue lacks.
func (r *Report) Judges() string {
	by, unaided := map[string]int{}, 0
	for _, c := range r.Cases {
		switch {
		case c.JudgedBy != "":
			by[c.JudgedBy]++
		case c.Status == Pass:
			unaided++
		}
	}
	var parts []string
	for _, release := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d by the recordings of %s", by[release], release))
	}
	if unaided > 0 {
		parts = append(parts, fmt.Sprintf("%d by replies, keys, times, rules and script texts alone", unaided))
	}
	text := "judged: " + strings.Join(parts, ", ")
	switch {
	case len(parts) == 0 && r.Counts.Fail > 0:
		text = "no case got as far as the comparison with a recording"
	case len(parts) == 0:
		text = "nothing was judged"
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
		line += "  " + text.Inert(r.CauseText())
	}
	if utf8.RuneCountInString(line) > text.Width {
		return string([]rune(line)[:text.Width-1]) + "…"
	}
	return line
}

// laidOut are the lines of a window of two recordings.
var laidOut = regexp.MustCompile(`^(?: |>>> )`)

// Text returns one result for people, in 80 columns.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.ToUpper(string(r.Status)))
	r.write(&b, "")
	return b.String()
}

func (r Result) write(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s%s (%s)\n", indent, r.ID, r.of.Place)
	text.Wrap(b, indent+"  required  ", r.Requirement)
	if !documentFile.MatchString(r.Source) {
		text.Wrap(b, indent+"  source    ", r.Source)
	}
	for i, s := range r.shows() {
		head := indent + "            "
		if i == 0 {
			head = indent + "  spec      "
		}
		text.Wrap(b, head, s.ID+": "+s.Text)
		text.Wrap(b, indent+"            ", s.Link)
	}
	first, rest, _ := strings.Cut(text.Inert(r.Detail), "\n")
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

// documentFile is a source that only names a file.
var documentFile = regexp.MustCompile(`^\d+_[0-9a-f]+\.txt$`)

// shows are the statements that the failure breaks or, if that is open, all statements of the case.
func (r Result) shows() []spec.Statement {
	broken := slices.Concat(r.Broken, r.sent)
	if len(broken) == 0 {
		return r.Statements
	}
	return spec.All().Where(func(s spec.Statement) bool {
		return slices.ContainsFunc(broken, func(b trace.Breach) bool { return b.Statement == s.ID })
	})
}

// cited says what the failure shows, each statement on a line; empty for none.
func (r Result) cited() string {
	var b strings.Builder
	for _, s := range r.shows() {
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.ID, s.Text, s.Link)
	}
	return b.String()
}
