package compare

import (
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// mostFirst is the share of the sittings in which the same side may come before the other.
const mostFirst = .75

// firstInSittings says in how many sittings all runs of one side came before those of the other, where that is the same side
// in more than mostFirst of those that have both. It is empty else, and of a single sitting.
func firstInSittings(old, new []*run.Document) string {
	both, oldFirst, newFirst := 0, 0, 0
	for _, sitting := range run.Sittings(byStart(slices.Concat(old, new))) {
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
