package stats

import "math"

// wideDeviation is the standard deviation from which on the normal distribution is as good, and the sum would be long.
const wideDeviation = 1e5

// BinomialAtLeast is the probability of k successes or more in n trials, each of which succeeds
// with probability p. It takes no longer than some millions of additions, whatever n.
func BinomialAtLeast(k, n int64, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 1
	case k > n || p <= 0:
		return 0
	}
	mean, deviation := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	if deviation > wideDeviation {
		return math.Erfc((float64(k)-.5-mean)/deviation/math.Sqrt2) / 2
	}
	from := max(k, int64(mean-9*deviation)) // what lies before is less than can be added to 1
	term := math.Exp(logChoose(n, from) + float64(from)*math.Log(p) + float64(n-from)*math.Log1p(-p))
	total := term
	for i := from; i < n && (float64(i) < mean || term > total*1e-18); i++ {
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
		total += term
	}
	return min(total, 1)
}

// logChoose is the logarithm of n over k.
func logChoose(n, k int64) float64 {
	lgamma := func(x int64) float64 {
		v, _ := math.Lgamma(float64(x) + 1)
		return v
	}
	return lgamma(n) - lgamma(k) - lgamma(n-k)
}
