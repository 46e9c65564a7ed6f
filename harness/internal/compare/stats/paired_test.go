package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// flipped is the two-sided p-value by all choices of the signs: the share of those whose
// sum of mid-ranks of what is above 0 is as far from its mean.
func flipped(d []float64) float64 {
	var sizes []float64
	for _, v := range d {
		if v != 0 {
			sizes = append(sizes, v)
		}
	}
	rank := func(v float64) float64 {
		below, same := 0., 0.
		for _, o := range sizes {
			switch {
			case math.Abs(o) < math.Abs(v):
				below++
			case math.Abs(o) == math.Abs(v):
				same++
			}
		}
		return below + (same+1)/2
	}
	seen, mean := 0., float64(len(sizes)*(len(sizes)+1))/4
	for _, v := range sizes {
		if v > 0 {
			seen += rank(v)
		}
	}
	far, all := 0, 1<<len(sizes)
	for signs := range all {
		sum := 0.
		for i, v := range sizes {
			if signs>>i&1 == 1 {
				sum += rank(v)
			}
		}
		if math.Abs(sum-mean) >= math.Abs(seen-mean)-1e-9 {
			far++
		}
	}
	return float64(far) / float64(all)
}

func TestSignedRankIsThatOfAllSigns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 60 {
		d := make([]float64, 1+rng.IntN(11))
		for k := range d {
			d[k] = rng.NormFloat64() + .3
			if i%2 == 0 {
				d[k] = float64(rng.IntN(7) - 3) // ties and zeros
			}
		}
		_, p := SignedRank(d)
		require.InDelta(t, flipped(d), p, 1e-12, "%v", d)
	}
}

// The figures are those of the tables of the test: W of 8 for n = 10 is the last that a
// two-sided test of 5 % refuses.
func TestSignedRankByTheTable(t *testing.T) {
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	w, p := SignedRank(ten)
	require.Equal(t, 55., w)
	require.InDelta(t, 2./1024, p, 1e-15)
	require.Equal(t, 9, criticalW(10, .025))
	require.Equal(t, 1, criticalW(6, .025))
	require.Equal(t, 0, criticalW(5, .025))
	_, p = SignedRank([]float64{0, 0})
	require.Equal(t, 1., p)
	_, p = SignedRank(nil)
	require.Equal(t, 1., p)
}

func TestPairedShift(t *testing.T) {
	s := PairedShift([]float64{1, 2, 3, 4, 5, 6}, .95)
	require.Equal(t, Shift{Estimate: 3.5, Low: 1, High: 6}, s)
	s = PairedShift([]float64{1, 2, 3}, .95)
	require.Equal(t, 2., s.Estimate)
	require.True(t, math.IsInf(s.Low, -1) && math.IsInf(s.High, 1), "too few")
}

// The interval holds the true shift in 95 of 100 samples, and is the set of shifts that the
// test does not refuse.
func TestPairedShiftHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	held := 0
	for range 1000 {
		d := make([]float64, 12)
		for i := range d {
			d[i] = 3 + rng.NormFloat64()
		}
		s := PairedShift(d, .95)
		_, p := SignedRank(less(d, 3))
		require.Equal(t, s.Low <= 3 && 3 <= s.High, p > .05, "%v %v", s, p)
		if p > .05 {
			held++
		}
	}
	require.InDelta(t, 950, held, 25)
}

func less(d []float64, by float64) []float64 {
	out := make([]float64, len(d))
	for i, v := range d {
		out[i] = v - by
	}
	return out
}
