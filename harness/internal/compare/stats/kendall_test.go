package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The chance that S is as great or greater, as in Kendall's table (Rank Correlation
// Methods, appendix table 1), doubled for both sides.
func TestKendallOfThePublishedTable(t *testing.T) {
	for _, row := range []struct {
		series []float64
		s      int
		upper  float64
	}{
		{[]float64{1, 2, 3, 4}, 6, .042},
		{[]float64{1, 2, 4, 3}, 4, .167},
		{[]float64{1, 2, 3, 4, 5}, 10, .0083},
		{[]float64{2, 1, 3, 4, 5}, 8, .042},
		{[]float64{1, 2, 3, 4, 5, 6}, 15, .0014},
		{[]float64{6, 5, 4, 3, 1, 2}, -13, .0083},
		{[]float64{1, 2, 3, 4, 5, 8, 7, 6}, 22, .0028},
	} {
		s, p := Kendall(row.series)
		require.Equal(t, row.s, s, "%v", row.series)
		require.InDelta(t, 2*row.upper, p, .001, "%v", row.series)
	}
	for _, nothing := range [][]float64{nil, {1}, {3, 3, 3, 3}} {
		s, p := Kendall(nothing)
		require.Zero(t, s)
		require.InDelta(t, 1, p, 1e-12)
	}
}

// In random order the p-value is below any level no more often than that level says.
func TestKendallKeepsItsLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	alarms := 0
	for range 2000 {
		series := make([]float64, 10)
		for i := range series {
			series[i] = rng.Float64()
		}
		if _, p := Kendall(series); p <= .05 {
			alarms++
		}
	}
	require.LessOrEqual(t, alarms, 130)
	require.Greater(t, alarms, 40)
}
