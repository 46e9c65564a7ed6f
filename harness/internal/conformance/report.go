package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/report"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Schema names the form of a report.
const Schema = "dq-bench/verification/v1"

// Counts are the numbers of cases by status.
type Counts struct {
	Pass             int `json:"pass"`
	Fail             int `json:"fail"`
	Skip             int `json:"skip"`
	FailedAsExpected int `json:"failed_as_expected"`
	Error            int `json:"error"`
}

// Report is the outcome of a run.
type Report struct {
	Schema  string          `json:"schema"`
	Driver  driver.Identity `json:"driver"`
	Release string          `json:"release"`
	// As says how dq was started: as shipped, or with Redisson's commands only; empty for others.
	As string `json:"as,omitempty"`
	// StandsIn says that the catalogue does not know the driver's release, and which one stands for it; empty where it knows it.
	StandsIn string `json:"stands_in,omitempty"`
	// Subject is "server" where the server is judged by a program that is known to be right; empty where the program is.
	Subject string `json:"subject,omitempty"`
	// Server names the server as people read it, without its password.
	Server string `json:"server"`
	// Unseen says why the commands were not judged; empty where they were.
	Unseen string `json:"unseen,omitempty"`
	// Level is how closely the implementation was compared with Redisson.
	Level  Level    `json:"level"`
	Counts Counts   `json:"counts"`
	Cases  []Result `json:"cases"`
	// Causes groups the failures, the most frequent one first.
	Causes []Cause `json:"causes"`
	// Statements say of each statement of the specification whether it was kept.
	Statements []Verdict `json:"statements"`
	// Stopped says why cases were left out; empty where all were run.
	Stopped string `json:"stopped,omitempty"`
	// Total is how many cases were to be run.
	Total int `json:"total"`
}

// NewReport returns a report without cases.
func NewReport(identity driver.Identity, release, server string) *Report {
	return &Report{Schema: Schema, Driver: identity, Release: release, Server: server, Level: Wire, Cases: []Result{}, Causes: []Cause{}, Statements: []Verdict{}}
}

// Add appends a result and counts it.
func (r *Report) Add(result Result) {
	r.Cases = append(r.Cases, result)
	r.Causes = causesOf(r.Cases)
	c := &r.Counts
	*map[Status]*int{Pass: &c.Pass, Fail: &c.Fail, Skip: &c.Skip, FailedAsExpected: &c.FailedAsExpected, Error: &c.Error}[result.Status]++
}

// String counts in one line.
func (c Counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d failed as expected, %d skipped, %d errors",
		c.Pass, c.Fail, c.FailedAsExpected, c.Skip, c.Error)
}

// WriteJSON writes the one JSON document of verify --json.
func (r *Report) WriteJSON(w io.Writer) error {
	r.Statements = r.Verdicts()
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// WriteJUnit writes the report as one JUnit test suite. A case that failed as expected has passed there, with its reason as output.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := report.JUnitSuite{
		Name:     fmt.Sprintf("%s as Redisson %s", r.Driver, r.Release),
		Failures: r.Counts.Fail, Errors: r.Counts.Error, Skipped: r.Counts.Skip,
	}
	for _, c := range r.Cases {
		section, name, _ := strings.Cut(c.ID, "/")
		j := report.JUnitCase{Class: section, Name: name}
		detail := text.Inert(c.Detail)
		switch c.Status {
		case Fail:
			j.Failure = &report.JUnitText{Message: c.Requirement, Text: c.cited() + detail}
		case Error:
			j.Error = &report.JUnitText{Message: c.Requirement, Text: detail}
		case Skip:
			j.Skipped = &report.JUnitText{Message: detail}
		default:
			j.Output = detail
		}
		suite.Cases = append(suite.Cases, j)
	}
	for _, v := range r.Verdicts() {
		j := report.JUnitCase{Class: "statements", Name: v.ID + " " + string(v.Level), Output: v.By}
		switch v.Verdict {
		case Broken:
			j.Failure = &report.JUnitText{Message: v.Text, Text: text.Inert(v.By)}
			suite.Failures++
		case NotJudged:
			j.Skipped = &report.JUnitText{Message: text.Inert(v.By)}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, j)
	}
	return suite.Write(w)
}

// WriteRecordings writes the lines of each case that ran, one file for each section: <dir>/DQ.offer.monitor. The metadata
// names cases that the implementation could not run, and cases whose commands differ from run to run.
func WriteRecordings(dir string, report *Report) (files []string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("the recordings cannot be written: %w", err)
	}
	bySection, order := map[string]*trace.Recording{}, []string{}
	for _, result := range report.Cases {
		if len(result.Lines) == 0 && result.Absent == "" {
			continue
		}
		section, _, _ := strings.Cut(result.ID, "/")
		recording := bySection[section]
		if recording == nil {
			recording = &trace.Recording{Fields: []trace.Field{
				{Key: "source", Value: "dq-bench record, conformance section " + section},
				{Key: "client", Value: report.Driver.Name},
				{Key: "version", Value: report.Driver.Version},
				{Key: "server", Value: report.Server},
			}}
			bySection[section], order = recording, append(order, section)
		}
		recording.Lines = append(recording.Lines, result.Lines...)
		for _, declared := range [][2]string{{trace.AbsentKey, result.Absent}, {trace.UncomparedKey, result.of.Trace}} {
			if declared[1] != "" {
				recording.Fields = append(recording.Fields, trace.Field{Key: declared[0], Value: result.ID + ": " + declared[1]})
			}
		}
	}
	for _, section := range order {
		var text bytes.Buffer
		file := filepath.Join(dir, section+".monitor")
		if err := errors.Join(bySection[section].Write(&text), run.WriteWhole(file, text.Bytes())); err != nil {
			return files, err
		}
		files = append(files, file)
	}
	return files, nil
}

// Page shows the report: the verdict, a square for each case, failures by cause, and all cases.
func (r *Report) Page() report.Page {
	title, yes, no := fmt.Sprintf("%s as Redisson %s", r.Driver, r.Release), fmt.Sprintf("%s is Redisson %s", r.Driver, r.Release), fmt.Sprintf("%s is not Redisson %s", r.Driver, r.Release)
	if r.Subject != "" {
		title, yes, no = r.Server, fmt.Sprintf("%s serves %s", r.Server, r.Driver), fmt.Sprintf("%s does not serve %s", r.Server, r.Driver)
	}
	p := report.Page{
		Title: title, State: "ok", Tag: "passed", Verdict: fmt.Sprintf("%s in all %d cases that were judged.", yes, r.Counts.Pass),
		Lead: []string{fmt.Sprintf("On %s, at the level “%s”. %s.", r.Server, r.Level, r.Judges())},
		XML:  r.WriteJUnit,
		Data: report.Table{Head: []string{"id", "status", "requirement", "source", "detail"}},
	}
	switch {
	case r.Counts.Fail > 0:
		p.State, p.Tag, p.Verdict = "bad", "failed", fmt.Sprintf("%s in %d of %d cases.", no, r.Counts.Fail, len(r.Cases))
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
		causes.Rows = append(causes.Rows, report.Row{Class: "bad", Cells: []report.Cell{{Text: fmt.Sprint(cause.Cases)}, {Text: cause.Cause}, {Text: idsOf(cause.of)}}})
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
