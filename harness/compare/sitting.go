package compare

import (
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/run"
)

const (
	// sittingGap is by how many times the usual gap between two starts a sitting ends, and leastSittingGap by how much
	// at the least, as in a history; runs may last an hour here.
	sittingGap      = 10
	leastSittingGap = 10 * time.Minute
	// mostFirst is the share of the sittings in which the same side may come before the other.
	mostFirst = .75
)

// firstInSittings says in how many sittings all runs of one side came before those of the other, where that is the same side
// in more than mostFirst of those that have both. It is empty else, and of a single sitting.
func firstInSittings(old, new []*run.Document) string {
	both, oldFirst, newFirst := 0, 0, 0
	for _, sitting := range sittingsOf(byStart(slices.Concat(old, new))) {
		isNew := make([]bool, len(sitting))
		for i, r := range sitting {
			isNew[i] = slices.Contains(new, r)
		}
		switch changes := len(slices.Compact(slices.Clone(isNew))) - 1; {
		case changes == 0:
			continue
		case changes == 1 && isNew[0]:
			newFirst++
		case changes == 1:
			oldFirst++
		}
		both++
	}
	name, first := "OLD", oldFirst
	if newFirst > first {
		name, first = "NEW", newFirst
	}
	switch {
	case both < 2 || float64(first) <= mostFirst*float64(both):
		return ""
	case first == both:
		return fmt.Sprintf("%s came first in each of %d sittings", name, both)
	}
	return fmt.Sprintf("%s came first in %d of %d sittings", name, first, both)
}

// sittingsOf divides runs, which are in the order of their starts, where a gap is long.
func sittingsOf(inOrder []*run.Document) [][]*run.Document {
	gaps := make([]time.Duration, len(inOrder)-1)
	for i := range gaps {
		gaps[i] = inOrder[i+1].Started.Sub(inOrder[i].Started)
	}
	usual := slices.Sorted(slices.Values(gaps))[(len(gaps)-1)/2]
	longest := max(sittingGap*usual, leastSittingGap)
	var sittings [][]*run.Document
	from := 0
	for i, gap := range gaps {
		if gap > longest {
			sittings, from = append(sittings, inOrder[from:i+1]), i+1
		}
	}
	return append(sittings, inOrder[from:])
}
