package series

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/report"
)

// Suite keeps what several cases come to as they are run one after the other. That of one case is the case.
type Suite struct {
	kind    string
	names   []string
	results []*Result // of the first ones
	begun   int
	failure error
	over    bool
}

// NewSuite is one of which nothing has run.
func NewSuite(cases []Case) *Suite {
	s := &Suite{kind: "variant"}
	scenarios := map[string]bool{}
	for _, c := range cases {
		s.names = append(s.names, filepath.ToSlash(c.Folder))
		name, _, _ := strings.Cut(c.Plan.Name, "/")
		scenarios[name] = true
	}
	if len(scenarios) > 1 {
		s.kind = "scenario"
	}
	return s
}

// Begin says that the next case runs, and which one it is: "variant 1 of 2: slow", or nothing of the only one.
func (s *Suite) Begin() string {
	s.begun++
	if len(s.names) == 1 {
		return ""
	}
	return fmt.Sprintf("%s %d of %d: %s", s.kind, s.begun, len(s.names), s.names[s.begun-1])
}

// Ended keeps what the case came to.
func (s *Suite) Ended(r *Result) { s.results = append(s.results, r) }

// Over says that no other case runs: the failure, which may be nil, is that of the one that was begun last.
func (s *Suite) Over(failure error) { s.over, s.failure = true, failure }

// NeverRan names the cases without a run, once it is over and none failed.
func (s *Suite) NeverRan() []string {
	if !s.over || s.failure != nil {
		return nil
	}
	return s.names[len(s.results):]
}

// Cases are all of them for a page; nil where there is only one.
func (s *Suite) Cases() *report.Cases {
	if len(s.names) == 1 {
		return nil
	}
	cases := &report.Cases{Kind: s.kind}
	for i, name := range s.names {
		c := report.Case{Name: name, Standing: report.ToCome}
		switch {
		case i < len(s.results):
			c.Result = s.results[i].Report()
		case s.failure != nil && i+1 == s.begun:
			c.Failure = s.failure.Error()
		case s.over:
			c.Standing = report.NeverRan
		case i+1 == s.begun:
			c.Standing = report.Running
		}
		cases.All = append(cases.All, c)
	}
	return cases
}

// Page is that of all cases, or of the only one; nil where none has a run.
func (s *Suite) Page() *report.Page {
	if len(s.results) == 0 {
		return nil
	}
	p := s.results[0].Page()
	if cases := s.Cases(); cases != nil {
		p = report.OfCases(*cases)
	}
	return &p
}
