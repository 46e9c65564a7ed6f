package stats

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// Steps returns where the values of a series become greater or less, in ascending order, by their ranks:
// of a few values that are far off the rest it is only counted how many they are. The series is divided where
// the ranks of the two parts differ most (a maximally selected rank statistic: Lausen and Schumacher
// 1992), if a permutation test says that the order of its values is no chance, and each part again.
// In a series without a step it finds a rise with the probability up, and a fall with down.
//
// Values that were made under the same conditions share a stratum, strata[i]: ranks are those in it, only the order of its
// values is chance, and a step is what the strata show that have values of both sides. Nil is one stratum for all.
//
// A step is at one of the places in may, the first values of what is one to the caller, which must ascend; nil are
// all. Each value of a rise that is the last one alone is significant in a series of 1/up values or more. The same
// series gives the same steps. Once ctx ends it returns what it has, which is not all.
func Steps(ctx context.Context, series []float64, strata, may []int, up, down float64) []Change {
	if may == nil {
		for i := 1; i < len(series); i++ {
			may = append(may, i)
		}
	}
	if strata == nil {
		strata = make([]int, len(series))
	}
	steps := step(ctx, series, strata, may, up, down, 0, rand.New(rand.NewPCG(2, uint64(len(series)))))
	slices.SortFunc(steps, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return steps
}

func step(ctx context.Context, part []float64, strata, may []int, up, down float64, offset int, rng *rand.Rand) []Change {
	if len(may) == 0 {
		return nil
	}
	at, p := clearStep(ctx, newRanked(part, strata, may), up, down, rng)
	if at == 0 {
		return nil
	}
	var left, right []int
	for _, m := range may {
		if m < at {
			left = append(left, m)
		} else if m > at {
			right = append(right, m-at)
		}
	}
	steps := append(step(ctx, part[:at], strata[:at], left, up, down, offset, rng), Change{At: offset + at, P: p})
	return append(steps, step(ctx, part[at:], strata[at:], right, up, down, offset+at, rng)...)
}

// clearStep is the steepest rise or fall if that is no chance, that which is less so if both are; at is 0 if neither is.
// It shuffles the ranks.
func clearStep(ctx context.Context, r *ranked, up, down float64, rng *rand.Rand) (at int, p float64) {
	rise, fall := r.steepest()
	if rise.at == 0 {
		return 0, 1
	}
	rises, falls := 1, 1 // the series itself
	for range permutations {
		if ctx.Err() != nil || float64(rises) > up*(permutations+1) && float64(falls) > down*(permutations+1) {
			return 0, 1
		}
		r.shuffle(rng)
		higher, lower := r.steepest()
		if higher.by >= rise.by-1e-9*math.Abs(rise.by) {
			rises++
		}
		if lower.by >= fall.by-1e-9*math.Abs(fall.by) {
			falls++
		}
	}
	up, down = up*(permutations+1)/float64(rises), down*(permutations+1)/float64(falls)
	switch {
	case up < 1 && down < 1:
		return 0, 1
	case up > down || up == down && rise.by >= fall.by:
		return rise.at, float64(rises) / (permutations + 1)
	}
	return fall.at, float64(falls) / (permutations + 1)
}

// ranked are the ranks of values in their strata, as shares of these, less the mean.
type ranked struct {
	ranks  []float64
	strata [][]int // the values of each
	may    []int
	sizes  []float64 // of a step at each place: 0 where no stratum has both sides
}

func newRanked(values []float64, strata, may []int) *ranked {
	r := &ranked{ranks: make([]float64, len(values)), strata: make([][]int, 1+slices.Max(strata)), may: may}
	for i, s := range strata {
		r.strata[s] = append(r.strata[s], i)
	}
	for _, of := range r.strata {
		var its []float64
		for _, i := range of {
			its = append(its, values[i])
		}
		for k, rank := range midRanks(its) {
			r.ranks[of[k]] = rank/float64(len(of)+1) - .5
		}
	}
	before, size, next := make([]float64, len(r.strata)), 0., 0
	for i, s := range strata {
		if next < len(may) && may[next] == i {
			r.sizes = append(r.sizes, size)
			next++
		}
		n := float64(len(r.strata[s]))
		size += (n - 2*before[s] - 1) / n
		before[s]++
	}
	return r
}

func (r *ranked) shuffle(rng *rand.Rand) {
	for _, of := range r.strata {
		rng.Shuffle(len(of), func(i, k int) { r.ranks[of[i]], r.ranks[of[k]] = r.ranks[of[k]], r.ranks[of[i]] })
	}
}

// slope is by how much the ranks behind a place are greater, or less, than those before it.
type slope struct {
	at int
	by float64
}

// steepest are the greatest rise and the greatest fall at any of the places; at is 0 if there can be none.
func (r *ranked) steepest() (rise, fall slope) {
	sum, next := 0., 0
	rise, fall = slope{0, math.Inf(-1)}, slope{0, math.Inf(-1)}
	for i, rank := range r.ranks {
		if next < len(r.may) && r.may[next] == i {
			if size := r.sizes[next]; size > leastSize {
				by := -sum / math.Sqrt(size)
				if by > rise.by {
					rise = slope{i, by}
				}
				if -by > fall.by {
					fall = slope{i, -by}
				}
			}
			next++
		}
		sum += rank
	}
	return rise, fall
}

// midRanks are the ranks of values from 1 on, the mean of them for those that are equal.
func midRanks(values []float64) []float64 {
	inOrder := slices.Sorted(slices.Values(values))
	out := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(inOrder, v)
		next, _ := slices.BinarySearch(inOrder, math.Nextafter(v, math.Inf(1)))
		out[i] = float64(first+1+next) / 2
	}
	return out
}
