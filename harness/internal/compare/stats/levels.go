package stats

import (
	"math"
	"slices"
)

// LeastFreedom is how many degrees of freedom it takes to tell anything by the t of Student: with one, nothing but a
// factor of hundreds would tell.
const LeastFreedom = 2

// Levels returns at which of the places the level of values changes by more than they differ by between the changes, in
// ascending order. It is for few values, each of which stands for many: their differences are taken to be normal, and as
// great on every level, so that four of a level and one beside it are enough for a great change.
//
// Values that were made under the same conditions share a stratum, strata[i], which has a level of its own that falls out:
// a change is then what the strata show that have values of both sides, whatever the others are like. Nil is one stratum
// for all. One value of each side in every stratum is the paired test, and one stratum the test of two samples.
//
// In values of one level it finds a rise with the probability up at most, and a fall with down, whichever of the places
// may names: half of that is for the last of them, a quarter for the others, by Bonferroni, and a quarter for two
// changes at once, such as a dip has, which hide each other. What explains most of the squares is taken first, by an F
// test, and then what explains most of the rest; each change that is taken is in the end at its level beside the others.
// With n values in s strata and k changes there are n−s−k degrees of freedom, and nothing is taken with fewer than two.
//
// The places are the first values of what is one to the caller, and must ascend.
func Levels(values []float64, strata, may []int, up, down float64) []int {
	if len(may) == 0 {
		return nil
	}
	s := &search{model: newModel(values, strata), may: may, up: up, down: down}
	m := s.model
	for next := s.next(m); next != nil; next = s.next(m) {
		for _, at := range next {
			m = m.with(at)
		}
	}
	for len(m.at) > 0 {
		var without *model
		least := -1
		for i := range m.at {
			others := newModel(values, strata)
			for k, at := range m.at {
				if k != i {
					others = others.with(at)
				}
			}
			if without == nil || others.left < without.left {
				without, least = others, m.at[i]
			}
		}
		if s.isNoChance(without, least, 1) {
			break
		}
		m = without
	}
	slices.Sort(m.at)
	return m.at
}

// Shifts returns by how much the values rise at each of the places, as the strata show that have values of both sides:
// the least squares beside each other and the levels of the strata. Where none shows it, the shift is 0.
func Shifts(values []float64, strata, at []int) []float64 {
	shifts := make([]float64, len(at))
	for i, place := range at {
		m := newModel(values, strata)
		for _, other := range at {
			if other != place {
				m = m.with(other)
			}
		}
		rise, size := m.direction([]int{place})
		if size[0] > 0 {
			shifts[i] = rise[0] / size[0]
		}
	}
	return shifts
}

// model is what the strata and the changes at some places leave of values.
type model struct {
	strata []int
	sizes  []float64 // of the strata
	at     []int
	// quantities is how many directions of the basis are no changes.
	quantities int
	// rest is what is left of each value, left the sum of its squares, and none so little that it is rounding.
	rest       []float64
	left, none float64
	// basis are orthonormal: what each change adds to the strata and the changes before it.
	basis [][]float64
}

func newModel(values []float64, strata []int) *model {
	if strata == nil {
		strata = make([]int, len(values))
	}
	m := &model{strata: strata}
	var sums []float64
	for i, v := range values {
		for strata[i] >= len(sums) {
			sums, m.sizes = append(sums, 0), append(m.sizes, 0)
		}
		sums[strata[i]] += v
		m.sizes[strata[i]]++
	}
	for i, v := range values {
		m.rest = append(m.rest, v-sums[strata[i]]/m.sizes[strata[i]])
	}
	m.left = dot(m.rest, m.rest)
	m.none = 1e-12 * m.left
	return m
}

// freedom is how many degrees there are beside so many more changes.
func (m *model) freedom(more int) int {
	n := len(m.rest) - len(m.at) - m.quantities - more
	for _, size := range m.sizes {
		if size > 0 {
			n--
		}
	}
	return n
}

// leastSize is that of a change that strata and other changes do not account for.
const leastSize = 1e-9

// with is the model with one more change.
func (m *model) with(at int) *model {
	next := m.beside(m.centred(at))
	next.at = append(slices.Clone(m.at), at)
	return next
}

// centred is a change at a place, less the levels of the strata.
func (m *model) centred(at int) []float64 {
	after := make([]float64, len(m.sizes))
	for _, s := range m.strata[at:] {
		after[s]++
	}
	q := make([]float64, len(m.rest))
	for i, s := range m.strata {
		q[i] = -after[s] / m.sizes[s]
		if i >= at {
			q[i]++
		}
	}
	return q
}

// added is what a change at a place adds to the strata and the basis.
func (m *model) added(at int) []float64 {
	return m.freed(m.centred(at))
}

// freed takes from q what it has in common with the basis.
func (m *model) freed(q []float64) []float64 {
	for _, b := range m.basis {
		subtract(q, dot(q, b), b)
	}
	return q
}

// beside is the model with one more direction, which has no part in the levels of the strata, unless it has it already.
func (m *model) beside(q []float64) *model {
	next := *m
	q = m.freed(q)
	size := dot(q, q)
	if size <= leastSize {
		return &next
	}
	for i := range q {
		q[i] /= math.Sqrt(size)
	}
	next.rest = slices.Clone(m.rest)
	subtract(next.rest, dot(m.rest, q), q)
	if next.left = dot(next.rest, next.rest); next.left <= m.none {
		next.left = 0
	}
	next.basis = append(slices.Clone(m.basis), q)
	return &next
}

// direction is, for each of the places, which ascend, what a change there has in common with what is left, and what
// squares of it the strata and the other changes leave: 0 where these account for all of it.
func (m *model) direction(places []int) (rise, size []float64) {
	rise, size = make([]float64, len(places)), make([]float64, len(places))
	after := make([]float64, len(m.sizes))
	inBasis := make([]float64, len(m.basis))
	sum, squares, end := 0., 0., len(m.rest)
	for k := len(places) - 1; k >= 0; k-- {
		for i := end - 1; i >= places[k]; i-- {
			s := m.strata[i]
			squares += (m.sizes[s] - 2*after[s] - 1) / m.sizes[s]
			after[s]++
			sum += m.rest[i]
			for j, b := range m.basis {
				inBasis[j] += b[i]
			}
		}
		end = places[k]
		if rest := squares - dot(inBasis, inBasis); rest > leastSize {
			rise[k], size[k] = sum, rest
		}
	}
	return rise, size
}

// inCommon is what the changes at each of the places up to one, which ascend, and at that one have in common.
func (m *model) inCommon(places []int) []float64 {
	last := places[len(places)-1]
	shares := make([]float64, len(m.sizes)) // of each stratum that is behind the last
	inBasis := make([]float64, len(m.basis))
	for i := last; i < len(m.rest); i++ {
		shares[m.strata[i]] += 1 / m.sizes[m.strata[i]]
		for j, b := range m.basis {
			inBasis[j] += b[i]
		}
	}
	common := make([]float64, len(places))
	sum, from := 0., 0
	for k, place := range places {
		for i := from; i < place; i++ {
			sum += shares[m.strata[i]]
			for j, b := range m.basis {
				sum += b[i] * inBasis[j] // the basis is centred: what is before a place is what is behind it, less than 0
			}
		}
		from, common[k] = place, sum
	}
	return common
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func subtract(from []float64, times float64, b []float64) {
	for i := range from {
		from[i] -= times * b[i]
	}
}

// search looks for changes at some places.
type search struct {
	model    *model
	may      []int
	up, down float64
}

// chance is that of a change, or two, explaining as much of the squares that a model leaves.
func chance(m *model, explained float64, changes int) float64 {
	freedom := m.freedom(changes)
	if freedom < LeastFreedom || m.left == 0 {
		return 1
	}
	left := m.left - explained
	if left <= m.none {
		left = 0
	}
	if changes == 2 {
		return math.Pow(left/m.left, float64(freedom)/2)
	}
	return studentBeyond(left/m.left, freedom)
}

// isNoChance reports whether a change beside those of a model is at the level of its direction over the number of places.
func (s *search) isNoChance(m *model, at int, places float64) bool {
	rise, size := m.direction([]int{at})
	if size[0] == 0 {
		return false
	}
	level := s.up
	if rise[0] < 0 {
		level = s.down
	}
	return chance(m, rise[0]*rise[0]/size[0], 1)/2*places <= level
}

// mostPairs is of how many places each two are looked at; of more, of as many that lie as far apart.
const mostPairs = 200

// next is the next change to one of a model, or two, nil if that is chance.
func (s *search) next(m *model) []int {
	rise, size := m.direction(s.may)
	best, most := -1, 0.
	for k := range s.may {
		if size[k] > 0 && rise[k]*rise[k]/size[k] > most {
			best, most = k, rise[k]*rise[k]/size[k]
		}
	}
	last, others := len(s.may)-1, float64(len(s.may)-1)
	switch {
	case best < 0:
		return nil
	case best != last && s.isNoChance(m, s.may[best], 4*others):
		return []int{s.may[best]}
	case size[last] > 0 && s.isNoChance(m, s.may[last], 2):
		return []int{s.may[last]}
	}
	two, most := s.two(m, rise, size)
	if two != nil && chance(m, most, 2)*4*others*(others+1)/2 <= s.up+s.down {
		return two
	}
	return nil
}

// two are the places of the two changes that explain most together, and how much that is.
func (s *search) two(m *model, rise, size []float64) (two []int, most float64) {
	step := 1 + (len(s.may)-1)/mostPairs
	for k := step; k < len(s.may); k += step {
		common := m.inCommon(s.may[:k+1])
		for i := 0; i < k; i += step {
			rest := size[i]*size[k] - common[i]*common[i]
			if rest <= leastSize*size[i]*size[k] || size[i] == 0 || size[k] == 0 {
				continue
			}
			explained := (rise[i]*rise[i]*size[k] + rise[k]*rise[k]*size[i] - 2*rise[i]*rise[k]*common[i]) / rest
			if explained > most {
				two, most = []int{s.may[i], s.may[k]}, explained
			}
		}
	}
	return two, most
}

// studentBeyond is the chance that the t of Student with so many degrees of freedom d is as far from 0, either way, as
// the one for which d/(d+t²) is the share: the incomplete beta function of d/2 and ½.
func studentBeyond(share float64, freedom int) float64 {
	rest := math.Sqrt(1 - share)
	a, p, power := 1., 1-rest, share // for 2 degrees: a is half of them, power the share to the a
	beta := 2.                       // the complete one of a and ½
	if freedom%2 == 1 {
		a, p, power, beta = .5, 2/math.Pi*math.Asin(math.Sqrt(share)), math.Sqrt(share), math.Pi
	}
	for ; a < float64(freedom)/2; a++ {
		p -= power * rest / (a * beta)
		power *= share
		beta *= a / (a + .5)
	}
	return max(p, 0)
}
