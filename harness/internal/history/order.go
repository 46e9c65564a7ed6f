package history

import (
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
)

// This file answers: may a change be what each sitting does to its first, later or last runs, or a single run?

// orderless is the level for what a change is beside the order within sittings, without any one run.
const orderless = .01

// besideOrder are the changes at points that the runs of the sittings tell, whichever of them is left out, from what comes of the
// order within sittings: of the shapes that it may have each by itself, and, where a version has one run in each sitting and
// both sides never take turns, of any shape.
func (c *contrasts) besideOrder(at []int) (told []int) {
	firsts, shifts := units{point: c.point}.firsts(at), c.shifts(at)
	for i, place := range at {
		explained := c.shapes()
		if c.isInOneOrder(firsts[i]) {
			explained = append(explained, c.places())
		}
		is := true
		for _, by := range explained {
			rise, p := stats.Borne(c.values, c.sitting, by, firsts, firsts[i])
			is = is && p <= orderless && rise*shifts[i] > 0
		}
		if is {
			told = append(told, place)
		} else {
			c.unborne = append(c.unborne, place)
		}
	}
	return told
}

// shapes are what sittings may do to their runs by the order of these: slow down from run to run, ever more, or settle,
// and to the first and the last one by itself.
func (c *contrasts) shapes() (shapes [][][]float64) {
	last := map[int]float64{}
	for i, n := range c.sitting {
		last[n] = max(last[n], c.order[i])
	}
	forms := []func(order, last float64) float64{
		func(order, _ float64) float64 { return order },
		func(order, _ float64) float64 { return order * order },
		func(order, _ float64) float64 { return 1 / (1 + order) },
		func(order, _ float64) float64 { return math.Log1p(order) },
		func(order, _ float64) float64 { return one(order == 0) },
	}
	if len(last) > 1 { // in one sitting it is a run that may as well be left out
		forms = append(forms, func(order, last float64) float64 { return one(order == last) })
	}
	for _, of := range forms {
		var shape []float64
		for i, n := range c.sitting {
			shape = append(shape, of(c.order[i], last[n]))
		}
		shapes = append(shapes, [][]float64{shape})
	}
	return shapes
}

// places are one quantity for each place in the order of sittings but the first.
func (c *contrasts) places() (places [][]float64) {
	for k := 1.; k <= slices.Max(c.order); k++ {
		var place []float64
		for _, order := range c.order {
			place = append(place, one(order == k))
		}
		places = append(places, place)
	}
	return places
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// isInOneOrder reports whether of the sittings that have runs from before a first run and since hardly any has one of those
// since before one of the others, or two of a point on either side; in a single
// sitting on one side is enough.
func (c *contrasts) isInOneOrder(first int) bool {
	type made struct{ sitting, point int }
	runs, several, before, since := map[made]int{}, map[int][2]bool{}, map[int]float64{}, map[int]float64{}
	for i, n := range c.sitting {
		m := made{n, c.point[i]}
		if runs[m]++; runs[m] > 1 {
			sides := several[n]
			sides[int(one(i >= first))] = true
			several[n] = sides
		}
		if i < first {
			before[n] = max(before[n], 1+c.order[i])
		} else if at, there := since[n]; !there || 1+c.order[i] < at {
			since[n] = 1 + c.order[i]
		}
	}
	both, mixed := 0, 0
	for n, at := range since {
		if before[n] == 0 {
			continue
		}
		both++
		sides := several[n]
		if before[n] > at || sides[0] && sides[1] || len(since) == 1 && (sides[0] || sides[1]) {
			mixed++
		}
	}
	return hardlyAny*mixed < both
}

// hardlyAny is one in how many.
const hardlyAny = 4

// isOfMany reports whether the sittings show a change at a point whichever run is left out.
func (c *contrasts) isOfMany(at int) bool {
	_, p := stats.Borne(c.values, c.sitting, nil, nil, units{point: c.point}.first(at))
	return p <= orderless
}
