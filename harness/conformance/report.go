package conformance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/driver"
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
	// Server names the server as people read it, without its password.
	Server string   `json:"server"`
	Counts Counts   `json:"counts"`
	Cases  []Result `json:"cases"`
	// Causes groups the failures, the most frequent one first.
	Causes []Cause `json:"causes"`
	// Stopped says why cases were left out; empty where all were run.
	Stopped string `json:"stopped,omitempty"`
	// Total is how many cases were to be run.
	Total int `json:"total"`
}

// NewReport returns a report without cases.
func NewReport(identity driver.Identity, release, server string) *Report {
	return &Report{Schema: Schema, Driver: identity, Release: release, Server: server, Cases: []Result{}, Causes: []Cause{}}
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

// Text returns the report for people: every failure and error with its
// requirement, then the numbers.
func (r *Report) Text() string {
	var b strings.Builder
	for _, c := range r.Cases {
		if c.Status != Pass && c.Status != Skip {
			b.WriteString(c.Text())
			b.WriteString("\n")
		}
	}
	if len(r.Causes) > 0 {
		b.WriteString("Failures by cause\n")
		for _, c := range r.Causes {
			fmt.Fprintf(&b, "%5d  %s\n       first: %s\n", c.Cases, c.Cause, c.First)
		}
		b.WriteString("\n")
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "Stopped: %s. %d cases were not run; --max-failures 0 runs all.\n\n", r.Stopped, r.Total-len(r.Cases))
	}
	fmt.Fprintf(&b, "%s as Redisson %s on %s: %s\n%s\n", r.Driver, r.Release, r.Server, r.Counts, r.judges())
	return b.String()
}

// judges says by what the cases were judged whose replies and keys are right.
func (r *Report) judges() string {
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
	if len(parts) == 0 {
		return "nothing was judged"
	}
	return "judged: " + strings.Join(parts, ", ")
}

// Text returns one result for people.
func (r Result) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %s (%s)\n", strings.ToUpper(string(r.Status)), r.ID, r.Place)
	fmt.Fprintf(&b, "  required: %s\n  source:   %s\n", r.Requirement, r.Source)
	for line := range strings.Lines(r.Detail) {
		fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
	}
	if r.Command != "" {
		fmt.Fprintf(&b, "  alone:    %s\n", r.Command)
	}
	return b.String()
}

// WriteJSON writes the one JSON document of verify --json.
func (r *Report) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Failure *junitText `xml:"failure,omitempty"`
	Error   *junitText `xml:"error,omitempty"`
	Skipped *junitText `xml:"skipped,omitempty"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the report as one JUnit test suite. A case that failed as
// expected has passed there, with its reason as output.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{
		Name: fmt.Sprintf("%s as Redisson %s", r.Driver, r.Release), Tests: len(r.Cases),
		Failures: r.Counts.Fail, Errors: r.Counts.Error, Skipped: r.Counts.Skip,
	}
	for _, c := range r.Cases {
		section, name, _ := strings.Cut(c.ID, "/")
		j := junitCase{Class: section, Name: name}
		detail := printable(c.Detail)
		switch c.Status {
		case Fail:
			j.Failure = &junitText{c.Requirement, detail}
		case Error:
			j.Error = &junitText{c.Requirement, detail}
		case Skip:
			j.Skipped = &junitText{detail, ""}
		default:
			j.Output = detail
		}
		suite.Cases = append(suite.Cases, j)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// printable replaces what XML cannot hold.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return '\uFFFD'
		}
		return r
	}, s)
}
