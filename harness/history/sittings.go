package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
)

// Runs that were made in one sitting share its hours, also where versions took turns in it or each run is a point. So
// where there are several, a change is one only if the runs of one and the same sitting bear it, or, where none has runs
// of both levels, the sittings do: as those of sessions, their medians count.

const (
	// sittingGap is by how many times the usual gap between two starts a sitting ends, and leastSittingGap by how much
	// at the least.
	sittingGap      = 10
	leastSittingGap = 10 * time.Minute
)

// sittings number, for each run of each point, the sitting that it was made in, in the order of time; nil where all runs
// were made in one.
func sittings(points []point) [][]int {
	var starts []time.Time
	for _, p := range points {
		for _, r := range p.runs {
			starts = append(starts, r.Started)
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	var gaps []time.Duration
	for i := 1; i < len(starts); i++ {
		gaps = append(gaps, starts[i].Sub(starts[i-1]))
	}
	if len(gaps) == 0 {
		return nil
	}
	usual := slices.Sorted(slices.Values(gaps))[(len(gaps)-1)/2]
	var firsts []time.Time // of each sitting but the first
	for i, gap := range gaps {
		if gap > max(sittingGap*usual, leastSittingGap) {
			firsts = append(firsts, starts[i+1])
		}
	}
	if len(firsts) == 0 {
		return nil
	}
	all := make([][]int, len(points))
	for i, p := range points {
		for _, r := range p.runs {
			n, is := slices.BinarySearchFunc(firsts, r.Started, time.Time.Compare)
			if is {
				n++
			}
			all[i] = append(all[i], n)
		}
	}
	return all
}

// setBySitting keeps the changes of a figure that its sittings bear, each at its part of the level.
func (f *Figure) setBySitting(scaled [][]*float64, sittings [][]int, level float64, o Options) {
	runs := slices.Clone(f.Changes)
	if len(runs) == 0 {
		return
	}
	shifts := make([]float64, len(scaled)) // that the runs of a sitting show
	var borne, apart []int
	for i, c := range runs {
		from, to := 0, len(scaled)
		if i > 0 {
			from = runs[i-1].At
		}
		if i+1 < len(runs) {
			to = runs[i+1].At
		}
		before := bySitting(scaled[from:c.At], sittings[from:c.At], sittings)
		after := bySitting(scaled[c.At:to], sittings[c.At:to], sittings)
		shift, p, freedom := stats.Strata(before, after)
		switch {
		case freedom < stats.LeastFreedom:
			apart = append(apart, c.At)
		case p <= level/float64(len(runs)*placesIn(sittings, from, c.At, to)):
			borne, shifts[c.At] = append(borne, c.At), shift
		}
	}
	byMedians, n := borneByMedians(scaled, sittings, shifts, apart, level)
	borne = append(borne, byMedians...)
	f.set(slices.DeleteFunc(slices.Clone(runs), func(c Change) bool { return !slices.Contains(borne, c.At) }), o)
	if last := &runs[len(runs)-1]; f.newest() == nil || f.newest().At < last.At {
		f.ofHours, f.sessions, f.inSittings = last, n, true
		f.sittingsShared = !slices.Contains(apart, last.At)
	}
}

// placesIn is at how many points the change at one could have been, of those from one on up to another, for the same
// sittings to have runs of both levels: where it is was chosen from these.
func placesIn(sittings [][]int, from, at, to int) int {
	shared := func(i int) bool {
		other := slices.Concat(sittings[from:at]...)
		if i < at {
			other = slices.Concat(sittings[at:to]...)
		}
		return slices.ContainsFunc(sittings[i], func(n int) bool { return slices.Contains(other, n) })
	}
	n := -1
	for i := from; i < to; i++ {
		if shared(i) {
			n++
		}
	}
	return n
}

// bySitting are the values of some points by the sitting of all that there are.
func bySitting(scaled [][]*float64, of, all [][]int) [][]float64 {
	values := make([][]float64, 1+slices.Max(slices.Concat(all...)))
	for i, point := range scaled {
		for k, v := range point {
			if v != nil {
				n := of[i][k]
				values[n] = append(values[n], *v)
			}
		}
	}
	return values
}

// borneByMedians are those of the places that the medians of the sittings bear, less the shifts that are known, in the
// order of the first point of each; n is how many sittings tell the figure.
func borneByMedians(scaled [][]*float64, sittings [][]int, shifts []float64, places []int, level float64) (borne []int, n int) {
	type sitting struct {
		first  int
		values []float64
	}
	all := make([]sitting, 1+slices.Max(slices.Concat(sittings...)))
	shift := 0.
	for i, point := range scaled {
		shift += shifts[i]
		for k, v := range point {
			if v == nil {
				continue
			}
			s := &all[sittings[i][k]]
			if s.values == nil {
				s.first = i
			}
			s.values = append(s.values, *v-shift)
		}
	}
	all = slices.DeleteFunc(all, func(s sitting) bool { return s.values == nil })
	slices.SortStableFunc(all, func(a, b sitting) int { return cmp.Compare(a.first, b.first) })
	var medians []float64
	for _, s := range all {
		medians = append(medians, stats.Median(s.values))
	}
	at := map[int]int{}
	var may []int
	for _, place := range places {
		first := slices.IndexFunc(all, func(s sitting) bool { return s.first >= place })
		if first > 0 && !slices.Contains(may, first) {
			may = append(may, first)
		}
		at[place] = first
	}
	found := stats.Levels(medians, may, worseShare*level, (1-worseShare)*level)
	return slices.DeleteFunc(slices.Clone(places), func(place int) bool { return !slices.Contains(found, at[place]) }), len(all)
}

// tellSittings says that the runs were made in sittings, and of what was seen in the runs that it may be no more than
// these differ by.
func (h *History) tellSittings(s *sorted) {
	if s.sittings == nil || len(h.Points) == 1 {
		return
	}
	n := 1 + slices.Max(slices.Concat(s.sittings...))
	h.Notes = append(h.Notes, fmt.Sprintf("the runs were made in %d sittings, with long gaps between: a change is what the runs of a sitting show that has both levels, or else what is more than sittings differ by, of which it takes %d at the least", n, MinSessions))
	f := h.ofHours()
	if f == nil {
		return
	}
	but := fmt.Sprintf("that is no more than %d sittings differ by", f.sessions)
	switch {
	case f.sittingsShared:
		but = "those of a sitting that has both do not bear that out"
	case f.sessions < MinSessions:
		but = fmt.Sprintf("%d sittings cannot tell that from a change", f.sessions)
	}
	c := f.ofHours
	h.Text += fmt.Sprintf(" By all runs %s is %s since %s, and was %s before; but they were made in %d sittings, and %s: to be sure, measure both in turn and compare.",
		f.Name(), f.ValueText(c.After), c.Name, f.ValueText(c.Before), n, but)
}
