package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The usual critical values of Student's t, two-sided.
func TestStudentOfThePublishedTable(t *testing.T) {
	for _, row := range []struct {
		freedom int
		t, p    float64
	}{{1, 12.706, .05}, {2, 4.303, .05}, {2, 9.925, .01}, {3, 5.841, .01}, {4, 2.776, .05}, {5, 4.032, .01}, {9, 3.250, .01}, {10, 2.228, .05}, {30, 2.750, .01}, {120, 1.980, .05}} {
		d := float64(row.freedom)
		require.InDelta(t, row.p, studentBeyond(d/(d+row.t*row.t), row.freedom), 3e-5, "%+v", row)
	}
	require.InDelta(t, 1, studentBeyond(1, 7), 1e-12)
	require.Zero(t, studentBeyond(0, 7))
}

// gaussian are values of so many levels, of a standard deviation of 1.
func gaussian(random *rand.Rand, each int, levels ...float64) []float64 {
	var values []float64
	for _, level := range levels {
		for range each {
			values = append(values, level+random.NormFloat64())
		}
	}
	return values
}

// Of values of one level a rise is found as often as it may, and a fall, however many places there are.
func TestLevelsAreNoChance(t *testing.T) {
	const series = 2000
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 5, 10, 40} {
		up, down := 0, 0
		for range series {
			values := gaussian(random, n, 0)
			if found := Levels(values, nil, everyPlace(n), .04, .01); len(found) > 0 {
				if at := found[len(found)-1]; Median(values[at:]) > Median(values[:at]) {
					up++
				} else {
					down++
				}
			}
		}
		t.Logf("%d values: a rise in %d of %d series, a fall in %d", n, up, series, down)
		require.LessOrEqual(t, up, series*5/100)
		require.LessOrEqual(t, down, series*2/100)
		require.Positive(t, up)
	}
}

func everyPlace(n int) (places []int) {
	for i := 1; i < n; i++ {
		places = append(places, i)
	}
	return places
}

func TestLevelsAreFoundWhereTheyAre(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for name, row := range map[string]struct {
		values []float64
		may    []int
		want   []int
	}{
		"a rise":              {gaussian(random, 5, 0, 12), everyPlace(10), []int{5}},
		"a fall":              {gaussian(random, 5, 12, 0), everyPlace(10), []int{5}},
		"a dip":               {gaussian(random, 4, 0, -12, 0), everyPlace(12), []int{4, 8}},
		"stairs":              {gaussian(random, 4, 0, 12, 24, 36), everyPlace(16), []int{4, 8, 12}},
		"the newest":          {append(gaussian(random, 5, 0), 30), everyPlace(6), []int{5}},
		"not where it may be": {gaussian(random, 5, 0, 12), []int{1, 9}, nil},
		"too few":             {[]float64{0, 1, 1000}, everyPlace(3), nil},
		"all alike":           {make([]float64, 8), everyPlace(8), nil},
		"without differences": {[]float64{0, 0, 0, 1}, everyPlace(4), []int{3}},
		"none":                {nil, nil, nil},
		"nowhere":             {gaussian(random, 5, 0, 12), nil, nil},
	} {
		require.Equal(t, row.want, Levels(row.values, nil, row.may, .004, .001), name)
	}
}
