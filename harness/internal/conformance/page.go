package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Page shows the report: the verdict, a square for each case, failures by cause, and all cases.
func (r *Report) Page() report.Page {
	p := report.Page{
		Title: fmt.Sprintf("%s as Redisson %s", r.Driver, r.Release), State: "ok", Tag: "passed",
		Verdict: fmt.Sprintf("%s is Redisson %s in all %d cases that were judged.", r.Driver, r.Release, r.Counts.Pass),
		Lead:    []string{fmt.Sprintf("On %s, at the level “%s”. %s.", r.Server, r.Level, r.Judges())},
		XML:     r.WriteJUnit,
		Data:    report.Table{Head: []string{"id", "status", "requirement", "source", "detail"}},
	}
	if r.Subject != "" {
		p.Title = r.Server
		p.Verdict = fmt.Sprintf("%s serves %s in all %d cases that were judged.", r.Server, r.Driver, r.Counts.Pass)
	}
	switch {
	case r.Counts.Fail > 0 && r.Subject != "":
		p.State, p.Tag, p.Verdict = "bad", "failed", fmt.Sprintf("%s does not serve %s in %d of %d cases.", r.Server, r.Driver, r.Counts.Fail, len(r.Cases))
	case r.Counts.Fail > 0:
		p.State, p.Tag, p.Verdict = "bad", "failed", fmt.Sprintf("%s is not Redisson %s in %d of %d cases.", r.Driver, r.Release, r.Counts.Fail, len(r.Cases))
	case r.Counts.Error > 0, r.Counts.Pass == 0, r.Total > len(r.Cases):
		p.State, p.Tag, p.Verdict = "open", "open", fmt.Sprintf("%s was not wholly judged as Redisson %s.", r.Driver, r.Release)
	}
	if r.Stopped != "" {
		p.Lead = append(p.Lead, "Stopped: "+r.Stopped+".")
	}
	for _, tile := range []struct {
		label string
		n     int
		bad   bool
	}{
		{"passed", r.Counts.Pass, false}, {"failed", r.Counts.Fail, true}, {"failed as expected", r.Counts.FailedAsExpected, false},
		{"skipped", r.Counts.Skip, false}, {"errors", r.Counts.Error, true}, {"not run", r.Total - len(r.Cases), false},
	} {
		v := report.TileValue{Side: -1, Text: fmt.Sprint(tile.n), Class: map[bool]string{true: "fault"}[tile.bad && tile.n > 0]}
		p.Tiles = append(p.Tiles, report.Tile{Label: tile.label, Values: []report.TileValue{v}})
	}
	squares := report.Table{ID: "squares", Title: "Cases by section", Head: []string{"", ""}, Words: 2, PageOnly: true, Hint: "Green passed, red failed, pale red failed as expected, grey was skipped, amber could not be judged."}
	all := report.Table{ID: "cases", Title: "All cases", Head: []string{"case", "status", "required", "source"}, Words: 4, Wraps: true}
	for _, c := range r.Cases {
		section, _, _ := strings.Cut(c.ID, "/")
		if n := len(squares.Rows); n == 0 || squares.Rows[n-1].Cells[0].Text != section {
			squares.Rows = append(squares.Rows, report.Row{Cells: []report.Cell{{Text: section}, {}}})
		}
		cell := &squares.Rows[len(squares.Rows)-1].Cells[1]
		cell.Squares = append(cell.Squares, report.Square{Class: string(c.Status), Title: fmt.Sprintf("%s: %s", c.ID, c.Status)})
		all.Rows = append(all.Rows, c.row())
		p.Data.Rows = append(p.Data.Rows, report.Row{Cells: []report.Cell{{Text: c.ID}, {Text: string(c.Status)}, {Text: c.Requirement}, {Text: c.Source}, {Text: text.Inert(c.Detail)}}})
	}
	causes := report.Table{ID: "causes", Title: "Failures by cause", Head: []string{"cases", "cause", "of"}, Words: 3, Wraps: true}
	for _, cause := range r.Causes {
		causes.Rows = append(causes.Rows, report.Row{Class: "bad", Cells: []report.Cell{{Text: fmt.Sprint(cause.Cases)}, {Text: cause.Cause}, {Text: idsOf(r.alike(cause))}}})
	}
	statements := report.Table{ID: "statements", Title: "Statements of docs/spec", Head: []string{"statement", "level", "verdict", "by", "text"}, Words: 5, Wraps: true, Hint: strings.Join(counted(r.Verdicts()), "; ")}
	verdicts := r.Verdicts()
	slices.SortStableFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.Verdict, b.Verdict) }) // the broken ones first
	for _, v := range verdicts {
		state := map[string]string{Kept: "ok", Broken: "bad"}[v.Verdict]
		statements.Rows = append(statements.Rows, report.Row{Class: state, Cells: []report.Cell{{Text: v.ID}, {Text: string(v.Level)}, {Text: v.Verdict, Class: "pill"}, {Text: text.Inert(v.By)}, {Text: v.Text}}})
	}
	p.Headline, p.Tables = []report.Table{squares}, []report.Table{statements, causes, all}
	return p
}

// row shows a case, with the details on demand.
func (c Result) row() report.Row {
	state := map[Status]string{Pass: "ok", Fail: "bad", Error: "open"}[c.Status]
	details := c.cited()
	if c.JudgedBy != "" {
		details += "judged by the recording of " + c.JudgedBy + "\n"
	}
	if c.Command != "" {
		details += "by itself: " + c.Command + "\n"
	}
	return report.Row{Class: state, Cells: []report.Cell{
		{Text: c.ID}, {Text: string(c.Status), Class: "pill"}, {Text: c.Requirement}, {Text: cmp.Or(c.Source, "–"), Pre: strings.TrimSpace(details + text.Inert(c.Detail))},
	}}
}
