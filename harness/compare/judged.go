package compare

import (
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/run"
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

// Judged are the figures by which these runs can be judged beside each other: those that
// any of them tells.
func Judged(runs []*run.Document) []Figure {
	var judged []Figure
	for _, f := range figuresOf(runs) {
		out := Figure{f.histogram, f.stat, f.isTime, f}
		if f.judged && slices.ContainsFunc(runs, out.Tells) {
			judged = append(judged, out)
		}
	}
	return judged
}

// Tells reports whether a run has the figure, and enough messages for it.
func (f Figure) Tells(r *run.Document) bool { return f.figure.bears(r) && !math.IsNaN(f.Of(r)) }

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
