package stats

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// mean returns the statistic that averages a series.
func mean(series []float64) func([]int) []float64 {
	return func(places []int) []float64 {
		sum := 0.0
		for _, p := range places {
			sum += series[p]
		}
		return []float64{sum / float64(len(places))}
	}
}

// Of independent values, the interval of the mean covers the true mean nearly as
// often as it says; a block of 1 is the common bootstrap.
func TestBlockBootstrapCoversTheMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	covered := 0
	for range 200 {
		series := make([]float64, 40)
		for i := range series {
			series[i] = rng.NormFloat64()
		}
		interval := BlockBootstrap(len(series), 1, .95, mean(series))[0]
		if interval.Low <= 0 && 0 <= interval.High {
			covered++
		}
	}
	require.InDelta(t, 188, covered, 10)
}

// Where neighbours are alike, blocks give the wider interval that they deserve.
func TestBlocksKeepWhatNeighboursHaveInCommon(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	series := make([]float64, 60)
	level := 0.0
	for i := range series {
		level = .8*level + rng.NormFloat64()
		series[i] = level
	}
	single := BlockBootstrap(len(series), 1, .95, mean(series))[0]
	blocks := BlockBootstrap(len(series), 10, .95, mean(series))[0]
	require.Greater(t, blocks.High-blocks.Low, 1.3*(single.High-single.Low))
}

func TestBlockBootstrapPlaces(t *testing.T) {
	seen := map[int]bool{}
	intervals := BlockBootstrap(7, 3, .9, func(places []int) []float64 {
		require.Len(t, places, 7)
		for i, p := range places {
			seen[p] = true
			if i%3 > 0 {
				require.Equal(t, (places[i-1]+1)%7, p, "a block is made of neighbours")
			}
		}
		return []float64{1, float64(slices.Max(places))}
	})
	require.Len(t, seen, 7)
	require.Equal(t, Interval{1, 1}, intervals[0])
	require.Equal(t, intervals, BlockBootstrap(7, 3, .9, func(places []int) []float64 { return []float64{1, float64(slices.Max(places))} }))
	require.Nil(t, BlockBootstrap(5, 3, .9, nil), "less than two blocks")
	require.Nil(t, BlockBootstrap(5, 0, .9, nil))
}
