package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBinomialAtLeast(t *testing.T) {
	for _, c := range []struct {
		k, n     int64
		p        float64
		expected float64
	}{
		{0, 5, .3, 1}, {6, 5, .3, 0}, {5, 5, .5, 1. / 32}, {4, 5, .5, 6. / 32}, {1, 3, .25, 1 - .75*.75*.75},
		{2, 2, 0, 0}, {2, 2, 1, 1},
		{24, 43, .5, .271_2}, // by scipy: binomtest(24, 43, .5, 'greater')
	} {
		require.InDelta(t, c.expected, BinomialAtLeast(c.k, c.n, c.p), 1e-3, "%+v", c)
	}
	require.InDelta(t, .5, BinomialAtLeast(500_000, 1_000_000, .5), 1e-3, "of many")
	// Two deviations from the mean, by the sum and by the normal distribution; and numbers that no sum would come to the end of.
	for _, n := range []float64{1e8, 3e10, 5e10, 1e13, 9e18} {
		k := int64(n/2 + math.Sqrt(n))
		require.InDelta(t, .02275, BinomialAtLeast(k, int64(n), .5), 1e-4, "of %g", n)
	}
	require.InDelta(t, 1-math.Exp(-1), BinomialAtLeast(1, 1e10, 1e-10), 1e-4)
	require.InDelta(t, 1, BinomialAtLeast(1, 1e9, .5), 1e-9)
}
