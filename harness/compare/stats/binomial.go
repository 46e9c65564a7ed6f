package stats

import "math"

// BinomialAtLeast is the probability of k successes or more in n trials, each of which succeeds
// with probability p.
func BinomialAtLeast(k, n int64, p float64) float64 {
	switch {
	case k <= 0 || p >= 1:
		return 1
	case k > n || p <= 0:
		return 0
	}
	total := 0.
	for i := k; i <= n; i++ {
		total += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
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
