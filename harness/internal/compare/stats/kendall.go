package stats

// Kendall returns how strongly a series of values rises: the number of pairs in which
// the later value is the greater one, less those in which it is the smaller one, and the
// two-sided p-value: the chance of as much, up or down, if all orders are equally likely
// (Kendall 1938, exact). Equal values count neither way, which makes p too great rather
// than too small. A series above MaxSample gives p = 1.
func Kendall(series []float64) (s int, p float64) {
	n := len(series)
	if n > MaxSample {
		return 0, 1
	}
	for i, earlier := range series {
		for _, later := range series[i+1:] {
			switch {
			case later > earlier:
				s++
			case later < earlier:
				s--
			}
		}
	}
	pairs := n * (n - 1) / 2
	distance := max(s, -s)
	for inversions, chance := range inversions(n) {
		if of := pairs - 2*inversions; of >= distance || of <= -distance {
			p += chance
		}
	}
	return s, min(p, 1)
}

// inversions returns the distribution of the number of inversions of n values in random
// order: the chance of each number, by number.
func inversions(n int) []float64 {
	chances := []float64{1}
	for k := 2; k <= n; k++ {
		// The kth value adds 0 to k-1 inversions, each as likely.
		more := make([]float64, len(chances)+k-1)
		window := 0.
		for i := range more {
			if i < len(chances) {
				window += chances[i]
			}
			if i >= k {
				window -= chances[i-k]
			}
			more[i] = max(window, 0) / float64(k)
		}
		chances = more
	}
	return chances
}
