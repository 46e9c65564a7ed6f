// Tests of the difference between samples. They assume no distribution and are exact, ties included.

package compare

import (
	"cmp"
	"math"
	"slices"
)

// Shift is how much greater one sample is than another: the estimate, and the interval that the exact test accepts, infinite
// if the samples are too small. P is two-sided.
type Shift struct {
	Estimate, Low, High, P float64
	Above                  bool // whether the rank sum of the greater sample exceeds its mean
}

// Independent compares two samples by the exact Mann-Whitney test, ties by mid-ranks, and the shift of Hodges and Lehmann.
// Its time grows with the fourth power of the number of values: 80 take 20 ms.
func Independent(from, to []float64, confidence float64) Shift {
	n, m := len(to), len(from)
	if n == 0 || m == 0 {
		return unknown
	}
	var differences []float64
	for _, y := range to {
		for _, x := range from {
			differences = append(differences, y-x)
		}
	}
	ranks, sum := doubledRanks(to, from)
	return shift(differences, sums(ranks, n), sum, sums(upTo(n+m), n), confidence)
}

// Paired compares pairs, given as second minus first, by the exact signed-rank test without differences of 0, and the median of all pairwise means.
func Paired(differences []float64, confidence float64) Shift {
	var means, sizes, above []float64
	for i, x := range differences {
		for _, y := range differences[i:] {
			means = append(means, x+(y-x)/2)
		}
		switch {
		case x > 0:
			above = append(above, x)
		case x < 0:
			sizes = append(sizes, -x)
		}
	}
	if len(differences) == 0 {
		return unknown
	}
	ranks, sum := doubledRanks(above, sizes)
	return shift(means, anySums(ranks), sum, anySums(upTo(len(differences))), confidence)
}

var unknown = Shift{Estimate: math.NaN(), Low: math.Inf(-1), High: math.Inf(1), P: 1}

// shift returns the median of all differences, their interval, and the chance of a rank sum as far from its mean. chances
// has the chance of each sum, plain the same without ties.
func shift(values, chances []float64, sum int, plain []float64, confidence float64) Shift {
	slices.Sort(values)
	s := Shift{Estimate: Median(values), Low: math.Inf(-1), High: math.Inf(1)}
	mean := 0.
	for v, chance := range chances {
		mean += float64(v) * chance
	}
	s.Above = float64(sum) > mean
	for v, chance := range chances {
		if math.Abs(float64(v)-mean) >= math.Abs(float64(sum)-mean)-1e-6 {
			s.P += chance
		}
	}
	s.P = min(s.P, 1)
	k, tail := 0, 0.
	for _, chance := range plain {
		if chance == 0 {
			continue // no such sum: doubled ranks have even sums
		}
		if tail += chance; tail > (1-confidence)/2+1e-12 {
			break
		}
		k++
	}
	if k > 0 {
		s.Low, s.High = values[k-1], values[len(values)-k]
	}
	return s
}

// upTo returns the doubled ranks of n values without ties.
func upTo(n int) (ranks []int) {
	for i := range n {
		ranks = append(ranks, 2*i+2)
	}
	return ranks
}

// doubledRanks returns twice the mid-ranks of all values in ascending order, and their sum over a.
func doubledRanks(a, b []float64) (ranks []int, sumA int) {
	all := slices.Concat(a, b)
	slices.Sort(all)
	rank := func(v float64) int {
		first, _ := slices.BinarySearch(all, v)
		next, _ := slices.BinarySearchFunc(all, v, func(x, v float64) int { return cmp.Compare(x, math.Nextafter(v, math.Inf(1))) })
		return first + 1 + next
	}
	for _, v := range all {
		ranks = append(ranks, rank(v))
	}
	for _, v := range a {
		sumA += rank(v)
	}
	return ranks, sumA
}

// sums returns the chance of each sum of n ranks drawn without replacement.
func sums(ranks []int, n int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	chance := make([][]float64, n+1) // by number of ranks drawn, and their sum
	for k := range chance {
		chance[k] = make([]float64, total+1)
	}
	chance[0][0] = 1
	for seen, r := range ranks {
		left := float64(len(ranks) - seen)
		for k := min(seen, n); k >= 0; k-- {
			draw := min(float64(n-k)/left, 1)
			for s := total; s >= 0; s-- {
				if c := chance[k][s]; c != 0 {
					if k < n {
						chance[k+1][s+r] += c * draw
					}
					chance[k][s] = c * (1 - draw)
				}
			}
		}
	}
	return chance[n]
}

// anySums returns the chance of each sum of ranks picked by a fair coin.
func anySums(ranks []int) []float64 {
	chance := []float64{1}
	for _, r := range ranks {
		more := make([]float64, len(chance)+r)
		for s, c := range chance {
			more[s] += c / 2
			more[s+r] += c / 2
		}
		chance = more
	}
	return chance
}

// Median returns the middle value; NaN for an empty sample.
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

// Mean returns the mean; NaN for an empty sample.
func Mean(sample []float64) float64 {
	sum := 0.
	for _, v := range sample {
		sum += v
	}
	return sum / float64(len(sample))
}

// Holm adjusts p-values so that each compares with the level of all together.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, highest := make([]float64, len(p)), 0.
	for rank, i := range order {
		highest = max(highest, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = highest
	}
	return adjusted
}

// AtLeast returns the chance of k or more successes in n trials of probability p, for k above the mean.
func AtLeast(k, n int64, p float64) float64 {
	lgamma := func(x int64) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	term := math.Exp(lgamma(n) - lgamma(k) - lgamma(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	total := term
	for i := k; i < n && term > total*1e-18; i++ {
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
		total += term
	}
	return min(total, 1)
}

// Trend returns the chance that a series rises or falls as steadily by accident: Kendall's exact test. Equal values count neither way.
func Trend(series []float64) (p float64) {
	s, chances := 0, []float64{1} // by number of inversions
	for k, later := range series {
		more := make([]float64, len(chances)+k)
		for i, chance := range chances {
			for add := range k + 1 {
				more[i+add] += chance / float64(k+1)
			}
		}
		chances = more
		for _, earlier := range series[:k] {
			s += cmp.Compare(later, earlier)
		}
	}
	pairs := len(chances) - 1
	for inversions, chance := range chances {
		if of := pairs - 2*inversions; of >= max(s, -s) || of <= -max(s, -s) {
			p += chance
		}
	}
	return min(p, 1)
}
