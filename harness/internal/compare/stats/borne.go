package stats

import "slices"

// Borne returns by how much values rise at a place, by least squares beside the changes at other places, the levels of the
// strata and what is in proportion to other quantities, beside[k][i]; and the chance of a rise, or of a fall where it is one,
// in values that have none: the greatest of those that there are with any one value left out, so that no change is that of
// one value. It is 1 where they do not tell the change from the rest, or where a single value does.
//
// A value left out is a quantity that it alone has, so each takes but the projection of one more (Cook 1977).
func Borne(values []float64, strata []int, beside [][]float64, others []int, at int) (rise, p float64) {
	m := newModel(values, strata)
	for _, q := range beside {
		m = m.along(q)
	}
	for _, other := range others {
		if other != at {
			m = m.with(other)
		}
	}
	change := m.added(at)
	size := dot(change, change)
	if size <= leastSize {
		return 0, 1
	}
	inCommon := dot(change, m.rest)
	rise = inCommon / size
	beyond := func(left, inCommon, size float64, freedom int) float64 {
		switch {
		case size <= leastSize || freedom < 1 || inCommon*rise <= 0:
			return 1
		case left <= m.none:
			return 0
		}
		return studentBeyond(max(left-inCommon*inCommon/size, 0)/left, freedom) / 2
	}
	p = beyond(m.left, inCommon, size, m.freedom(1))
	for i, s := range m.strata {
		own := 1 - 1/m.sizes[s]
		for _, b := range m.basis {
			own -= b[i] * b[i]
		}
		if own <= leastSize { // the rest tells nothing of this value
			continue
		}
		p = max(p, beyond(m.left-m.rest[i]*m.rest[i]/own, inCommon-change[i]*m.rest[i]/own, size-change[i]*change[i]/own, m.freedom(2)))
	}
	return rise, p
}

// along is the model with a quantity to which values are in proportion.
func (m *model) along(quantity []float64) *model {
	means := make([]float64, len(m.sizes))
	for i, s := range m.strata {
		means[s] += quantity[i] / m.sizes[s]
	}
	q := slices.Clone(quantity)
	for i, s := range m.strata {
		q[i] -= means[s]
	}
	next := m.beside(q)
	if len(next.basis) > len(m.basis) {
		next.quantities++
	}
	return next
}

// Steepest is the one of places, which ascend, from which on values are greater, or less where falls, by what explains most
// of the squares that the strata leave; -1 if they are so from none on.
func Steepest(values []float64, strata, places []int, falls bool) int {
	best, most := -1, 0.
	rise, size := newModel(values, strata).direction(places)
	for k, place := range places {
		if size[k] > 0 && rise[k] != 0 && rise[k] < 0 == falls && rise[k]*rise[k]/size[k] > most {
			best, most = place, rise[k]*rise[k]/size[k]
		}
	}
	return best
}
