package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// ramp returns n values from first upwards, one apart.
func ramp(first float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = first + float64(i)
	}
	return values
}

// Critical values of U, two-sided at 0.05, as in the tables of Mann and Whitney
// (1947) and of any textbook: the greatest U that is still significant.
func TestCriticalValuesOfThePublishedTable(t *testing.T) {
	for _, row := range []struct{ n, m, critical int }{
		{4, 4, 0}, {5, 5, 2}, {5, 8, 6}, {6, 6, 5}, {6, 10, 11}, {7, 7, 8}, {8, 8, 13}, {9, 9, 17}, {10, 10, 23},
		{12, 12, 37}, {15, 15, 64}, {20, 20, 127},
	} {
		require.Equal(t, row.critical+1, criticalU(row.n, row.m, .025), "n=%d m=%d", row.n, row.m)
	}
	// With three values a side nothing is significant at 0.05.
	require.Zero(t, criticalU(3, 3, .025))
}

// Complete separation has the p-value 2 / C(n+m, n).
func TestMannWhitneyOfSeparateSamples(t *testing.T) {
	for _, row := range []struct {
		n, m   int
		choose float64
	}{{3, 3, 20}, {5, 5, 252}, {6, 6, 924}, {10, 10, 184756}, {30, 30, 118264581564861424}} {
		u, p := MannWhitney(ramp(0, row.n), ramp(1000, row.m))
		require.Zero(t, u)
		require.InEpsilon(t, 2/row.choose, p, 1e-6)
		u, p = MannWhitney(ramp(1000, row.n), ramp(0, row.m))
		require.InDelta(t, row.n*row.m, u, 1e-9)
		require.InEpsilon(t, 2/row.choose, p, 1e-6)
	}
}

// By hand: of the 20 ways to choose 3 of 1..6, U ≤ 2 or ≥ 7 in 8.
func TestMannWhitneyByHand(t *testing.T) {
	u, p := MannWhitney([]float64{1, 2, 5}, []float64{3, 4, 6})
	require.InDelta(t, 2, u, 1e-12)
	require.InDelta(t, 8./20, p, 1e-12)
}

// Ties by hand: {1,2} against {2,3}. Of the 6 ways to choose 2 of the mid-ranks
// 1, 2.5, 2.5, 4, the sums are 3.5, 3.5, 5, 5, 6.5, 6.5: 4 are as far as 3.5.
func TestMannWhitneyWithTies(t *testing.T) {
	u, p := MannWhitney([]float64{1, 2}, []float64{2, 3})
	require.InDelta(t, .5, u, 1e-12)
	require.InDelta(t, 4./6, p, 1e-12)
	_, p = MannWhitney([]float64{5, 5, 5}, []float64{5, 5, 5})
	require.InDelta(t, 1, p, 1e-12)
}

func TestMannWhitneyOfNothing(t *testing.T) {
	_, p := MannWhitney(nil, []float64{1})
	require.InDelta(t, 1, p, 0)
}

func TestHodgesLehmann(t *testing.T) {
	shift := HodgesLehmann(ramp(0, 10), ramp(5, 10), .95)
	require.InDelta(t, 5, shift.Estimate, 1e-12)
	// The 24th smallest and greatest of the 100 differences.
	require.InDelta(t, 2, shift.Low, 1e-12)
	require.InDelta(t, 8, shift.High, 1e-12)
	small := HodgesLehmann([]float64{1}, []float64{2}, .95)
	require.InDelta(t, 1, small.Estimate, 0)
	require.True(t, math.IsInf(small.Low, -1) && math.IsInf(small.High, 1))
}

// The example: 0.01, 0.04, 0.03 and 0.005 of four tests.
func TestHolm(t *testing.T) {
	require.InDeltaSlice(t, []float64{.03, .06, .06, .02}, Holm([]float64{.01, .04, .03, .005}), 1e-12)
	require.InDeltaSlice(t, []float64{1, 1}, Holm([]float64{.9, .8}), 1e-12)
	require.Empty(t, Holm(nil))
}

func TestMedian(t *testing.T) {
	require.InDelta(t, 2, Median([]float64{3, 1, 2}), 0)
	require.InDelta(t, 2.5, Median([]float64{4, 1, 2, 3}), 0)
	require.True(t, math.IsNaN(Median(nil)))
}
