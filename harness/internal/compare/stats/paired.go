package stats

import (
	"cmp"
	"math"
	"slices"
)

// SignedRank returns W, the sum of the mid-ranks of the differences above 0 among all by
// size, and the two-sided p-value: the chance, if each difference might as well have had the
// other sign, of a W as far from its mean or farther (Wilcoxon 1945). Differences of 0 are
// left out. With ties it is the exact distribution of the mid-ranks. Samples without any
// difference, or above MaxSample, give p = 1.
func SignedRank(differences []float64) (w, p float64) {
	d := slices.DeleteFunc(slices.Clone(differences), func(v float64) bool { return v == 0 })
	if len(d) == 0 || len(d) > MaxSample {
		return 0, 1
	}
	slices.SortFunc(d, func(x, y float64) int { return cmp.Compare(math.Abs(x), math.Abs(y)) })
	ranks := make([]int, len(d)) // doubled, so that those of ties are whole numbers
	sum, total := 0, 0
	for first := 0; first < len(d); {
		next := first + 1
		for next < len(d) && math.Abs(d[next]) == math.Abs(d[first]) {
			next++
		}
		for i := first; i < next; i++ {
			ranks[i] = first + 1 + next
			total += ranks[i]
			if d[i] > 0 {
				sum += ranks[i]
			}
		}
		first = next
	}
	// The mean is total/2; the distance is doubled for the same reason as the ranks.
	distance := max(2*sum-total, total-2*sum)
	for s, chance := range signedSums(ranks) {
		if max(2*s-total, total-2*s) >= distance {
			p += chance
		}
	}
	return float64(sum) / 2, min(p, 1)
}

// signedSums returns the distribution of the sum of those ranks that a fair coin picks,
// each by itself: the chance of each sum, by sum.
func signedSums(ranks []int) []float64 {
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

// PairedShift returns by how much pairs differ, of which differences are the second less the
// first: the median of the means of all two of them, and of each (Hodges and Lehmann), with the
// interval that the exact signed-rank test of the given confidence (such as 0.95) does not refuse.
func PairedShift(differences []float64, confidence float64) Shift {
	n := len(differences)
	shift := Shift{Low: math.Inf(-1), High: math.Inf(1)}
	if n == 0 || n > MaxSample {
		return shift
	}
	means := make([]float64, 0, n*(n+1)/2)
	for i, x := range differences {
		for _, y := range differences[i:] {
			means = append(means, x+(y-x)/2)
		}
	}
	slices.Sort(means)
	shift.Estimate = Median(means)
	if k := criticalW(n, (1-confidence)/2); k > 0 {
		shift.Low, shift.High = means[k-1], means[len(means)-k]
	}
	return shift
}

// criticalW returns the number of values of W, from 0 up, whose chance together is at most
// tail, for n differences without ties.
func criticalW(n int, tail float64) int {
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	sum := 0.0
	for w, chance := range signedSums(ranks) {
		if sum += chance; sum > tail+1e-12 {
			return w
		}
	}
	return 0
}
