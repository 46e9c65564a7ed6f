package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
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

// moreFaults says what was done wrong to more of the messages of NEW than of those of OLD. It is
// empty if nothing was.
func moreFaults(old, new run.Counts) string {
	kinds := FaultsIn(old, new)
	var worse []string
	for _, f := range kinds {
		if f.More(old, new, significance/float64(len(kinds))) {
			worse = append(worse, f.Text(old, new, "OLD"))
		}
	}
	return strings.Join(worse, "; ")
}
