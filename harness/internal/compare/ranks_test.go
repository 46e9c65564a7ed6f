package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// byAllSplits is the two-sided p-value from every way to draw the first sample out of both.
func byAllSplits(a, b []float64) float64 {
	all := slices.Concat(a, b)
	ranks, sum := doubledRanks(a, b)
	slices.Sort(all)
	mean := 0
	for _, r := range ranks {
		mean += r
	}
	far := math.Abs(float64(sum) - float64(mean)*float64(len(a))/float64(len(all)))
	ways, asFar := 0, 0
	for mask := range 1 << len(all) {
		drawn, n := 0, 0
		for i := range all {
			if mask>>i&1 == 1 {
				drawn, n = drawn+ranks[i], n+1
			}
		}
		if n != len(a) {
			continue
		}
		ways++
		if math.Abs(float64(drawn)-float64(mean)*float64(n)/float64(len(all))) >= far-1e-9 {
			asFar++
		}
	}
	return float64(asFar) / float64(ways)
}

func TestExactTestsAreOverAllCases(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		a, b := make([]float64, 1+rng.IntN(6)), make([]float64, 1+rng.IntN(6))
		for _, s := range [][]float64{a, b} {
			for i := range s {
				s[i] = float64(rng.IntN(7)) // with ties
			}
		}
		require.InDelta(t, byAllSplits(a, b), Independent(b, a, .95).P, 1e-9, "%v %v", a, b)

		signs, differences := 0, []float64{1, 2, 2, -3, 4, -5, 6}
		rng.Shuffle(7, func(i, k int) { differences[i], differences[k] = differences[k], differences[i] })
		ranks := map[float64]float64{1: 1, 2: 2.5, 3: 4, 4: 5, 5: 6, 6: 7}
		above := 0.
		for _, d := range differences {
			if d > 0 {
				above += ranks[d]
			}
		}
		for mask := range 1 << 7 {
			sum := 0.
			for i, d := range differences {
				if mask>>i&1 == 1 {
					sum += ranks[math.Abs(d)]
				}
			}
			if math.Abs(sum-14) >= math.Abs(above-14)-1e-9 {
				signs++
			}
		}
		require.InDelta(t, float64(signs)/128, Paired(differences, .95).P, 1e-9)
	}
}

// The 95 % interval holds the true shift in 95 of 100 samples or more, of either test.
func TestIntervalsHoldTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	independent, pairs := 0, 0
	const n = 400
	for range n {
		var a, b, d []float64
		for range 8 {
			x, y := rng.ExpFloat64(), rng.ExpFloat64()+2
			a, b, d = append(a, x), append(b, y), append(d, rng.NormFloat64()+2)
		}
		if s := Independent(a, b, .95); s.Low <= 2 && 2 <= s.High {
			independent++
		}
		if s := Paired(d, .95); s.Low <= 2 && 2 <= s.High {
			pairs++
		}
	}
	require.Greater(t, independent, n*93/100)
	require.Greater(t, pairs, n*93/100)
	s := Independent([]float64{1, 2}, []float64{3}, .95)
	require.Equal(t, []float64{1.5, math.Inf(-1), math.Inf(1)}, []float64{s.Estimate, s.Low, s.High}, "too few for an interval")
	require.True(t, s.Above)
	require.InDelta(t, 1, Independent(nil, nil, .95).P, 0)
	require.InDelta(t, 1, Paired(nil, .95).P, 0)
	require.True(t, math.IsNaN(Median(nil)))
}

// The published table of Kendall's S: 10 values in order have p 2/10!; one inversion of 4 has p 8/24.
func TestTrend(t *testing.T) {
	require.InDelta(t, 2/3628800., Trend([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), 1e-12)
	require.InDelta(t, 8/24., Trend([]float64{1, 2, 4, 3}), 1e-12)
	require.InDelta(t, 1, Trend([]float64{1, 1, 1}), 1e-12)
}

func TestHolmAndAtLeast(t *testing.T) {
	require.InDeltaSlice(t, []float64{.03, .06, .06, .02}, Holm([]float64{.01, .04, .03, .005}), 1e-9)
	chance := 0.
	for k := 7; k <= 10; k++ {
		chance += []float64{120, 45, 10, 1}[k-7] / 1024
	}
	require.InDelta(t, chance, AtLeast(7, 10, .5), 1e-12)
	require.InDelta(t, 1e-6, AtLeast(1_000_000, 1_000_000, math.Pow(1e-6, 1e-6)), 1e-9)
}
