package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Where both can be computed, the approximation gives what the exact test does.
func TestTheNormalApproximationIsThatOfTheExactTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		a, b := make([]float64, 36), make([]float64, 44)
		for i := range a {
			a[i] = float64(rng.IntN(40))
		}
		for i := range b {
			b[i] = float64(rng.IntN(40) + rng.IntN(12))
		}
		_, exact := MannWhitney(a, b)
		ranks, sum := doubledRanks(a, b)
		require.InDelta(t, exact, normal(ranks, len(a), sum-len(a)*(len(ranks)+1)), .003)
	}
	for _, n := range []int{30, 40} {
		require.InDelta(t, criticalU(n, 80-n, .025), criticalNormal(n, 80-n, .025), 1)
	}
	_, p := MannWhitney([]float64{1, 1}, make([]float64, 90))
	require.Less(t, p, 1e-3)
	_, p = MannWhitney(make([]float64, 90), make([]float64, 90))
	require.InDelta(t, 1, p, 0)
}

// Two large samples of which one is twice the other are told apart, at once.
func TestLargeSamples(t *testing.T) {
	a, b := ramp(100, 200), ramp(200, 200)
	_, p := MannWhitney(a, b)
	require.Less(t, p, 1e-6)
	shift := HodgesLehmann(a, b, .95)
	require.InDelta(t, 100, shift.Estimate, 1)
	require.Less(t, shift.Low, 100.)
	require.Greater(t, shift.Low, 80.)
	require.Less(t, shift.High, 120.)
}
