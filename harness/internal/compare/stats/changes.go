package stats

import (
	"cmp"
	"context"
	"math"
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

const (
	// permutations is how often the order of a series is shuffled: p is 0.001 at least.
	permutations = 999
	// longSeries is from how many values on the least p is half the level instead: there a
	// shuffle takes long, and what matters is clear.
	longSeries = 500
)

// shuffles are those of a series of n values.
func shuffles(n int, level float64) int {
	if n < longSeries {
		return permutations
	}
	return min(max(int(math.Ceil(2/level))-1, 99), permutations)
}

// Changes returns where the series changes, in ascending order, by the hierarchical
// divisive method of Matteson and James (2014), by means of energy distances with
// exponent 1: the series is divided where the two parts differ most, if a permutation
// test at the level says that the order of its values is no chance, and each part again.
//
// One division of a whole series is weak where a level returns: what is beside the dip is
// the same on either side of it. So the clearest division is also sought in stretches of
// the series, its halves and quarters and those across them, and the test is of the
// clearest of all: the idea of wild binary segmentation (Fryzlewicz 2014) with stretches
// that are laid out instead of drawn (seeded binary segmentation: Kovács and others 2023).
//
// A change is at one of the places in may, the first values of what is one to the caller,
// which must ascend; nil are all. One value alone is a part too, but cannot be significant
// in a series of fewer than 1/level values. The same series gives the same
// changes. Once ctx ends it returns what it has, which is not all.
func Changes(ctx context.Context, series []float64, may []int, level float64) []Change {
	if may == nil {
		for i := 1; i < len(series); i++ {
			may = append(may, i)
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(series))))
	changes := divide(ctx, series, may, level, 0, rng)
	slices.SortFunc(changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return changes
}

// Division returns the chance that a series which comes in any order is divided, at one of the places in may, as clearly
// as this one is at a place; if that is above the level, it may be any that is. Once ctx ends it is 1.
func Division(ctx context.Context, series []float64, may []int, at int, level float64) float64 {
	d := newDistances(series)
	return d.chance(ctx, may, d.differences()[at], level, rand.New(rand.NewPCG(1, uint64(len(series)))))
}

// divide returns the changes of a part of a series, whose first value is that at offset.
func divide(ctx context.Context, part []float64, may []int, level float64, offset int, rng *rand.Rand) []Change {
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
	at, found := d.clearest(inside)
	p := d.chance(ctx, inside, found, level, rng)
	if p > level {
		return nil
	}
	changes := append(divide(ctx, part[:at], may, level, offset, rng), Change{offset + at, p})
	return append(changes, divide(ctx, part[at:], may, level, offset+at, rng)...)
}

// chance is how often a shuffled series is divided as clearly as it was found. It stops
// once that cannot be at most the level any more.
func (d *distances) chance(ctx context.Context, may []int, found, level float64, rng *rand.Rand) float64 {
	asClear := 1 // the series itself
	permutations := shuffles(len(d.order), level)
	for i := range permutations {
		if ctx.Err() != nil {
			return 1
		}
		rng.Shuffle(len(d.order), func(a, b int) { d.order[a], d.order[b] = d.order[b], d.order[a] })
		if _, clear := d.clearest(may); clear >= found*(1-1e-9) {
			asClear++
		}
		if float64(asClear) > level*float64(permutations+1) {
			return float64(asClear) / float64(i+2)
		}
	}
	return float64(asClear) / float64(permutations+1)
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
	stretches    []stretch
	// within is room for the sums of a stretch.
	within []float64
}

func newDistances(series []float64) *distances {
	n := len(series)
	d := &distances{order: make([]int, n), toAll: make([]float64, n), counts: make([]float64, n+1), sums: make([]float64, n+1), stretches: stretches(n), within: make([]float64, 2*(n+1))}
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

// leastPart is how many values each part of a stretch must have: one that lies far off is
// else the clearest of all divisions, in whichever stretch it happens to be the first.
const leastPart = 3

// clearest returns at which of the places the parts of the series, or those of one of its
// stretches, differ most, and by how much.
func (d *distances) clearest(may []int) (at int, most float64) {
	at, most = d.division(may)
	for _, s := range d.stretches {
		if k, clear := d.divisionOf(s, may); clear > most {
			at, most = k, clear
		}
	}
	return at, most
}

// stretch is the values from one place on up to another.
type stretch struct{ from, to int }

// stretches are the halves and quarters of a series, and those that lie across them: in
// each layer each begins in the middle of the one before.
func stretches(n int) []stretch {
	var all []stretch
	for parts := 2; parts <= 4 && n/parts >= 2*leastPart; parts *= 2 {
		for k := 0; k <= 2*(parts-1); k++ {
			from := k * n / (2 * parts)
			all = append(all, stretch{from, min(from+n/parts+1, n)})
		}
	}
	return all
}

// divisionOf is division within a stretch.
func (d *distances) divisionOf(s stretch, may []int) (at int, most float64) {
	most = -1
	n := s.to - s.from
	before, after := d.within[:n+1], d.within[len(d.order)+1:][:n+1]
	d.pairs(d.order[s.from:s.to], before, false)
	d.pairs(d.order[s.from:s.to], after, true)
	all := before[n]
	first, _ := slices.BinarySearch(may, s.from+leastPart)
	for _, place := range may[first:] {
		k := place - s.from
		if n-k < leastPart {
			break
		}
		if clear := distance(before[k], all-before[k]-after[n-k], after[n-k], float64(k), float64(n-k)); clear > most {
			at, most = place, clear
		}
	}
	return at, most
}

// pairs adds up the distances between all pairs of the first so many values, or of the last.
func (d *distances) pairs(order []int, sums []float64, last bool) {
	clear(d.counts)
	clear(d.sums)
	n, total, sum := len(order), 0., 0.
	for i := range n {
		rank := order[i]
		if last {
			rank = order[n-1-i]
		}
		v := d.sorted[rank]
		count, below := d.upTo(rank)
		sum += v*count - below + total - below - v*(float64(i)-count)
		sums[i+1] = sum
		d.add(rank)
		total += v
	}
}

// distance is the energy distance of x values and y others times xy/(x+y), from the sums of
// the distances of all pairs within the first, between both, and within the others.
func distance(before, between, after, x, y float64) float64 {
	return x * y / (x + y) * (2*between/(x*y) - 2*before/(x*x) - 2*after/(y*y))
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
		differences[place] = distance(before, between, after, float64(place), float64(n-place))
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
