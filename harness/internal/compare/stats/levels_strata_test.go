package stats

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// One value of each side in every stratum is the paired test: of the hours of sleep that Student published in 1908 the
// difference is 1.58, with p = 0.0028.
func TestLevelsOfPairsAreThePairedTest(t *testing.T) {
	values := []float64{
		0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0,
		1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4,
	}
	var strata []int
	for i := range values {
		strata = append(strata, i%10)
	}
	require.InDeltaSlice(t, []float64{1.58}, Shifts(values, strata, []int{10}), 1e-9)
	require.Equal(t, []int{10}, Levels(values, strata, []int{10}, .02, .02))
	require.Empty(t, Levels(values, strata, []int{10}, .0005, .0005))
	require.Empty(t, Levels(values, nil, []int{10}, .02, .02), "without the pairs it is no difference: p = 0.079")
}

// What all values of a stratum are off by makes no change, and hides none.
func TestStrataFallOut(t *testing.T) {
	const series, each, level = 400, 4, .05
	random := rand.New(rand.NewPCG(11, 12))
	flat, steps, found := 0, 0, 0
	for range series {
		var values, raised []float64
		var strata, may []int
		for point := range 6 {
			if point > 0 {
				may = append(may, len(values))
			}
			for stratum := range 3 {
				off := 20 * float64(stratum*stratum)
				for range each {
					v := off + random.NormFloat64()
					values, strata = append(values, v), append(strata, stratum)
					if point >= 3 {
						v += 3
					}
					raised = append(raised, v)
				}
			}
		}
		if len(Levels(values, strata, may, level/2, level/2)) > 0 {
			flat++
		}
		if len(Steps(context.Background(), values, strata, may, level/2, level/2, 0)) > 0 {
			steps++
		}
		at := Levels(raised, strata, may, level/2, level/2)
		if len(at) == 1 && at[0] == may[2] {
			found++
		}
	}
	t.Logf("of %d flat series %d have levels, and %d steps; a rise by three standard deviations is placed in %d", series, flat, steps, found)
	require.LessOrEqual(t, flat, series*8/100)
	require.LessOrEqual(t, steps, series*8/100)
	require.GreaterOrEqual(t, found, series*90/100)
}
