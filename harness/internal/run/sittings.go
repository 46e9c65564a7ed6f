package run

import (
	"slices"
	"time"
)

const (
	// sittingGap is by how many times the usual gap between two starts nothing runs where a sitting ends, leastSittingGap
	// how long at the least, and mostSittingGap how long in any case: runs of a minute every hour, or every night, share none.
	sittingGap      = 10
	leastSittingGap = 10 * time.Minute
	mostSittingGap  = 30 * time.Minute
	// longestShared is how long a run takes at the most that shares its hour with the next.
	longestShared = 2 * time.Hour
)

// Sittings divides runs, which are in the order of their starts, into those that were made close to each other, so that
// they share their hour: what a machine has beside them, and how warm it is.
func Sittings(inOrder []*Document) (sittings [][]*Document) {
	longest := longestGap(inOrder)
	var ended time.Time // the last of those so far
	from := 0
	for i, r := range inOrder {
		if i > 0 && (r.Started.Sub(ended) > longest || r.Started.Sub(inOrder[i-1].Started) > longestShared) {
			sittings, from = append(sittings, inOrder[from:i]), i
		}
		if end := r.Started.Add(time.Duration(r.ElapsedSeconds * float64(time.Second))); end.After(ended) {
			ended = end
		}
	}
	if from < len(inOrder) {
		sittings = append(sittings, inOrder[from:])
	}
	return sittings
}

// longestGap is that between the end of what ran in a sitting and the next run of it.
func longestGap(inOrder []*Document) time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(inOrder); i++ {
		gaps = append(gaps, inOrder[i].Started.Sub(inOrder[i-1].Started))
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	return min(max(sittingGap*gaps[(len(gaps)-1)/2], leastSittingGap), mostSittingGap)
}
