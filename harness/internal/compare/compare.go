// Package compare answers: which set of runs is later, and since which set?
//
// A run is one observation, for its seconds depend on each other. Two sets are compared by exact tests over their runs. Of
// three sets and more, it finds the set at which the ratio to a reference changes. Package report shows the result.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Schema is the schema of a Comparison.
const Schema = "dq-bench/comparison/v2"

// Outcome is a judgement.
type Outcome string

// The outcomes.
const (
	Better       Outcome = "better"
	Worse        Outcome = "worse"
	NoDifference Outcome = "no difference"
	Inconclusive Outcome = "inconclusive"
)

// Bounds of a judgement. With fewer runs than MinRuns, or fewer pairs than MinPairs, no test is significant once it is adjusted for ten figures.
const (
	MinRuns      = 6
	MinPairs     = 10
	mostASide    = 40 // runs of a set are compared, the newest ones: the exact tests of more take seconds
	significance = .05
	minDelta     = 20 * time.Microsecond // the smallest change of a time that callers wait which matters
	minEffect    = .05                   // the smallest change that matters, as a share of the base
)

// Options tune a comparison.
type Options struct {
	By      string // version, commit, server or label:KEY: the sets are made anew by it; empty keeps the sets as given
	Servers bool   // allows the servers to differ, because they are compared
	Force   bool   // shows runs that differ in more than the sets do, and judges nothing
}

// Comparison is the result of comparing two sets or more.
type Comparison struct {
	Schema     string    `json:"schema"`
	By         string    `json:"by,omitempty"`        // how the sets were made; empty if they were given
	Reference  string    `json:"reference,omitempty"` // the implementation beside which all runs were made: figures are ratios to its runs
	Sets       []Summary `json:"sets"`
	Paired     bool      `json:"paired,omitempty"` // each run of one set was made beside a run of the other
	Rows       []Row     `json:"rows"`             // judge the last set against the first
	Tracks     []*Track  `json:"tracks,omitempty"` // follow each figure over three sets and more
	Outcome    Outcome   `json:"outcome"`
	FirstWorse string    `json:"first_worse,omitempty"` // the first set of the newest level, if that level is worse
	Text       string    `json:"text"`                  // the verdict in one sentence, Next the command that would decide
	Next       string    `json:"next,omitempty"`
	LeftOut    []string  `json:"left_out,omitempty"` // the runs that cannot be judged, with the reason; Notes weaken the evidence
	Notes      []string  `json:"notes,omitempty"`

	given    []Set // in the place of sets with the runs that were left out too
	sets     []Set
	of       blocks // runs of the reference
	faults   string
	within   string   // faults of the last set that differ no more than the runs do
	unjudged []string // headline figures without a row
	longer   string   // the duration that would judge them; empty if length is not what they lack
}

// Summary sums up a set.
type Summary struct {
	Name   string     `json:"name"`
	Driver string     `json:"driver"`
	Server string     `json:"server"`
	Runs   int        `json:"runs"`
	Counts run.Counts `json:"counts"`
	Calls  *float64   `json:"transfer_calls_per_message,omitempty"` // the median over the runs; missing if no server reports it
}

// Row judges one figure of the last set against the first. Old, New and Floor, the smallest shift that matters, are in its
// unit. Ratio is new over old, missing if a figure is not above 0; with a reference it is the ratio of their ratios.
type Row struct {
	Figure  string    `json:"figure"`
	Unit    string    `json:"unit"`
	Old     float64   `json:"old"`
	New     float64   `json:"new"`
	Shift   Estimate  `json:"shift"`
	Ratio   *Estimate `json:"ratio,omitempty"`
	P       float64   `json:"p"` // adjusted for the number of figures
	Floor   float64   `json:"floor"`
	Outcome Outcome   `json:"outcome"`
}

// Estimate is a value with its 95 % interval, which is missing for too few runs.
type Estimate struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// Sets compares two sets or more; the first is the base. Runs that differ in more than the sets do are an ErrDiffer,
// unless o.Force. A run that is given twice is an error too.
func Sets(ctx context.Context, sets []Set, o Options) (*Comparison, error) {
	if err := distinct(All(sets)); err != nil {
		return nil, err
	}
	c := &Comparison{Schema: Schema, By: o.By, Rows: []Row{}}
	var err error
	if sets, err = c.arrange(sets, o); err != nil {
		return nil, err
	}
	refused := alike(sets, c.Reference, o)
	if refused != nil && !o.Force {
		return nil, refused
	}
	judged, leftOut := fit(All(sets))
	c.LeftOut = leftOut
	all := c.others(sets)
	c.sets = keep(all, len(all) > 2, func(r *run.Document) bool { return judged[r] })
	if c.given = c.sets; len(c.sets) < 2 || len(all) == 2 {
		c.given, c.sets = all, keep(all, false, func(r *run.Document) bool { return judged[r] })
	}
	c.judge(ctx)
	for i, s := range c.sets {
		at := slices.IndexFunc(all, func(one Set) bool { return one.Name == s.Name })
		c.Sets = append(c.Sets, newSummary(s, all[at].Runs))
		if len(s.Runs) == 0 {
			c.sets[i] = all[at] // shown, and not judged
		}
	}
	if refused != nil {
		c.Outcome, c.FirstWorse, c.Next, c.Text = Inconclusive, "", "", "Not judged: "+refused.Error()+"."
		c.undecided()
	}
	return c, ctx.Err()
}

// arrange finds the reference, and makes the sets that are compared; the runs of a reference may be a set of their own.
func (c *Comparison) arrange(given []Set, o Options) (sets []Set, err error) {
	runs := All(given)
	sets = given
	if o.By != "" {
		if sets, err = group(runs, o.By); err != nil {
			return nil, err
		}
	}
	c.Reference, c.of = findReference(runs, sets)
	others := c.others(sets)
	if c.Reference != "" && o.By != "" { // whose name may be that of a set
		others, err = group(All(others), o.By)
		sets = append(slices.Clone(others), Set{c.Reference, keep([]Set{{Runs: runs}}, false, c.isReference)[0].Runs})
	}
	if len(others) < 2 && err == nil {
		err = errors.New("expected two sets of runs or more, got one; name another folder, or tell the runs apart by --by version, commit, server or label:KEY")
	}
	for _, s := range sets {
		if len(s.Runs) == 0 && err == nil {
			err = fmt.Errorf("%s: expected at least one run", s.Name)
		}
	}
	return sets, err
}

func (c *Comparison) isReference(r *run.Document) bool {
	return c.Reference != "" && r.Driver.String() == c.Reference
}

// others returns the sets without the runs of the reference.
func (c *Comparison) others(sets []Set) []Set {
	return keep(sets, c.Reference != "", func(r *run.Document) bool { return !c.isReference(r) })
}

// Judged returns the sets that were compared, without runs that were left out and without the reference.
func (c *Comparison) Judged() []Set { return c.sets }

// newSummary sums up the judged runs of a set, and says of all its runs what they are of.
func newSummary(s Set, all []*run.Document) Summary {
	sum := Summary{Name: s.Name, Driver: all[0].Driver.String(), Server: all[0].ServerText(), Runs: len(s.Runs), Counts: total(s.Runs)}
	at := all[0].ServerAddress()
	if at != "" && !slices.ContainsFunc(all, func(r *run.Document) bool { return r.ServerAddress() != at }) {
		sum.Server += " at " + at
	}
	if calls := s.Median(func(r *run.Document) float64 { return r.Figure("transfer_calls_per_message") }); run.Measured(calls) {
		sum.Calls = &calls
	}
	return sum
}
