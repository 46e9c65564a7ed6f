// Package history answers: since which version is it later?
//
// It puts the stored runs of one scenario in the order of their versions, and
// looks in each figure for the places where the level changes: by E-divisive means, with
// a permutation test, in the whole series and in stretches of it, so that a change for the
// better is not hidden by its return (stats.Changes, which says whose ideas these are), on
// the logarithms of the figures, at 0.05 for all figures together. It starts nothing, and
// shows nothing to people.
//
// The test takes each run for a draw of its own. Runs of a version that were made in a row are not: they share their
// hour, and by them alone nine in ten flat series of ten versions have a change where hours differ by as much as runs.
// What is judged is therefore what sittings show that have runs of both sides of a change, in turn: the levels of the
// runs within each, by least squares on the logarithms, and the shift there, which is what is told. It has to be there
// whichever run is left out, and beside what the order within sittings explains (stats.Borne): a machine that warms in each
// makes no change, and where one side was always the first nothing is told, but that (TestTheOrderInSittingsIsNoChange).
// Where no sitting has both sides, a change is what is more than the medians of the sittings, or of the sessions, differ
// by (stats.Levels). TestSittingsThatDifferAreNoChange and TestSessionsThatDifferAreNoChange say how often that errs, and
// what it sees. What is done wrong to messages is judged within sittings, and by sessions, too.
//
// Runs that are half an hour apart or more share none, and are judged one by one. Where they resemble the one before them,
// as on a machine that drifts, one in five flat series of 40 has a change if the correlation is 0.5
// (TestNeighboursThatAreAlike); notes say where that is to be seen, and what came and went.
//
// What it can see is a matter of the noise. On a machine with a calm hour of its own every
// figure serves. On one that others use as well the lateness of one run may be ten times
// that of the next, and no method finds a fifth more in that: there the versions are to be
// measured beside one and the same reference (dq-bench run --beside), so that the figures
// are ratios to what stood beside them in the same second. TestAFifthMoreIsFoundBesideAReference says
// how often a fifth is found, by figure.
package history

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Schema is the schema of a History.
const Schema = "dq-bench/history/v1"

const (
	// MinRuns is how many runs are needed: in fewer no division is significant once it is
	// adjusted for some ten figures.
	MinRuns = 12
	// MaxRuns is how many can be taken, references included: of a packed run some 50 KB are
	// in memory, so these are 1 GB.
	MaxRuns = 20_000
	// significance is the level of all figures together.
	significance = .05
)

// Outcome is the judgement on the newest level.
type Outcome string

// The outcomes of a history.
const (
	// Worse: a figure is greater since its newest change, or the newest points treat more
	// messages wrongly, in any one way, than those before.
	Worse Outcome = "worse"
	// Better: a figure is less since its newest change, or fewer messages are treated wrongly, and nothing
	// is worse.
	Better Outcome = "better"
	// Unchanged: no change was seen, which does not prove that there is none.
	Unchanged Outcome = "no change"
	// Inconclusive: there are too few runs, sessions, points or figures to see one.
	Inconclusive Outcome = "inconclusive"
)

// Options tune a history.
type Options struct {
	// By is what makes runs one point; the zero value is ByVersion.
	By By
	// Reference names the implementation, such as "redisson:4.7.0", beside which each run
	// was made at the same time: figures are then ratios to it. Empty for none.
	Reference string
	// MinEffect is the smallest change that matters, as a share of the level before.
	MinEffect float64
	// MinDelta is the smallest change of a time that matters; with a Reference none.
	MinDelta time.Duration
	// Unread says of each run file that could not be read which one it is and why.
	Unread []string
}

// DefaultOptions are those of a comparison: 5 % and 20 µs.
func DefaultOptions() Options {
	o := compare.DefaultOptions()
	return Options{By: ByVersion, MinEffect: o.MinEffect, MinDelta: o.MinDelta}
}

// History is what the runs of many versions come to.
type History struct {
	Schema string `json:"schema"`
	// Implementation is the name that all runs share, Server what they ran on (empty where
	// that differs), Scenario the name of the load.
	Implementation string `json:"implementation"`
	Server         string `json:"server,omitempty"`
	Scenario       string `json:"scenario,omitempty"`
	By             string `json:"by"`
	Reference      string `json:"reference,omitempty"`
	// Points are in order, and so are their runs.
	Points  []Point  `json:"points"`
	Figures []Figure `json:"figures"`
	// Faults are the kinds of wrong that were done to messages in any of the runs.
	Faults []Fault `json:"faults,omitempty"`
	// Unjudged are the points behind the last of Points all of whose runs were left out. Without
	// MinRuns runs that were made after them, the outcome is Inconclusive, or Worse.
	Unjudged []string `json:"unjudged,omitempty"`
	// LeftOut are runs that can be judged by nothing, with the reason.
	LeftOut []string `json:"left_out,omitempty"`
	// Notes say of figures which runs do not tell them, and what else than the points may make a difference.
	Notes   []string `json:"notes,omitempty"`
	Outcome Outcome  `json:"outcome"`
	// FirstWorse names the first point of the newest level of the figure that has become
	// worse by the greatest factor, or of the kind of wrong done to messages that began first, whichever
	// comes first; empty unless the outcome is Worse.
	FirstWorse string `json:"first_worse,omitempty"`
	Text       string `json:"text"`

	unfit    []*run.Document     // left out, as they cannot be judged
	unjudged map[string][]string // points of such runs alone, by the judged point behind them
	unfitOf  map[string][]*run.Document
}

// Point is a version, or whatever else the runs are told apart by.
type Point struct {
	Name string `json:"name"`
	Runs []Run  `json:"runs"`
}

// Run is one stored run.
type Run struct {
	RunID   string    `json:"run_id"`
	Started time.Time `json:"started"`
	Driver  string    `json:"driver"`
	// Path is where it was read from.
	Path string `json:"path,omitempty"`
	// Wrong counts messages that were treated wrongly, never came although due, or could not be offered.
	Wrong int64 `json:"wrong"`
}

// Figure is one number over all runs.
type Figure struct {
	Histogram string `json:"histogram"`
	Stat      string `json:"stat"`
	// Unit is "ns", or "ratio" to the reference.
	Unit string `json:"unit"`
	// Values are those of the runs of each point, Medians of each point; nil where a run, or
	// none of a point, tells.
	Values  [][]*float64 `json:"values"`
	Medians []*float64   `json:"medians"`
	// Levels are between the changes: one more than there are changes.
	Levels  []Level  `json:"levels"`
	Changes []Change `json:"changes"`

	isTime bool
	// ofHours is the newest change of the runs that may be no more than hours make; hours is how many there are to tell
	// by, which are sittings or sessions.
	ofHours          *Change
	hours            int
	hoursAreSittings bool
	// unborne is the newest change of the sittings that a single run makes, or that may come of the order in them.
	unborne  *Change
	ofOneRun bool
}

// Name is that of people: "past due p99".
func (f Figure) Name() string { return nameOf(f.Histogram, f.Stat) }

// Level is a stretch of points between which no change was seen.
type Level struct {
	// From and To are the first and the last point.
	From int `json:"from"`
	To   int `json:"to"`
	// Median is over its runs; where runs share their hours that of the newest level is, and those before are as far
	// from it as the sittings show.
	Median float64 `json:"median"`
}

// Change is where a level ends and the next begins.
type Change struct {
	// At is the first point of the new level, Name is what it is called.
	At   int    `json:"at"`
	Name string `json:"name"`
	// Before and After are the medians of the two levels, Ratio is how many
	// times Before that After is; it is missing where Before is not above 0.
	Before float64  `json:"before"`
	After  float64  `json:"after"`
	Ratio  *float64 `json:"ratio,omitempty"`
	// P is that of the permutation test; it is at most 0.05 over the number of figures.
	P       float64 `json:"p"`
	Outcome Outcome `json:"outcome"`

	within bool // is what sittings show that have runs of both levels
}

// Of makes the history of the runs, in any order. Invalid and interrupted ones are left
// out. It fails with a *run.DifferenceError where they are not of one scenario, machine
// and implementation, but for what By tells apart, with a *compare.DuplicateRunError where
// one is given twice, where no run is left, or more than MaxRuns are given, and once ctx ends.
func Of(ctx context.Context, runs []*run.Document, o Options) (*History, error) {
	if err := CheckNumber(len(runs)); err != nil {
		return nil, err
	}
	h := &History{Schema: Schema, By: o.By.String(), Reference: o.Reference, Points: []Point{}, Figures: []Figure{}}
	s, err := h.sort(runs, o)
	if err != nil {
		return nil, err
	}
	h.describe(s)
	for _, f := range compare.Judged(s.all(), s.points[len(s.points)-1].runs) {
		figure, note := s.figure(f)
		if note != "" {
			h.Notes = append(h.Notes, note)
		}
		if figure != nil {
			h.Figures = append(h.Figures, *figure)
		}
	}
	if len(s.runs) >= MinRuns {
		h.divide(ctx, s, o)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.judge(ctx, len(s.runs))
	h.Faults = s.faults(ctx)
	h.judgeFaults()
	h.judgeUnfit()
	h.judgeUnjudged(s)
	h.tellHours(s)
	h.tellNeighbours(s)
	h.judgeUnread(len(o.Unread))
	h.LeftOut = append(h.LeftOut, o.Unread...)
	return h, nil
}

// describe says what the runs share.
func (h *History) describe(s *sorted) {
	first := s.runs[0]
	h.Implementation, h.Scenario = first.Driver.Name, first.Scenario.Name
	h.Server = first.ServerText()
	for _, r := range s.runs {
		if r.ServerText() != h.Server {
			h.Server = ""
		}
	}
	if servers := serversOf(s.runs); len(servers) > 1 && h.By != ByServer.String() {
		h.Notes = append(h.Notes, "the servers differ, which may be what makes a difference: "+strings.Join(servers, ", "))
	}
	for _, p := range s.points {
		point := Point{Name: p.name, Runs: []Run{}}
		for _, r := range p.runs {
			point.Runs = append(point.Runs, Run{r.RunID, r.Started, r.Driver.String(), r.Path(), r.Wrong()})
		}
		h.Points = append(h.Points, point)
	}
}

// serversOf are the servers of runs, with the number of runs of each, in the order in which they come.
func serversOf(runs []*run.Document) []string {
	var servers []string
	count := map[string]int{}
	for _, r := range runs {
		name := r.ServerText()
		if count[name]++; count[name] == 1 {
			servers = append(servers, name)
		}
	}
	for i, name := range servers {
		servers[i] = fmt.Sprintf("%s in %s", name, compare.CountRuns(count[name]))
	}
	return servers
}

// ErrNoRuns says that there is nothing to judge.
var ErrNoRuns = errors.New("history: expected at least one run that is valid and whole")

// CheckNumber refuses more runs than can be taken, before they are read.
func CheckNumber(n int) error {
	if n <= MaxRuns {
		return nil
	}
	return fmt.Errorf("history: expected at most %d runs, got %d; give those of the versions in question", MaxRuns, n)
}

// divide finds the changes of all figures, some figures at a time.
func (h *History) divide(ctx context.Context, s *sorted, o Options) {
	var strata *strata
	if s.references == nil { // else each run is a ratio to what had the same hour
		strata = s.strata
	}
	var dividing sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range h.Figures {
		free <- struct{}{}
		dividing.Go(func() {
			h.Figures[i].divide(ctx, h.Points, strata, significance/float64(len(h.Figures)), o)
			<-free
		})
	}
	dividing.Wait()
}
