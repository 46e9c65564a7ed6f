package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Fault is one kind of wrong that is done to messages. Each is judged by itself: messages that
// come twice are not made up for by others that are no longer lost.
type Fault struct {
	// Name is that of the count, such as "lost", or "overdue" for those that were due and never came.
	Name string
	// Few says behind a number what so many messages were: "lost".
	Few string
	// Of counts the messages of a run.
	Of func(run.Counts) int64

	what string // behind a share of the messages: "were lost"
}

// Faults are all kinds: those that fail a run.
var Faults = allFaults()

func allFaults() []Fault {
	var all []Fault
	for _, c := range run.AllCounts {
		if c.Effect == run.Wrong {
			all = append(all, Fault{c.Name, c.Fault, c.Of, "were " + c.Fault})
		}
	}
	return append(all,
		Fault{"overdue", "due and never came", func(c run.Counts) int64 { return c.Pending - c.NotDue }, "were due and never came"},
		Fault{"offer_errors", "not offered", func(c run.Counts) int64 { return c.OfferErrors }, "could not be offered"})
}

// FaultsIn are the kinds that any of the counts has.
func FaultsIn(counts ...run.Counts) []Fault {
	return slices.DeleteFunc(slices.Clone(Faults), func(f Fault) bool {
		return !slices.ContainsFunc(counts, func(c run.Counts) bool { return f.Of(c) > 0 })
	})
}

// Share is that of the messages that were to be offered.
func (f Fault) Share(c run.Counts) float64 {
	return float64(f.Of(c)) / float64(max(c.Offered+c.OfferErrors, 1))
}

// More reports whether b has more such faults than a beyond chance at a level, if as many of as many
// messages were to have one: what a scenario is known to lose, both lose. That a has none and b
// has one is never chance.
func (f Fault) More(a, b run.Counts, level float64) bool {
	before, now := f.Of(a), f.Of(b)
	if f.Share(b) <= f.Share(a) {
		return false
	}
	share := float64(b.Offered+b.OfferErrors) / float64(a.Offered+a.OfferErrors+b.Offered+b.OfferErrors)
	return before == 0 || stats.BinomialAtLeast(now, before+now, share) <= level
}

// Text says to what share of the messages of b it was done, and to what share of those of a, which
// are called old.
func (f Fault) Text(a, b run.Counts, old string) string {
	return fmt.Sprintf("%s of its messages %s, of %s %s", shareText(f.Share(b)), f.what, old, shareText(f.Share(a)))
}

func shareText(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// moreFaults says what was done wrong to more of the messages of NEW than of those of OLD, which
// have the counts of some runs each. Either is empty if nothing was. Where OLD has runs with such a
// fault, a bad run is one event, however many messages it took: then the runs of NEW must have it
// more often, or worse, beyond chance as well. Of the others no more can be said than the numbers.
func moreFaults(old, new []run.Counts) (worse, untold string) {
	before, now := total(old), total(new)
	kinds := FaultsIn(before, now)
	level := significance / float64(len(kinds))
	var beyond, within []string
	for _, f := range kinds {
		switch {
		case !f.More(before, now, level):
		case f.Of(before) > 0 && !f.moreRuns(old, new, level):
			within = append(within, f.Text(before, now, "OLD"))
		default:
			beyond = append(beyond, f.Text(before, now, "OLD"))
		}
	}
	return strings.Join(beyond, "; "), strings.Join(within, "; ")
}

// moreRuns reports whether the runs of NEW have greater shares than those of OLD beyond chance at a level.
func (f Fault) moreRuns(old, new []run.Counts, level float64) bool {
	u, p := stats.MannWhitney(f.shares(new), f.shares(old))
	return p/2 <= level && u > float64(len(old)*len(new))/2
}

func (f Fault) shares(runs []run.Counts) (all []float64) {
	for _, c := range runs {
		all = append(all, f.Share(c))
	}
	return all
}

func total(runs []run.Counts) (sum run.Counts) {
	for _, c := range runs {
		sum = sum.Plus(c)
	}
	return sum
}
