// Package compare answers: which is later?
//
// It reads the runs of two sides, tests what differs between them, knows the noise of
// the machine, and judges. How that looks is for package page.
package compare

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Schema is the schema of a Comparison.
const Schema = "dq-bench/comparison/v1"

// Outcome is the judgement on one figure, or on all of them.
type Outcome string

// The outcomes of a comparison.
const (
	Better       Outcome = "better"
	Worse        Outcome = "worse"
	NoDifference Outcome = "no difference"
	Inconclusive Outcome = "inconclusive"
)

const (
	// MinRuns is how many runs a side needs: with fewer, no difference in
	// quantiles is significant at 0.05 once it is adjusted for several of them.
	MinRuns = 6
	// significance is the level of all judged figures together.
	significance = .05
)

// Options tune a comparison.
type Options struct {
	// MinEffect is the smallest change that matters, as a share of OLD.
	MinEffect float64
	// MinDelta is the smallest change of a time that matters whatever OLD is, which for
	// a median of past due is little.
	MinDelta time.Duration
	// Force compares runs of different configurations, and those that can be judged by nothing.
	Force bool
	// Servers says that the servers are what is compared: they may differ, and are listed as Differences.
	Servers bool
}

// DefaultOptions returns the bounds of compare: a change matters from 5 % and 20 µs on.
func DefaultOptions() Options {
	return Options{MinEffect: .05, MinDelta: 20 * time.Microsecond}
}

// Comparison is the outcome of comparing two sets of runs.
type Comparison struct {
	Schema string `json:"schema"`
	Old    Side   `json:"old"`
	New    Side   `json:"new"`
	// Paired says that the runs were made in pairs, one of each side at the same time:
	// what is judged is how those of a pair differ.
	Paired bool `json:"paired,omitempty"`
	// Rows are per histogram and quantile.
	Rows []Row `json:"rows"`
	// Differences of configuration that Force overrode, and why runs should not have been judged.
	Differences []string `json:"differences,omitempty"`
	// Warnings are what weakens the evidence, such as sides that were not interleaved.
	Warnings []string `json:"warnings,omitempty"`
	Outcome  Outcome  `json:"outcome"`
	Text     string   `json:"text"`

	// faults says what NEW did wrong to more messages, untold what is no more than the runs differ by.
	faults, untold string
	// old and new are the runs that were compared, without those that were left out.
	old, new []*run.Document
}

// Side sums up the runs of one side.
type Side struct {
	Driver string     `json:"driver"`
	Server string     `json:"server"`
	Runs   int        `json:"runs"`
	Counts run.Counts `json:"counts"`
	// Calls is the median over the runs, missing if no server told.
	Calls *float64 `json:"transfer_calls_per_message,omitempty"`
}

// Runs judges NEW against OLD. Runs of one side must share a configuration
// and an implementation, and both sides must share the configuration and the size of the machine,
// or it fails with a *run.DifferenceError; and none may be invalid, or it fails with an
// *UnfitError, unless forced. IsRefused tells both from a failure. Interrupted runs are left
// out with a warning, and their partners with them; where a side has no others they are refused as
// invalid ones are. Compared tells which runs were left out.
// A run that is given twice is a *DuplicateRunError.
//
// Past due, or lateness where not both sides use Redisson's format, and response time,
// or offer RTT where it was not measured, are judged, and the server's processor time for
// each message; the former at each of Quantiles that every run has enough messages for,
// and lateness also at the p99 of the median of the seconds in which the machine was calm: a row
// is better or worse if the exact Mann-Whitney test over the runs is significant at 0.05
// (adjusted by Holm) and the shift exceeds MinEffect, MinDelta and the noise. There is no
// difference only where the whole 95 % interval of the shift lies within these bounds; else
// the row is inconclusive. The whole is worse if any row is, or if NEW treated more messages
// wrongly, left more of them overdue or had more offers refused: beyond what chance does to
// single messages, and where runs of OLD had that too, beyond how much the runs differ.
//
// Runs that were made in pairs, one of each side at the same time, are judged by how those of
// a pair differ, which the machine that both share does not move: by the exact signed-rank
// test over the ratios, MinPairs or more, and the p99 per second second by second. A pair of
// which both runs are invalid is left out.
//
// With fewer than MinRuns a side it is inconclusive, whatever the figures: seconds of one
// run are not independent. More than MaxRuns a side are refused. So it is where one side was measured after the other, not in
// turn with it, and either rises or falls from run to run: what differs may be the hour.
//
// For a side that is one run it reads the run's lateness.hlog, if there is one, and fails
// if that is damaged.
func Runs(old, new []*run.Document, o Options) (*Comparison, error) {
	c, err := newComparison(old, new, o)
	if err == nil {
		c.checkOrder(c.old, c.new)
	}
	return c, err
}

// Shown is Runs for a page or a series, which shows runs that are not to be judged beside each other all the same: the
// figures are there, and Text says why nothing is concluded from them, in the words of the error of Runs.
func Shown(old, new []*run.Document, o Options) (*Comparison, error) {
	c, err := Runs(old, new, o)
	if !IsRefused(err) {
		return c, err
	}
	refused := err
	o.Force = true
	if c, err = Runs(old, new, o); err == nil {
		c.unjudge(refused)
	}
	return c, err
}

// newComparison is Runs without a look at the order in which the sides were measured.
func newComparison(old, new []*run.Document, o Options) (*Comparison, error) {
	if len(old) == 0 || len(new) == 0 {
		return nil, errors.New("compare: expected at least one run a side")
	}
	if most := max(len(old), len(new)); most > MaxRuns {
		return nil, fmt.Errorf("compare: expected at most %d runs a side, got %d: give the newest ones", MaxRuns, most)
	}
	if err := checkDistinct(old, new); err != nil {
		return nil, err
	}
	c := &Comparison{Schema: Schema}
	old, new = c.pairUp(old, new)
	c.old, c.new = old, new
	reasons := allUnfit(old, new)
	if err := refused(allDifferences(old, new, !o.Servers), reasons); err != nil && !o.Force {
		return nil, err
	}
	c.Differences = slices.Concat(allDifferences(old, new, true), reasons)
	c.Old, c.New = newSide(old), newSide(new)
	c.tellApart()
	c.Warnings = append(c.Warnings, withoutResponse(slices.Concat(old, new))...)
	for _, f := range figuresOf(slices.Concat(old, new)) {
		if row := newRow(f, old, new, c.Paired); row.told() {
			c.Rows = append(c.Rows, row)
		}
	}
	worse := ""
	if worse, c.untold = moreFaults(countsOf(old), countsOf(new)); worse != "" {
		c.faults = "NEW is worse: " + worse + "."
	}
	c.judge(o)
	return c, nil
}

// pairUp sets runs that were made at the same time beside each other.
func (c *Comparison) pairUp(old, new []*run.Document) (a, b []*run.Document) {
	a, b, c.Paired = paired(old, new)
	if !c.Paired {
		if old[0].Beside != nil {
			c.Warnings = append(c.Warnings, "the runs were made at the same time as others, but not each has one partner on the other side, so they are not judged in pairs")
		}
		return c.leaveInterrupted(old, new)
	}
	a, b = c.leaveInterrupted(a, b)
	valid, others, disturbed := undisturbed(a, b)
	if disturbed == 0 || len(valid) == 0 {
		return a, b
	}
	c.Warnings = append(c.Warnings, fmt.Sprintf("left out %d of %d pairs, of which both runs are invalid: the machine had no time for either", disturbed, len(a)))
	return valid, others
}

// allDifferences are those of configuration and circumstances, of the servers too or without them.
func allDifferences(old, new []*run.Document, servers bool) []string {
	var differences []string
	add := func(lines []string) {
		for _, line := range lines {
			if !slices.Contains(differences, line) {
				differences = append(differences, line)
			}
		}
	}
	var differ run.Differences
	for _, side := range [][]*run.Document{old, new} {
		for _, r := range side {
			add(run.Differ([]run.Field{{Name: "driver within a side", Value: side[0].Driver.String()}}, []run.Field{{Name: "driver within a side", Value: r.Driver.String()}}))
			fields := slices.Concat(r.Configuration(), r.Circumstances())
			if !servers {
				fields = slices.DeleteFunc(fields, run.Field.OfServer)
			}
			add(differ.Of(fields))
		}
	}
	return differences
}

// checkDistinct refuses a run that is given twice: its copies are no further evidence.
func checkDistinct(old, new []*run.Document) error {
	seen := map[string]bool{}
	for _, r := range slices.Concat(old, new) {
		key := r.RunID + r.Started.Format(time.RFC3339Nano)
		if r.RunID != "" && seen[key] {
			return &DuplicateRunError{RunID: r.RunID, Started: r.Started}
		}
		seen[key] = true
	}
	return nil
}

// DuplicateRunError says that one run was given more than once.
type DuplicateRunError struct {
	RunID   string
	Started time.Time
}

func (e *DuplicateRunError) Error() string {
	return fmt.Sprintf("run %s of %s is given twice: copies of a run are no further evidence; give each run once",
		e.RunID, e.Started.Format(time.RFC3339))
}

func countsOf(runs []*run.Document) (all []run.Counts) {
	for _, r := range runs {
		all = append(all, r.Counts)
	}
	return all
}

func newSide(runs []*run.Document) Side {
	s := Side{Driver: runs[0].Driver.String(), Server: runs[0].ServerText(), Runs: len(runs)}
	var calls []float64
	for _, r := range runs {
		s.Counts = s.Counts.Plus(r.Counts)
		if r.ServerStats != nil {
			calls = append(calls, r.ServerStats.TransferCallsPerMessage)
		}
	}
	if len(calls) > 0 {
		median := stats.Median(calls)
		s.Calls = &median
	}
	return s
}

// tellApart says where the servers are of sides that are called the same, where that is not the same.
func (c *Comparison) tellApart() {
	old, new := address(c.old), address(c.new)
	if c.Old.Driver != c.New.Driver || c.Old.Server != c.New.Server || old == new {
		return
	}
	for _, side := range []struct {
		s  *Side
		at string
	}{{&c.Old, old}, {&c.New, new}} {
		if side.at != "" {
			side.s.Server += " at " + side.at
		}
	}
}

// address is that of the server of all the runs, empty where they have none, or not the same.
func address(runs []*run.Document) string {
	at := runs[0].ServerAddress()
	if slices.ContainsFunc(runs, func(r *run.Document) bool { return r.ServerAddress() != at }) {
		return ""
	}
	return at
}
