package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// A fault is one kind of mistreated messages, or of failed runs. Each kind is judged by itself: duplicates do not make up for losses.
type fault struct {
	few  string // behind a number of messages: "lost"
	what string // behind a share: "messages were lost"
	of   func(*run.Document) (n, among int64)
}

var faults = func() (all []fault) {
	add := func(few, what string, of func(run.Counts) int64) {
		all = append(all, fault{few, "messages " + what, func(r *run.Document) (n, among int64) {
			return of(r.Counts), r.Counts.Offered + r.Counts.OfferErrors
		}})
	}
	for _, c := range run.AllCounts {
		if c.Effect == run.Wrong {
			add(c.Fault, "were "+c.Fault, c.Of)
		}
	}
	add("due and never came", "were due and never came", func(c run.Counts) int64 { return c.Pending - c.NotDue })
	add("not offered", "could not be offered", func(c run.Counts) int64 { return c.OfferErrors })
	return append(all, fault{"", "runs failed", func(r *run.Document) (n, among int64) { return int64(min(len(r.Breaches()), 1)), 1 }})
}()

func (f fault) sum(runs []*run.Document) (n, among int64) {
	for _, r := range runs {
		some, of := f.of(r)
		n, among = n+some, among+of
	}
	return n, among
}

func (f fault) share(runs ...*run.Document) float64 {
	n, among := f.sum(runs)
	return float64(n) / float64(max(among, 1))
}

func (f fault) shares(runs []*run.Document) (all []float64) {
	for _, r := range runs {
		all = append(all, f.share(r))
	}
	return all
}

// more reports whether new has more such faults than old: by messages, by runs, beyond chance at a level. One fault in new
// and no fault in old is never chance. If old has some too, a bad run is one event, however many messages it mistreated:
// then the runs of new must also have it more often, or worse.
func (f fault) more(old, new []*run.Document, level float64) (byMessages, byRuns bool) {
	before, amongOld := f.sum(old)
	now, amongNew := f.sum(new)
	switch {
	case f.share(new...) <= f.share(old...):
		return false, false
	case before == 0:
		return true, true
	}
	byMessages = AtLeast(now, before+now, float64(amongNew)/float64(amongNew+amongOld)) <= level
	u := Independent(f.shares(old), f.shares(new), .95)
	return byMessages, u.P/2 <= level && u.Above
}

// moreFaults names the faults that new has more of than old, with the cause of a failed run, and the faults that differ no more than the runs do.
func moreFaults(old, new Set) (worse, within string) {
	kinds := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool { return f.share(old.Runs...)+f.share(new.Runs...) == 0 })
	var beyond, chance []string
	for _, f := range kinds {
		text := fmt.Sprintf("%s of its %s (%s: %s)", percent(f.share(new.Runs...)), f.what, old.Name, percent(f.share(old.Runs...)))
		failed := slices.IndexFunc(new.Runs, func(r *run.Document) bool { return f.few == "" && r.Breaches() != nil })
		if failed >= 0 {
			text += ": " + new.Runs[failed].Breaches()[0]
		}
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
	counted := *r
	if r.Interrupted {
		counted.Counts.Pending, counted.Counts.NotDue = 0, 0 // may have come later
	}
	var texts []string
	for _, f := range faults {
		if n, _ := f.of(&counted); n > 0 && f.few != "" {
			texts = append(texts, fmt.Sprintf("%d %s", n, f.few))
		}
	}
	return strings.TrimSuffix(", with "+strings.Join(append(texts, r.Breaches()...), ", "), ", with ")
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func total(runs []*run.Document) (sum run.Counts) {
	for _, r := range runs {
		sum = sum.Plus(r.Counts)
	}
	return sum
}
