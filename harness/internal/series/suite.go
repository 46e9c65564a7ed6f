package series

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/report"
)

// Suite keeps the results of several cases that are run one after the other. A suite of one case is the case.
type Suite struct {
	cases report.Cases
	first *Result
	begun int
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
	c := &s.cases.All[s.begun]
	s.begun++
	c.Standing = report.Running
	if len(s.cases.All) == 1 {
		return ""
	}
	return fmt.Sprintf("%s %d of %d: %s", s.cases.Kind, s.begun, len(s.cases.All), c.Name)
}

// Ended keeps the result of the case.
func (s *Suite) Ended(r *Result) {
	s.cases.All[s.begun-1].Result, s.first = r.Report(), cmp.Or(s.first, r)
}

// Over says that no other case runs: the failure, which may be nil, is of the one that was begun last.
func (s *Suite) Over(failure error) {
	for i := range s.cases.All {
		switch c := &s.cases.All[i]; {
		case len(c.Sets) > 0:
		case failure != nil && i+1 == s.begun:
			c.Failure = failure.Error()
		default:
			c.Standing = report.NeverRan
		}
	}
}

// NeverRan names the cases without a run, once it is over.
func (s *Suite) NeverRan() (names []string) {
	for _, c := range s.cases.All {
		if c.Standing == report.NeverRan {
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
	return &report.Cases{Kind: s.cases.Kind, All: slices.Clone(s.cases.All)}
}

// Page is the page of all cases, or of the only one; nil without a run.
func (s *Suite) Page() *report.Page {
	if s.first == nil {
		return nil
	}
	p := s.first.Page()
	if cases := s.Cases(); cases != nil {
		p = report.OfCases(*cases)
	}
	return &p
}
