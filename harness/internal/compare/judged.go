package compare

import (
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Figure is a number of a run that versions are judged by. Times, and the server's
// processor time for each message, are in ns.
type Figure struct {
	// Histogram and Stat name it, as in a Row: "past_due" and "p99 per second".
	Histogram, Stat string
	// IsTime says that it is a time that a caller waits, which MinDelta is about.
	IsTime bool

	figure figure
}

// mostRuns is the share of the runs that are to have past due, or response time, for all to be judged by it.
const mostRuns = .8

// Judged are the figures by which these runs can be judged beside each other: those that any of them tells. Past due is
// among them where four in five have it, and of the newest as well, and so is response time; a run without is one that
// does not tell.
func Judged(runs, newest []*run.Document) []Figure {
	of := runs
	for _, histogram := range []string{"past_due", "response_time"} {
		if haveMost(runs, histogram) && haveMost(newest, histogram) {
			of = slices.DeleteFunc(slices.Clone(of), func(r *run.Document) bool { return !has(r, histogram) })
		}
	}
	var judged []Figure
	for _, f := range figuresOf(of) {
		out := Figure{f.histogram, f.stat, f.isTime, f}
		if f.judged && slices.ContainsFunc(runs, out.Tells) {
			judged = append(judged, out)
		}
	}
	return judged
}

// haveMost reports whether most runs have a histogram.
func haveMost(runs []*run.Document, histogram string) bool {
	n := 0
	for _, r := range runs {
		if has(r, histogram) {
			n++
		}
	}
	return float64(n) >= mostRuns*float64(len(runs))
}

// Tells reports whether a run has the figure, and enough messages for it.
func (f Figure) Tells(r *run.Document) bool {
	return has(r, f.Histogram) && f.figure.bears(r) && !math.IsNaN(f.Of(r))
}

// Of reads the figure of a run.
func (f Figure) Of(r *run.Document) float64 { return f.figure.of(r) }

// Ratio is how many times the figure of old that of new is, of two runs that were made at
// the same time: the p99 per second is compared second by second. It is NaN where that
// cannot be told.
func (f Figure) Ratio(old, new *run.Document) float64 {
	from, to := f.Of(old), f.Of(new)
	switch {
	case !(from > 0) || !(to > 0):
		return math.NaN()
	case f.figure.ratio != nil:
		return f.figure.ratio(old, new)
	}
	return to / from
}
