package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Compared divides the runs of a side into those that were compared and those that were left out: of
// the ith of sides that comparisons set against the first, the ith of which is that of side i+1. All are
// compared where there is no comparison.
func Compared(comparisons []*Comparison, side int, runs []*run.Document) (compared, left []*run.Document) {
	if side > 0 {
		comparisons = comparisons[min(side-1, len(comparisons)):min(side, len(comparisons))]
	}
	for _, r := range runs {
		leaves := func(c *Comparison) bool {
			return c.old != nil && !slices.Contains(c.old, r) && !slices.Contains(c.new, r)
		}
		if len(comparisons) > 0 && !slices.ContainsFunc(comparisons, func(c *Comparison) bool { return !leaves(c) }) {
			left = append(left, r)
		} else {
			compared = append(compared, r)
		}
	}
	return compared, left
}

// leaveInterrupted leaves out the runs that were interrupted, as long as either side has others, and of
// runs in pairs their partners with them. Who interrupts a series has not spoilt the runs before.
func (c *Comparison) leaveInterrupted(old, new []*run.Document) (a, b []*run.Document) {
	if c.Paired {
		var cut []*run.Document
		for i := range old {
			if old[i].Interrupted || new[i].Interrupted {
				cut = append(cut, old[i], new[i])
				continue
			}
			a, b = append(a, old[i]), append(b, new[i])
		}
		if len(cut) == 0 || len(a) == 0 {
			return old, new
		}
		c.Warnings = append(c.Warnings, fmt.Sprintf("left out %d of %d pairs, as interrupted%s", len(old)-len(a), len(old), withFaults(cut)))
		return a, b
	}
	a, cutOld := whole(old)
	b, cutNew := whole(new)
	if len(a) == 0 || len(b) == 0 {
		return old, new
	}
	for _, side := range []struct {
		name string
		cut  []*run.Document
		of   int
	}{{"OLD", cutOld, len(old)}, {"NEW", cutNew, len(new)}} {
		if len(side.cut) > 0 {
			c.Warnings = append(c.Warnings, fmt.Sprintf("left out %d of %d runs of %s, as interrupted%s", len(side.cut), side.of, side.name, withFaults(side.cut)))
		}
	}
	return a, b
}

// whole divides runs into those that were made in full and those that were interrupted, or whose partner was.
func whole(runs []*run.Document) (made, cut []*run.Document) {
	blocks := map[string]bool{}
	for _, r := range runs {
		if r.Interrupted && r.Beside != nil {
			blocks[r.Beside.Block] = true
		}
	}
	for _, r := range runs {
		if r.Interrupted || r.Beside != nil && blocks[r.Beside.Block] {
			cut = append(cut, r)
		} else {
			made = append(made, r)
		}
	}
	return made, cut
}

// withFaults is FaultsTold behind what the runs are.
func withFaults(runs []*run.Document) string {
	if told := FaultsTold(runs); told != "" {
		return ", with " + told
	}
	return ""
}

// FaultsTold says what was done wrong to messages of runs that are left out, "3 lost, 1 twice", for a message that is lost
// is lost; it is empty where nothing was. What an interrupted run had not delivered yet is not wrong.
func FaultsTold(runs []*run.Document) string {
	var sum run.Counts
	for _, r := range runs {
		counts := r.Counts
		if r.Interrupted {
			counts.Pending, counts.NotDue = 0, 0
		}
		sum = sum.Plus(counts)
	}
	var texts []string
	for _, f := range FaultsIn(sum) {
		texts = append(texts, fmt.Sprintf("%d %s", f.Of(sum), f.Few))
	}
	return strings.Join(texts, ", ")
}
