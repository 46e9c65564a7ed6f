package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/report"
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
	// StandsIn says that the catalogue does not know the driver's release, and which one stands for it; empty where it
	// knows it.
	StandsIn string `json:"stands_in,omitempty"`
	// Server names the server as people read it, without its password.
	Server string `json:"server"`
	// Level is how like Redisson the implementation had to be.
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
	switch result.Status {
	case Pass:
		r.Counts.Pass++
	case Fail:
		r.Counts.Fail++
	case Skip:
		r.Counts.Skip++
	case FailedAsExpected:
		r.Counts.FailedAsExpected++
	case Error:
		r.Counts.Error++
	}
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

// WriteJUnit writes the report as one JUnit test suite. A case that failed as expected has passed there, with its
// reason as output.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := report.JUnitSuite{
		Name:     fmt.Sprintf("%s as Redisson %s", r.Driver, r.Release),
		Failures: r.Counts.Fail, Errors: r.Counts.Error, Skipped: r.Counts.Skip,
	}
	for _, c := range r.Cases {
		section, name, _ := strings.Cut(c.ID, "/")
		j := report.JUnitCase{Class: section, Name: name}
		detail := printable(c.Detail)
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
			j.Failure = &report.JUnitText{Message: v.Text, Text: printable(v.By)}
			suite.Failures++
		case NotJudged:
			j.Skipped = &report.JUnitText{Message: printable(v.By)}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, j)
	}
	return suite.Write(w)
}

// printable replaces what XML cannot hold, and a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
}
