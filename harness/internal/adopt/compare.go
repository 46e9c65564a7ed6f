package adopt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// Adoption is what a release does, beside the nearest one that was recorded.
type Adoption struct {
	Release wire.Release
	// Nearest is the release that it is compared with.
	Nearest wire.Release
	// Known is false where the catalogue does not know Release.
	Known bool
	// Report is the run that shows it; its recordings are made of it.
	Report *conformance.Report
	Cases  []Case
	// Scripts are those that either release sends.
	Scripts []Script
	Rules   []Rule
}

// Outcome says how a case compares.
type Outcome string

// The outcomes.
const (
	Same       Outcome = "the same"
	Spelling   Outcome = "other commands, the same changes"
	Commands   Outcome = "other commands, other changes"
	Behaviour  Outcome = "other replies, keys or times"
	OnlyHere   Outcome = "could not run before"
	Gone       Outcome = "cannot run any more"
	Neither    Outcome = "can run at neither"
	Uncompared Outcome = "not compared, for the commands are not the same each time"
	Elsewhere  Outcome = "about other releases"
)

// outcomes are all of them, in the order of the page.
var outcomes = []Outcome{Same, Spelling, Commands, Behaviour, OnlyHere, Gone, Neither, Uncompared, Elsewhere}

// differs reports whether the outcome says that the releases are not alike.
func (o Outcome) differs() bool {
	return slices.Contains([]Outcome{Spelling, Commands, Behaviour, OnlyHere, Gone}, o)
}

// Case is how one case compares.
type Case struct {
	ID      string
	Outcome Outcome
	// Cause is the difference without what is the case's own, and Detail all of it; both are
	// empty where there is none.
	Cause, Detail string
}

// Compare puts a run of a release beside the recordings of the nearest one. The run is of
// cases, judged without an oracle; shown is what hello and its codecs told. It is an error when
// nothing was recorded that it could be compared with.
func Compare(release wire.Release, report *conformance.Report, cases []*conformance.Case, oracle *conformance.Oracle, shown Profile) (*Adoption, error) {
	nearest, err := nearestRecorded(oracle, release)
	if err != nil {
		return nil, err
	}
	a := &Adoption{Release: release, Nearest: nearest, Known: wire.Nearest(release) == release, Report: report}
	here, there := newSight(), newSight()
	for _, r := range report.Cases {
		if lines := withoutMark(r.Lines); len(lines) > 0 {
			here.add(r.ID, lines)
		}
		recorded, absent, ok := oracle.Case(nearest, r.ID)
		if ok && absent == "" {
			there.add(r.ID, recorded)
		}
		a.Cases = append(a.Cases, compareCase(r, recorded, ok && absent == ""))
	}
	a.Scripts = compareScripts(here, there, cases, nearest)
	a.Rules = compareRules(here, there, cases, release, nearest, shown)
	return a, nil
}

// nearestRecorded is the recorded release, another one, that is nearest.
func nearestRecorded(oracle *conformance.Oracle, release wire.Release) (wire.Release, error) {
	var others []wire.Release
	for _, r := range oracle.Releases() {
		if r != release {
			others = append(others, r)
		}
	}
	if len(others) == 0 {
		return wire.Release{}, fmt.Errorf("expected recordings of a release to compare %s with, found none", release)
	}
	return wire.NearestOf(others, release), nil
}

func withoutMark(lines []monitor.Line) []monitor.Line {
	cases := (&monitor.Recording{Lines: lines}).Cases()
	if len(cases) == 0 {
		return nil
	}
	return cases[len(cases)-1].Lines
}

// compareCase says how a result compares with the lines that were recorded of the case;
// recorded is false where there are none.
func compareCase(r conformance.Result, lines []monitor.Line, recorded bool) Case {
	c := Case{ID: r.ID}
	switch {
	case r.Status == conformance.Skip && r.Absent == "":
		c.Outcome = Elsewhere
	case r.Absent != "" && !recorded:
		c.Outcome = Neither
	case r.Absent != "":
		c.Outcome, c.Cause, c.Detail = Gone, r.Absent, r.Absent
	case r.Status == conformance.Fail:
		c.Outcome, c.Cause, c.Detail = Behaviour, r.CauseText(), r.Detail
	case !recorded:
		c.Outcome, c.Cause, c.Detail = OnlyHere, "there is no recording to compare with", r.Requirement
	case r.Uncompared != "":
		c.Outcome = Uncompared
	default:
		c.compareTraces(lines, withoutMark(r.Lines))
	}
	return c
}

// compareTraces compares the commands, and where they differ what they change.
func (c *Case) compareTraces(there, here []monitor.Line) {
	f, err := difference(there, here, trace.Normalise)
	switch {
	case err != nil:
		c.Outcome, c.Cause, c.Detail = Commands, "what was seen cannot be compared", err.Error()
		return
	case f == nil:
		c.Outcome = Same
		return
	}
	c.Outcome, c.Cause, c.Detail = Commands, f.Cause, f.Meaning+"\n"+f.Window
	if f, err := difference(there, here, trace.NormaliseExchange); err == nil && f == nil {
		c.Outcome = Spelling
	}
}

// difference is the first one between what the nearest release and this one sent, in a normal
// form.
func difference(there, here []monitor.Line, normal func(*monitor.Recording, string, []monitor.Line) (*trace.Trace, error)) (*trace.Finding, error) {
	left, err1 := normal(&monitor.Recording{}, "nearest", there)
	right, err2 := normal(&monitor.Recording{}, "this one", here)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return trace.Compare(left, right, trace.DefaultTolerance), nil
}
