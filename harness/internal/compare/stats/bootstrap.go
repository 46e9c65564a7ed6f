package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how many a bootstrap draws: the ends of a 95 % interval then stand
// on 25 values each.
const resamples = 1000

// Interval is where a figure lies with the confidence that was asked for.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// BlockBootstrap returns, for each figure that statistic computes, the interval
// that holds the middle share confidence (such as 0.95) of its values on resamples
// of a series of n. A resample is made of blocks of neighbours, the last followed
// by the first (Politis and Romano 1992), so that what neighbours have in common is
// kept; statistic gets the places it is made of. It is repeatable: the draws are
// the same at every call. It is nil unless there are at least two blocks.
func BlockBootstrap(n, block int, confidence float64, statistic func(places []int) []float64) []Interval {
	if block < 1 || n < 2*block {
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(n), uint64(block)))
	places := make([]int, 0, n+block)
	var figures [][]float64
	for range resamples {
		places = places[:0]
		for len(places) < n {
			first := rng.IntN(n)
			for i := range block {
				places = append(places, (first+i)%n)
			}
		}
		for i, v := range statistic(places[:n]) {
			if i == len(figures) {
				figures = append(figures, nil)
			}
			figures[i] = append(figures[i], v)
		}
	}
	intervals := make([]Interval, len(figures))
	for i, values := range figures {
		slices.Sort(values)
		out := int(math.Round((1 - confidence) / 2 * float64(len(values))))
		intervals[i] = Interval{values[out], values[len(values)-1-out]}
	}
	return intervals
}
