package stats

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Change is a place in a series at which its distribution changes.
type Change struct {
	// At is the first value of the new level.
	At int
	// P is the chance of a division at least as clear, if the values between the changes
	// beside it came in any order.
	P float64
}

// permutations is how often the order of a series is shuffled: p is 0.001 at least.
const permutations = 999

// Changes returns where the series changes, in ascending order, by the hierarchical
// divisive method of Matteson and James (2014), by means of energy distances with
// exponent 1: the series is divided where the two parts differ most, if a permutation
// test at the level says that the order of its values is no chance, and each part again.
//
// A change is at one of the places in may, the first values of what is one to the caller,
// which must ascend; nil are all. One value alone is a part too, but cannot be significant
// in a series of fewer than 1/level values. The same series gives the same
// changes.
func Changes(series []float64, may []int, level float64) []Change {
	if may == nil {
		for i := 1; i < len(series); i++ {
			may = append(may, i)
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(series))))
	changes := divide(series, may, level, 0, rng)
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return changes
}

// divide returns the changes of a part of a series, whose first value is that at offset.
func divide(part []float64, may []int, level float64, offset int, rng *rand.Rand) []Change {
	inside := make([]int, 0, len(may))
	for _, at := range may {
		if at > offset && at < offset+len(part) {
			inside = append(inside, at-offset)
		}
	}
	if len(inside) == 0 {
		return nil
	}
	d := newDistances(part)
	at, found := d.division(inside)
	p := d.chance(inside, found, level, rng)
	if p > level {
		return nil
	}
	changes := append(divide(part[:at], may, level, offset, rng), Change{offset + at, p})
	return append(changes, divide(part[at:], may, level, offset+at, rng)...)
}

// chance is how often a shuffled series is divided as clearly as it was found. It stops
// once that cannot be at most the level any more.
func (d *distances) chance(may []int, found, level float64, rng *rand.Rand) float64 {
	asClear := 1 // the series itself
	for i := range permutations {
		rng.Shuffle(len(d.order), func(a, b int) { d.order[a], d.order[b] = d.order[b], d.order[a] })
		if _, clear := d.division(may); clear >= found*(1-1e-9) {
			asClear++
		}
		if float64(asClear) > level*(permutations+1) {
			return float64(asClear) / float64(i+2)
		}
	}
	return float64(asClear) / (permutations + 1)
}

// distances adds up the distances between the values of a series, in the order that it is in.
type distances struct {
	sorted []float64
	// order holds the ranks in sorted, from 0.
	order []int
	// toAll is, by rank, the sum of the distances to all values; all is that of all pairs.
	toAll []float64
	all   float64
	// counts and sums are Fenwick trees of the values before a place, by rank.
	counts, sums []float64
}

func newDistances(series []float64) *distances {
	n := len(series)
	d := &distances{order: make([]int, n), toAll: make([]float64, n), counts: make([]float64, n+1), sums: make([]float64, n+1)}
	byValue := make([]int, n)
	for i := range byValue {
		byValue[i] = i
	}
	slices.SortStableFunc(byValue, func(a, b int) int { return cmp.Compare(series[a], series[b]) })
	total := 0.
	for rank, i := range byValue {
		d.order[i] = rank
		d.sorted = append(d.sorted, series[i]-series[byValue[0]]) // small numbers lose less
		total += d.sorted[rank]
	}
	below := 0.
	for rank, v := range d.sorted {
		d.toAll[rank] = v*float64(rank) - below + total - below - v*float64(n-rank)
		below += v
		d.all += d.toAll[rank] / 2
	}
	return d
}

// division returns at which of the places the parts differ most, and by how much.
func (d *distances) division(may []int) (at int, most float64) {
	most = -1
	differences := d.differences()
	for _, place := range may {
		if differences[place] > most {
			at, most = place, differences[place]
		}
	}
	return at, most
}

// differences is, for each place, the energy distance of the values before it and from it
// on, times nm/(n+m); 0 at place 0.
func (d *distances) differences() []float64 {
	n := len(d.order)
	clear(d.counts)
	clear(d.sums)
	before, between, after := 0., 0., d.all // sums of distances, each pair once
	differences := make([]float64, n)
	total := 0. // of the values before
	for place := 1; place < n; place++ {
		rank := d.order[place-1] // moves from after to before
		v := d.sorted[rank]
		count, sum := d.upTo(rank)
		toBefore := v*count - sum + total - sum - v*(float64(place-1)-count)
		toAfter := d.toAll[rank] - toBefore
		before, between, after = before+toBefore, between-toBefore+toAfter, after-toAfter
		d.add(rank)
		total += v
		x, y := float64(place), float64(n-place)
		differences[place] = x * y / (x + y) * (2*between/(x*y) - 2*before/(x*x) - 2*after/(y*y))
	}
	return differences
}

// upTo counts and adds up the values before the place whose rank is at most this one.
func (d *distances) upTo(rank int) (count, sum float64) {
	for i := rank + 1; i > 0; i -= i & -i {
		count, sum = count+d.counts[i], sum+d.sums[i]
	}
	return count, sum
}

func (d *distances) add(rank int) {
	for i := rank + 1; i < len(d.counts); i += i & -i {
		d.counts[i]++
		d.sums[i] += d.sorted[rank]
	}
}
