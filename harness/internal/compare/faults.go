package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// A fault is one kind of mistreated message. Each kind is judged by itself: duplicates do not make up for losses.
type fault struct {
	few  string // behind a number: "lost"
	what string // behind a share of the messages: "were lost"
	of   func(run.Counts) int64
}

var faults = func() (all []fault) {
	for _, c := range run.AllCounts {
		if c.Effect == run.Wrong {
			all = append(all, fault{c.Fault, "were " + c.Fault, c.Of})
		}
	}
	return append(all, fault{"due and never came", "were due and never came", func(c run.Counts) int64 { return c.Pending - c.NotDue }},
		fault{"not offered", "could not be offered", func(c run.Counts) int64 { return c.OfferErrors }})
}()

func (f fault) share(c run.Counts) float64 {
	return float64(f.of(c)) / float64(max(c.Offered+c.OfferErrors, 1))
}

func (f fault) shares(runs []*run.Document) (all []float64) {
	for _, r := range runs {
		all = append(all, f.share(r.Counts))
	}
	return all
}

// more reports whether new has more such faults than old: by messages, by runs, beyond chance at a level. One fault in new
// and no fault in old is never chance. If old has some too, a bad run is one event, however many messages it mistreated:
// then the runs of new must also have it more often, or worse.
func (f fault) more(old, new []*run.Document, level float64) (byMessages, byRuns bool) {
	a, b := total(old), total(new)
	before, now := f.of(a), f.of(b)
	switch {
	case f.share(b) <= f.share(a):
		return false, false
	case before == 0:
		return true, true
	}
	offered := float64(b.Offered + b.OfferErrors)
	byMessages = AtLeast(now, before+now, offered/(offered+float64(a.Offered+a.OfferErrors))) <= level
	u := Independent(f.shares(old), f.shares(new), .95)
	return byMessages, u.P/2 <= level && u.Above
}

// moreFaults names the faults that new has more of than old, and the faults that differ no more than the runs do.
func moreFaults(old, new Set) (worse, within string) {
	kinds := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.of(total(old.Runs))+f.of(total(new.Runs)) == 0 })
	var beyond, chance []string
	for _, f := range kinds {
		text := fmt.Sprintf("%s of its messages %s (%s: %s)", percent(f.share(total(new.Runs))), f.what, old.Name, percent(f.share(total(old.Runs))))
		switch byMessages, byRuns := f.more(old.Runs, new.Runs, significance/float64(len(kinds))); {
		case byMessages && byRuns:
			beyond = append(beyond, text)
		case byMessages:
			chance = append(chance, text)
		}
	}
	return strings.Join(beyond, "; "), strings.Join(chance, "; ")
}

// faultsOf lists the faults of a run that is left out, ", with 3 lost": a lost message is lost, whatever the run is worth.
func faultsOf(r *run.Document) string {
	counts := r.Counts
	if r.Interrupted {
		counts.Pending, counts.NotDue = 0, 0 // may have come later
	}
	var texts []string
	for _, f := range faults {
		if n := f.of(counts); n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, f.few))
		}
	}
	if texts == nil {
		return ""
	}
	return ", with " + strings.Join(texts, ", ")
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func total(runs []*run.Document) (sum run.Counts) {
	for _, r := range runs {
		sum = sum.Plus(r.Counts)
	}
	return sum
}
