// Package stats answers: is the difference between two small samples more than
// chance? Its tests assume nothing of the distribution and are exact, ties included: no normal
// approximation but for two samples of more than 80 together, where none could tell them apart.
package stats

import (
	"cmp"
	"math"
	"slices"
)

// exactly is how many values of two samples are looked at exactly; more take seconds, and the
// normal approximation of their ranks is right to the third digit.
const exactly = 80

// MaxSample is the greatest size of a sample; above it the exact computation
// would take long, and far fewer runs are enough.
const MaxSample = 500

// MannWhitney returns U of the sample a, the number of pairs in which the value
// of a is the greater (ties count half), and the two-sided p-value: the chance,
// if both samples come from one distribution, of a U as far from its mean or
// farther. With ties it is the exact permutation distribution of the mid-ranks.
// Samples that are empty or above MaxSample give p = 1.
func MannWhitney(a, b []float64) (u, p float64) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 || n > MaxSample || m > MaxSample {
		return 0, 1
	}
	ranks, sum := doubledRanks(a, b)
	u = float64(sum)/2 - float64(n*(n+1))/2
	// Doubled, so that the half ranks of ties are whole numbers.
	mean := n * (n + m + 1)
	if n+m > exactly {
		return u, normal(ranks, n, sum-mean)
	}
	distance := sum - mean
	if distance < 0 {
		distance = -distance
	}
	for s, chance := range rankSums(ranks, n) {
		if s >= mean+distance || s <= mean-distance {
			p += chance
		}
	}
	return u, min(p, 1)
}

// normal returns the two-sided chance that the doubled ranks of n of all are as far from their mean.
func normal(ranks []int, n, distance int) float64 {
	// The variance of a sum of ranks that are drawn without replacement, ties included.
	mean := float64(len(ranks) + 1) // of doubled ranks
	squares := 0.0
	for _, r := range ranks {
		squares += (float64(r) - mean) * (float64(r) - mean)
	}
	all, drawn := float64(len(ranks)), float64(n)
	deviation := math.Sqrt(squares / all * drawn * (all - drawn) / (all - 1))
	if deviation == 0 {
		return 1
	}
	return math.Erfc(max(math.Abs(float64(distance))-1, 0) / deviation / math.Sqrt2)
}

// doubledRanks returns twice the mid-rank of every value in both samples, and
// the sum of those of a.
func doubledRanks(a, b []float64) (ranks []int, sumA int) {
	type value struct {
		v   float64
		inA bool
	}
	all := make([]value, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, value{v, true})
	}
	for _, v := range b {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(x, y value) int { return cmp.Compare(x.v, y.v) })
	ranks = make([]int, len(all))
	for first := 0; first < len(all); {
		next := first + 1
		for next < len(all) && all[next].v == all[first].v {
			next++
		}
		for i := first; i < next; i++ {
			ranks[i] = first + 1 + next
			if all[i].inA {
				sumA += ranks[i]
			}
		}
		first = next
	}
	return ranks, sumA
}

// rankSums returns the distribution of the sum of n ranks drawn at random
// without replacement: the chance of each sum, by sum.
func rankSums(ranks []int, n int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// chance[k][s] is the chance that k of the ranks seen so far are drawn and
	// sum up to s. Each rank is drawn with the probability that the draws still
	// to make leave it, so every n-subset is equally likely and nothing overflows.
	chance := make([][]float64, n+1)
	for k := range chance {
		chance[k] = make([]float64, total+1)
	}
	chance[0][0] = 1
	for seen, r := range ranks {
		left := float64(len(ranks) - seen)
		for k := min(seen, n); k >= 0; k-- {
			draw := float64(n-k) / left
			if draw > 1 {
				draw = 1 // cannot come about: its chance is 0
			}
			for s := total; s >= 0; s-- {
				c := chance[k][s]
				if c == 0 {
					continue
				}
				if k < n {
					chance[k+1][s+r] += c * draw
				}
				chance[k][s] = c * (1 - draw)
			}
		}
	}
	return chance[n]
}

// Shift is how much greater the values of one sample are than those of another.
type Shift struct {
	// Estimate is that of Hodges and Lehmann: the median of all differences.
	Estimate float64
	// Low and High bound it with the confidence that was asked for, or are
	// infinite where the samples are too small for that.
	Low, High float64
}

// HodgesLehmann returns the shift of the sample to against the sample from, with
// the interval that the exact Mann-Whitney test of the given confidence (such as
// 0.95) does not refuse.
func HodgesLehmann(from, to []float64, confidence float64) Shift {
	n, m := len(to), len(from)
	if n == 0 || m == 0 || n > MaxSample || m > MaxSample {
		return Shift{Low: math.Inf(-1), High: math.Inf(1)}
	}
	differences := make([]float64, 0, n*m)
	for _, y := range to {
		for _, x := range from {
			differences = append(differences, y-x)
		}
	}
	slices.Sort(differences)
	shift := Shift{Estimate: Median(differences), Low: math.Inf(-1), High: math.Inf(1)}
	if k := criticalU(n, m, (1-confidence)/2); k > 0 {
		shift.Low, shift.High = differences[k-1], differences[len(differences)-k]
	}
	return shift
}

// criticalU returns the number of values of U, from 0 up, whose chance together
// is at most tail, for samples without ties.
func criticalU(n, m int, tail float64) int {
	if n+m > exactly {
		return criticalNormal(n, m, tail)
	}
	ranks := make([]int, n+m)
	for i := range ranks {
		ranks[i] = i + 1
	}
	chances := rankSums(ranks, n)
	sum := 0.0
	for u := 0; ; u++ {
		sum += chances[u+n*(n+1)/2]
		if sum > tail+1e-12 {
			return u
		}
	}
}

func criticalNormal(n, m int, tail float64) int {
	deviation := math.Sqrt(float64(n) * float64(m) * float64(n+m+1) / 12)
	return int(float64(n*m)/2 + .5 - math.Sqrt2*math.Erfinv(1-2*tail)*deviation)
}

// Median returns the middle value of a sorted or unsorted sample, NaN if empty.
func Median(sample []float64) float64 {
	if len(sample) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(sample))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Holm adjusts the p-values of several tests so that each can be compared with
// the level of all together (Holm 1979). The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted := make([]float64, len(p))
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = highest
	}
	return adjusted
}
