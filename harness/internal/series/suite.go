package series

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/report"
)

// Suite keeps the results of several cases that are run one after the other. A suite of one case is the case.
type Suite struct {
	cases   report.Cases // without their results
	results []*Result    // of the first ones
	begun   int
	failure error
	over    bool
}

// NewSuite is one of which no case has run.
func NewSuite(cases []Case) *Suite {
	s := &Suite{cases: report.Cases{Kind: "variant"}}
	for _, c := range cases {
		s.cases.All = append(s.cases.All, report.Case{Name: filepath.ToSlash(c.Folder), Standing: report.ToCome})
		name, _, _ := strings.Cut(c.Plan.Name, "/")
		if first, _, _ := strings.Cut(cases[0].Plan.Name, "/"); name != first {
			s.cases.Kind = "scenario"
		}
	}
	return s
}

// Begin says that the next case runs, and which one it is: "variant 1 of 2: slow", or nothing of the only one.
func (s *Suite) Begin() string {
	s.begun++
	if len(s.cases.All) == 1 {
		return ""
	}
	return fmt.Sprintf("%s %d of %d: %s", s.cases.Kind, s.begun, len(s.cases.All), s.cases.All[s.begun-1].Name)
}

// Ended keeps the result of the case.
func (s *Suite) Ended(r *Result) { s.results = append(s.results, r) }

// Over says that no other case runs: the failure, which may be nil, is of the one that was begun last.
func (s *Suite) Over(failure error) { s.over, s.failure = true, failure }

// NeverRan names the cases without a run, once it is over and no case failed.
func (s *Suite) NeverRan() (names []string) {
	if s.over && s.failure == nil {
		for _, c := range s.cases.All[len(s.results):] {
			names = append(names, c.Name)
		}
	}
	return names
}

// Cases are all of them for a page; nil if there is only one.
func (s *Suite) Cases() *report.Cases {
	if len(s.cases.All) == 1 {
		return nil
	}
	cases := &report.Cases{Kind: s.cases.Kind}
	for i, c := range s.cases.All {
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

// Page is the page of all cases, or of the only one; nil without a run.
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
