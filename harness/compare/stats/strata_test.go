package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Student's own hours of sleep that ten patients gained with each of two drugs: the published chances of the test of two
// samples, where all are one stratum, and of the paired one, where each patient is.
func TestStrataOfThePublishedSleep(t *testing.T) {
	one := []float64{.7, -1.6, -.2, -1.2, -.1, 3.4, 3.7, .8, 0, 2}
	two := []float64{1.9, .8, 1.1, .1, -.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	shift, p, freedom := Strata([][]float64{one}, [][]float64{two})
	require.InDelta(t, 1.58, shift, 1e-9)
	require.InDelta(t, .07919, p, 5e-6)
	require.Equal(t, 18, freedom)
	var before, after [][]float64
	for i := range one {
		before, after = append(before, one[i:i+1]), append(after, two[i:i+1])
	}
	before, after = append(before, []float64{9}, nil), append(after, nil, nil) // of one drug alone
	shift, p, freedom = Strata(before, after)
	require.InDelta(t, 1.58, shift, 1e-9)
	require.InDelta(t, .002833, p, 5e-7)
	require.Equal(t, 9, freedom)
}

// Too few values, or none that differ, tell nothing.
func TestStrataThatTellNothing(t *testing.T) {
	for _, values := range [][2][][]float64{
		{nil, nil},
		{{{1, 2}}, {nil}},
		{{{1}}, {{9}}},
		{{{1}, {2}}, {{9}, {9}}},
		{{{1, 1}}, {{1, 1}}},
	} {
		_, p, _ := Strata(values[0], values[1])
		require.Equal(t, 1., p, "%v", values)
	}
	_, p, freedom := Strata([][]float64{{1, 1}}, [][]float64{{2, 2}})
	require.Zero(t, p)
	require.Equal(t, 2, freedom)
}

// Strata of one level err as often as they may, however far apart they are.
func TestStrataAreNoChance(t *testing.T) {
	const series = 4000
	random := rand.New(rand.NewPCG(3, 4))
	found := 0
	for range series {
		var before, after [][]float64
		for _, n := range [][2]int{{1, 1}, {5, 1}, {2, 6}, {0, 3}} {
			level := 10 * random.NormFloat64()
			before, after = append(before, gaussian(random, n[0], level)), append(after, gaussian(random, n[1], level))
		}
		if _, p, _ := Strata(before, after); p <= .05 {
			found++
		}
	}
	t.Logf("found in %d of %d", found, series)
	require.InDelta(t, .05, float64(found)/series, .01)
}
