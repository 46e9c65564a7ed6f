package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// stepsOf are the places alone.
func stepsOf(t *testing.T, series []float64, may []int, up, down float64) (at []int) {
	t.Helper()
	for _, s := range Steps(t.Context(), series, nil, may, up, down, .01) {
		at = append(at, s.At)
	}
	return at
}

func TestStepsAreFoundByRanks(t *testing.T) {
	// level repeats values, a little apart, so that none is a tie.
	level := func(values ...float64) (series []float64) {
		for i, v := range values {
			for k := range 10 {
				series = append(series, v+float64((i+3*k)%10)/100)
			}
		}
		return series
	}
	require.Equal(t, []int{10}, stepsOf(t, level(1, 2), nil, .025, .025))
	require.Equal(t, []int{10, 20}, stepsOf(t, level(2, 1, 3), nil, .025, .025))
	require.Empty(t, stepsOf(t, level(1, 1, 1), nil, .025, .025))
	require.Empty(t, stepsOf(t, level(1, 2), nil, 0, .05), "no rise is looked for")
	require.Equal(t, []int{12}, stepsOf(t, level(1, 2), []int{12}, .025, .025), "at what is one point only")
	require.Empty(t, stepsOf(t, nil, nil, .025, .025))
	require.Empty(t, stepsOf(t, []float64{1}, nil, .025, .025))
	far := level(1, 1)
	far[15] = 1e9
	require.Empty(t, stepsOf(t, far, nil, .025, .025), "one value that is far off is but one")
}

// Where there is no step, rises and falls are as rare as was asked for, ties or none.
func TestStepsAreNoChance(t *testing.T) {
	const series = 1000
	rng := rand.New(rand.NewPCG(1, 1))
	for name, value := range map[string]func() float64{
		"rare":  func() float64 { return float64(rng.IntN(10) / 9) },
		"heavy": func() float64 { return 1 / rng.Float64() },
	} {
		rises, falls := 0, 0
		for range series {
			values := make([]float64, 30)
			for i := range values {
				values[i] = value()
			}
			steps := Steps(t.Context(), values, nil, nil, .04, .01, 0)
			if len(steps) == 0 {
				continue
			}
			if u, _ := MannWhitney(values[steps[0].At:], values[:steps[0].At]); u > float64(steps[0].At*(30-steps[0].At))/2 {
				rises++
			} else {
				falls++
			}
		}
		t.Logf("%s: %d rises, %d falls of %d", name, rises, falls, series)
		require.LessOrEqual(t, rises, 55, name) // 40, and three times the root of that
		require.LessOrEqual(t, falls, 20, name)
	}
}
