package stats

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// edivisive holds the test statistic of each division of seven series as
// signal-processing-algorithms 2.1.6 from PyPI, MongoDB's E-divisive in Python,
// computes them in _calculate_t_stats.
//
//go:embed testdata/edivisive.jsonl
var edivisive []byte

func TestAgainstSignalProcessingAlgorithms(t *testing.T) {
	lines := bufio.NewScanner(bytes.NewReader(edivisive))
	n := 0
	for ; lines.Scan(); n++ {
		var v struct{ Series, T []float64 }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v))
		require.InDeltaSlice(t, v.T, newDistances(v.Series).differences(), 1e-8)
	}
	require.Equal(t, 7, n)
}

// steps is a series of normal noise of 0.1 around levels, each of so many values.
func steps(seed uint64, each int, levels ...float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 5))
	var series []float64
	for _, level := range levels {
		for range each {
			series = append(series, level+.1*rng.NormFloat64())
		}
	}
	return series
}

func places(changes []Change) []int {
	at := []int{}
	for _, c := range changes {
		at = append(at, c.At)
	}
	return at
}

func TestChangesAreFoundWhereTheyAre(t *testing.T) {
	for name, row := range map[string]struct {
		series []float64
		may    []int
		want   []int
	}{
		"empty":                     {nil, nil, []int{}},
		"one value":                 {[]float64{1}, nil, []int{}},
		"equal values":              {make([]float64, 30), nil, []int{}},
		"flat":                      {steps(2, 30, 0), nil, []int{}},
		"one step":                  {steps(1, 15, 0, 1), nil, []int{15}},
		"up and down again":         {steps(1, 12, 0, 1, 0), nil, []int{12, 24}},
		"too few values to be sure": {steps(1, 2, 0, 1), nil, []int{}},
		"only where it may be":      {steps(3, 15, 0, 1), []int{7, 14, 28}, []int{14}},
		"nowhere":                   {steps(1, 15, 0, 1), []int{}, []int{}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := Changes(t.Context(), row.series, row.may, .01)
			require.Equal(t, row.want, places(changes))
			require.Equal(t, changes, Changes(t.Context(), row.series, row.may, .01), "the same each time")
			for _, c := range changes {
				require.LessOrEqual(t, c.P, .01)
			}
		})
	}
}

// A level that returns is seen as well as one that stays: both its ends, where they are.
func TestALevelThatReturnsIsSeen(t *testing.T) {
	seen := 0
	for i := range uint64(40) {
		if got := places(Changes(t.Context(), steps(i, 12, 0, -.65, 0), nil, .01)); len(got) == 2 && got[0] == 12 && got[1] == 24 {
			seen++
		}
	}
	t.Logf("%d of 40", seen)
	require.GreaterOrEqual(t, seen, 36)
}

// A long series needs fewer shuffles for the same level, and ends when it is told to.
func TestLongSeries(t *testing.T) {
	series := steps(4, 600, 0, .2)
	changes := Changes(t.Context(), series, nil, .01)
	require.Len(t, changes, 1)
	require.InDelta(t, 600, changes[0].At, 5)
	require.InDelta(t, .005, changes[0].P, 1e-9)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Empty(t, Changes(ended, series, nil, .01))
}

// The level is the share of flat series in which a change is seen.
func TestChangesInFlatSeriesAreAsRareAsTheLevel(t *testing.T) {
	seen := 0
	for i := range uint64(400) {
		if len(Changes(t.Context(), steps(i, 20, 0), nil, .05)) > 0 {
			seen++
		}
	}
	t.Logf("%d of 400", seen)
	require.Positive(t, seen)
	require.LessOrEqual(t, seen, 35)
}
