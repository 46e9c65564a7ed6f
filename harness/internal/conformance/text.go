package conformance

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/docs/spec"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
)

// reportText has the forms of a report and of a case, in 80 columns.
//
//go:embed report.txt
var reportText string

var reportTemplate = template.Must(template.New("").Funcs(template.FuncMap{
	"wrap": text.Wrap, "cases": func(n int) string { return text.Plural(int64(n), "case") }, "upper": strings.ToUpper,
	"counted": counted, "ids": idsOf, "alike": func(c Cause) []Result { return c.of }, "shows": Result.shows, "place": func(r Result) string { return r.of.Place },
	"laidOut": laidOut.MatchString, "isFile": documentFile.MatchString,
	"lines": func(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") },
	"under": func(indent string, r Result) map[string]any { return map[string]any{"Indent": indent, "Case": r} },
}).Parse(reportText))

// written is a form filled in, for a terminal.
func written(form string, data any) string {
	var b strings.Builder
	if err := reportTemplate.ExecuteTemplate(&b, form, data); err != nil {
		panic(err) // the form is part of the program
	}
	return text.Inert(b.String())
}

// Text returns the report for people: the statements, failures by cause with the first case of each in full, the cases without a
// verdict, those that failed as expected, and the numbers.
func (r *Report) Text() string {
	expected := map[string][]Result{} // by reason
	for _, c := range r.Cases {
		if c.Status == FailedAsExpected {
			reason, _, _ := strings.Cut(c.Detail, "\n")
			if c.baseline != "" && reason != seenPrefix+c.Cause {
				reason += "; this run: " + c.Cause
			}
			reason = strings.TrimPrefix(reason, seenPrefix)
			expected[reason] = append(expected[reason], c)
		}
	}
	return written("report", map[string]any{"Report": r, "Verdicts": r.Verdicts(), "Expected": expected, "Dir": spec.Dir, "Left": r.Total - len(r.Cases)})
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
		parts = append(parts, fmt.Sprintf("%d without a recording, by replies, keys, times and rules", unaided))
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

// Text returns one result for people.
func (r Result) Text() string { return written("result", r) }

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
