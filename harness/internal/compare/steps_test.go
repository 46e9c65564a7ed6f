package compare

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func upToN(n int) (all []int) {
	for i := 1; i < n; i++ {
		all = append(all, i)
	}
	return all
}

// energyOf is the energy distance of two parts by its definition.
func energyOf(a, b []float64) float64 {
	mean := func(x, y []float64) float64 {
		sum := 0.
		for _, v := range x {
			for _, w := range y {
				sum += math.Abs(v - w)
			}
		}
		return sum / float64(len(x)*len(y))
	}
	n, m := float64(len(a)), float64(len(b))
	return n * m / (n + m) * (2*mean(a, b) - mean(a, a) - mean(b, b))
}

func TestEnergyIsOfTheClearestPlace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	series := make([]float64, 20)
	for i := range series {
		series[i] = rng.NormFloat64()
	}
	at, most := energy(series, upToN(20), 0, 20, 1)
	best, place := -1., 0
	for k := 1; k < 20; k++ {
		if e := energyOf(series[:k], series[k:]); e > best {
			best, place = e, k
		}
	}
	require.Equal(t, place, at)
	require.InDelta(t, best, most, 1e-9)
}

func TestChanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	series := make([]float64, 60)
	for i := range series {
		series[i] = rng.NormFloat64()
		if i >= 20 && i < 40 {
			series[i] += 5
		}
	}
	found := findSteps(t.Context(), series, upToN(60), .05)
	require.Len(t, found, 2)
	require.Equal(t, []int{20, 40}, []int{found[0].At, found[1].At})
	require.LessOrEqual(t, found[0].P, .05)
	require.Equal(t, found, findSteps(t.Context(), series, upToN(60), .05), "the same series gives the same result")
	require.Empty(t, findSteps(t.Context(), series[:20], upToN(20), .05))
	require.Empty(t, findSteps(t.Context(), series, nil, .05))
	for _, c := range findSteps(t.Context(), series, []int{30}, .05) {
		require.Equal(t, 30, c.At, "changes lie where sets begin")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.Empty(t, findSteps(ctx, series, upToN(60), .05))
}
