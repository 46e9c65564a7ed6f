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
// A step is at one of the places in may, the first values of what is one to the caller, which must ascend; nil are
// all. Each value of a rise that is the last one alone is significant in a series of 1/up values or more. The same
// series gives the same steps. Once ctx ends it returns what it has, which is not all.
func Steps(ctx context.Context, series []float64, may []int, up, down float64) []Change {
	if may == nil {
		for i := 1; i < len(series); i++ {
			may = append(may, i)
		}
	}
	steps := step(ctx, series, may, up, down, 0, rand.New(rand.NewPCG(2, uint64(len(series)))))
	slices.SortFunc(steps, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return steps
}

func step(ctx context.Context, part []float64, may []int, up, down float64, offset int, rng *rand.Rand) []Change {
	if len(may) == 0 {
		return nil
	}
	at, p := clearStep(ctx, midRanks(part), may, up, down, rng)
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
	steps := append(step(ctx, part[:at], left, up, down, offset, rng), Change{At: offset + at, P: p})
	return append(steps, step(ctx, part[at:], right, up, down, offset+at, rng)...)
}

// clearStep is the steepest rise or fall if that is no chance, that which is less so if both are; at is 0 if neither is.
// It shuffles the ranks.
func clearStep(ctx context.Context, ranks []float64, may []int, up, down float64, rng *rand.Rand) (at int, p float64) {
	rise, fall := steepest(ranks, may)
	rises, falls := 1, 1 // the series itself
	for range permutations {
		if ctx.Err() != nil || float64(rises) > up*(permutations+1) && float64(falls) > down*(permutations+1) {
			return 0, 1
		}
		rng.Shuffle(len(ranks), func(i, k int) { ranks[i], ranks[k] = ranks[k], ranks[i] })
		r, f := steepest(ranks, may)
		if r.by >= rise.by*(1-1e-9) {
			rises++
		}
		if f.by >= fall.by*(1-1e-9) {
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

// slope is by how much the ranks behind a place are greater, or less, than those before it.
type slope struct {
	at int
	by float64
}

// steepest are the greatest rise and the greatest fall at any of the places.
func steepest(ranks []float64, may []int) (rise, fall slope) {
	n, sum, next := len(ranks), 0., 0
	mean := float64(n+1) / 2
	rise, fall = slope{may[0], math.Inf(-1)}, slope{may[0], math.Inf(-1)}
	for i, r := range ranks {
		if next < len(may) && may[next] == i {
			by := -sum / math.Sqrt(float64(i)*float64(n-i))
			if by > rise.by {
				rise = slope{i, by}
			}
			if -by > fall.by {
				fall = slope{i, -by}
			}
			next++
		}
		sum += r - mean
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
