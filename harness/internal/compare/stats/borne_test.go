package stats_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
)

// interleave has the values of both sides of each stratum in the order of the sides, as the places want it.
func interleave(strata int, sides ...int) (stratum []int, order []float64, second int) {
	for side := range 2 {
		if side == 1 {
			second = len(stratum)
		}
		for s := range strata {
			for k, of := range sides {
				if of == side {
					stratum, order = append(stratum, s), append(order, float64(k))
				}
			}
		}
	}
	return stratum, order, second
}

func TestBorne(t *testing.T) {
	for name, row := range map[string]struct {
		strata int
		sides  []int
		value  func(side float64, order float64, i int) float64
		beside bool
		rise   float64
		least  float64
		most   float64
	}{
		"a rise":                        {4, []int{0, 1, 1, 0}, func(side, _ float64, _ int) float64 { return side }, true, 1, 0, .001},
		"a fall":                        {4, []int{0, 1, 1, 0}, func(side, _ float64, _ int) float64 { return -side }, true, -1, 0, .001},
		"of one value":                  {4, []int{0, 1, 0, 1}, func(_, _ float64, i int) float64 { return map[bool]float64{true: 9}[i == 9] }, false, 1.125, .05, 1},
		"one value of the other side":   {4, []int{0, 1, 0, 1}, func(_, _ float64, i int) float64 { return map[bool]float64{true: 9}[i == 0] }, false, -1.125, .05, 1},
		"one pair":                      {1, []int{0, 1}, func(side, _ float64, _ int) float64 { return side }, false, 1, 1, 1},
		"the order, which is the side":  {8, []int{0, 1}, func(side, _ float64, _ int) float64 { return side }, true, 0, 1, 1},
		"the same, unasked":             {8, []int{0, 1}, func(side, _ float64, _ int) float64 { return side }, false, 1, 0, .001},
		"what rises with the order":     {6, []int{0, 0, 0, 1, 1, 1}, func(_, order float64, _ int) float64 { return order }, true, 0, .001, 1},
		"more than rises with it":       {6, []int{0, 0, 0, 1, 1, 1}, func(side, order float64, _ int) float64 { return side + order }, true, 1, 0, .001},
		"strata that are far from each": {6, []int{0, 1, 0, 1}, func(side, _ float64, i int) float64 { return side + 100*float64(i%12/2) }, false, 1, 0, .001},
	} {
		t.Run(name, func(t *testing.T) {
			strata, order, second := interleave(row.strata, row.sides...)
			random := rand.New(rand.NewPCG(4, 2))
			var values []float64
			for i := range strata {
				side := 0.
				if i >= second {
					side = 1
				}
				values = append(values, row.value(side, order[i], i)+.01*random.NormFloat64())
			}
			var beside [][]float64
			if row.beside {
				beside = [][]float64{order}
			}
			rise, p := stats.Borne(values, strata, beside, []int{second}, second)
			require.InDelta(t, row.rise, rise, .03)
			require.GreaterOrEqual(t, p, row.least)
			require.LessOrEqual(t, p, row.most)
		})
	}
}

// Leaving a value out is what it is to have never had it.
func TestBorneIsThatOfTheWorstWithoutOne(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 15))
	for range 50 {
		strata, order, second := interleave(3+random.IntN(3), 0, 1, 1, 0, 1)
		var values []float64
		for i := range strata {
			values = append(values, random.NormFloat64()+map[bool]float64{true: 1}[i >= second])
		}
		_, want := inFull(values, strata, order, second)
		for i := range values {
			at := second
			if i < second {
				at--
			}
			without := func(v []float64) []float64 { return slices.Delete(slices.Clone(v), i, i+1) }
			if rise, p := inFull(without(values), slices.Delete(slices.Clone(strata), i, i+1), without(order), at); rise > 0 {
				want = max(want, p)
			} else {
				want = 1
			}
		}
		rise, p := stats.Borne(values, strata, [][]float64{order}, nil, second)
		if rise > 0 {
			require.InDelta(t, want, p, 1e-9)
		}
	}
}

// inFull solves the normal equations of the strata, the order and the change, and returns the rise and half the chance of
// its t by Simpson's rule over the density of Student.
func inFull(values []float64, strata []int, order []float64, at int) (rise, p float64) {
	n, k := len(values), slices.Max(strata)+3
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, k)
		rows[i][strata[i]], rows[i][k-2] = 1, order[i]
		if i >= at {
			rows[i][k-1] = 1
		}
	}
	a := make([][]float64, k)
	for r := range a {
		a[r] = make([]float64, 2*k+1)
		a[r][k+1+r] = 1
		for i, row := range rows {
			for c := range k {
				a[r][c] += row[r] * row[c]
			}
			a[r][k] += row[r] * values[i]
		}
	}
	for c := range k {
		pivot := c
		for r := c; r < k; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[pivot][c]) {
				pivot = r
			}
		}
		a[c], a[pivot] = a[pivot], a[c]
		for r := range k {
			if r == c {
				continue
			}
			times := a[r][c] / a[c][c]
			for j := range a[r] {
				a[r][j] -= times * a[c][j]
			}
		}
	}
	left := 0.
	for i, row := range rows {
		v := values[i]
		for c := range k {
			v -= row[c] * a[c][k] / a[c][c]
		}
		left += v * v
	}
	rise = a[k-1][k] / a[k-1][k-1]
	freedom := float64(n - k)
	student := math.Abs(rise) / math.Sqrt(left/freedom*a[k-1][2*k]/a[k-1][k-1])
	density := func(x float64) float64 { return math.Pow(1+x*x/freedom, -(freedom+1)/2) }
	up, _ := math.Lgamma((freedom + 1) / 2)
	down, _ := math.Lgamma(freedom / 2)
	scale, sum := math.Exp(up-down)/math.Sqrt(freedom*math.Pi), 0.
	const steps = 4000
	for i := range steps {
		x := student * float64(i) / steps
		h := student / steps
		sum += h / 6 * (density(x) + 4*density(x+h/2) + density(x+h))
	}
	return rise, .5 - scale*sum
}
