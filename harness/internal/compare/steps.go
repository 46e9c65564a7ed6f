package compare

import (
	"context"
	"math"
	"math/rand/v2"
)

// step is a place at which a series changes, and the chance of a division as clear.
type step struct {
	At int
	P  float64
}

const (
	permutations = 999
	leastPart    = 3 // the smallest part of a half or quarter: one outlier would be the clearest division of all
)

// findSteps returns the places at which the distribution of a series changes, in ascending order, by E-divisive means
// (Matteson and James 2014): it divides the series at the greatest energy distance if fewer than level of 999 shuffles have
// one as great, and divides each part again. Halves and quarters are searched too, so that a dip is not hidden by its end
// (seeded binary segmentation, Kovács and others 2023). Places are among may, which must ascend. The result is repeatable.
func findSteps(ctx context.Context, series []float64, may []int, level float64) []step {
	rng := rand.New(rand.NewPCG(1, uint64(len(series))))
	var found []step
	var divide func(from, to int)
	divide = func(from, to int) {
		at, p := division(ctx, series[from:to], within(may, from, to), level, rng)
		if p <= level {
			divide(from, from+at)
			found = append(found, step{from + at, p})
			divide(from+at, to)
		}
	}
	divide(0, len(series))
	return found
}

// within returns the places inside a part, counted from its first value.
func within(may []int, from, to int) (inside []int) {
	for _, m := range may {
		if from < m && m < to {
			inside = append(inside, m-from)
		}
	}
	return inside
}

// division returns the clearest place of a part, and its chance; 1 if the chance is above the level.
func division(ctx context.Context, part []float64, may []int, level float64, rng *rand.Rand) (at int, p float64) {
	if len(may) == 0 {
		return 0, 1
	}
	order := append([]float64(nil), part...)
	at, found := clearest(order, may)
	up := rises(order, at)
	if level *= fallShare; up {
		level *= (1 - fallShare) / fallShare
	}
	asClear := 1 // the series itself
	for range permutations {
		if float64(asClear) > level*(permutations+1) || ctx.Err() != nil {
			return 0, 1
		}
		rng.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		if k, shuffled := clearest(order, may); shuffled >= found*(1-1e-9) && rises(order, k) == up {
			asClear++
		}
	}
	return at, float64(asClear) / (permutations + 1)
}

// clearest returns the place at which the whole, a half or a quarter differs most.
func clearest(series []float64, may []int) (at int, most float64) {
	n := len(series)
	at, most = energy(series, may, 0, n, 1)
	for parts := 2; parts <= 4 && n/parts >= 2*leastPart; parts *= 2 {
		for k := 0; k <= 2*(parts-1); k++ {
			from := k * n / (2 * parts)
			if place, clear := energy(series, may, from, min(from+n/parts+1, n), leastPart); clear > most {
				at, most = place, clear
			}
		}
	}
	return at, most
}

// energy returns the place at which a stretch differs most, with at least so many values on either side.
func energy(series []float64, may []int, from, to, least int) (at int, most float64) {
	all, before, between := 0., 0., 0.
	toBefore := make([]float64, len(series)) // distances of a value to the values before it
	for i := from; i < to; i++ {
		for _, v := range series[from:i] {
			distance := math.Abs(series[i] - v)
			all, toBefore[i] = all+distance, toBefore[i]+distance
		}
	}
	most = -1
	next := 0
	for next < len(may) && may[next] <= from {
		next++
	}
	for k := from; k < to && next < len(may); k++ {
		if may[next] == k {
			next++
			if x, y := float64(k-from), float64(to-k); k-from >= least && to-k >= least {
				clear := x * y / (x + y) * (2*between/(x*y) - 2*before/(x*x) - 2*(all-before-between)/(y*y))
				if clear > most {
					at, most = k, clear
				}
			}
		}
		toAfter := 0. // distances of the value that changes parts
		for _, v := range series[k+1 : to] {
			toAfter += math.Abs(series[k] - v)
		}
		before, between = before+toBefore[k], between-toBefore[k]+toAfter
	}
	return at, most
}

// fallShare is the share of the level for a fall, which needs no warning.
const fallShare = .2

// rises reports whether the values from a place on are greater.
func rises(values []float64, at int) bool {
	return Mean(values[at:]) > Mean(values[:at])
}
