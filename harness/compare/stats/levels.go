package stats

import (
	"math"
	"slices"
)

// Levels returns at which of the places the level of values changes by more than they differ by between the changes, in
// ascending order. It is for few values, each of which stands for many: their differences are taken to be normal, and as
// great on every level, so that four of a level and one beside it are enough for a great change.
//
// In values of one level it finds a rise with the probability up at most, and a fall with down, whichever of the places
// may names: half of that is for the last value, a quarter for the places before it, by Bonferroni, and a quarter for two
// changes at once, such as a dip has, which hide each other. What explains most of the squares is taken first, by an F
// test, and then what explains most of the rest; each change that is taken is in the end at its level beside the others.
// With n values and k changes there are n−k−1 degrees of freedom, and nothing is taken with fewer than two.
//
// The places are the first values of what is one to the caller, and must ascend.
func Levels(values []float64, may []int, up, down float64) []int {
	s := newSquares(values)
	s.up, s.down = up, down
	var taken []int
	for {
		next := s.next(taken, may)
		if next == nil {
			break
		}
		taken = next
	}
	for len(taken) > 0 {
		least, left := -1, math.Inf(1)
		for i := range taken {
			if without := s.left(slices.Delete(slices.Clone(taken), i, i+1)); without < left {
				least, left = i, without
			}
		}
		if s.isNoChance(taken[least], slices.Delete(slices.Clone(taken), least, least+1), 1) {
			break
		}
		taken = slices.Delete(taken, least, least+1)
	}
	return taken
}

// squares adds up the squares of the differences of values to the mean of their level.
type squares struct {
	// sums and ofSquares are those of the values before a place.
	sums, ofSquares []float64
	// none is so little that it is rounding.
	none     float64
	up, down float64
}

func newSquares(values []float64) *squares {
	mean := 0.
	for _, v := range values {
		mean += v / float64(len(values))
	}
	s := &squares{sums: []float64{0}, ofSquares: []float64{0}}
	for i, v := range values {
		s.sums = append(s.sums, s.sums[i]+v-mean)
		s.ofSquares = append(s.ofSquares, s.ofSquares[i]+(v-mean)*(v-mean))
	}
	s.none = 1e-12 * s.ofSquares[len(values)]
	return s
}

// left are the squares that are left with the changes at places.
func (s *squares) left(places []int) float64 {
	from, left := 0, 0.
	for i := 0; i <= len(places); i++ {
		to := len(s.sums) - 1
		if i < len(places) {
			to = places[i]
		}
		sum := s.sums[to] - s.sums[from]
		left += s.ofSquares[to] - s.ofSquares[from] - sum*sum/float64(to-from)
		from = to
	}
	if left <= s.none {
		return 0
	}
	return left
}

// chance is that of so many of the changes at places leaving as few of the squares that there are without them.
func (s *squares) chance(without float64, places []int, more int) float64 {
	freedom := len(s.sums) - 2 - len(places)
	if freedom < LeastFreedom || without == 0 {
		return 1
	}
	share := s.left(places) / without
	if more == 2 {
		return math.Pow(share, float64(freedom)/2)
	}
	return studentBeyond(share, freedom)
}

// isNoChance reports whether the change at a place, beside the others, is at the level of its direction over the
// number of places.
func (s *squares) isNoChance(at int, others []int, places float64) bool {
	all := slices.Sorted(slices.Values(append(slices.Clone(others), at)))
	level := s.up
	if i := slices.Index(all, at); s.mean(all, i+1) < s.mean(all, i) {
		level = s.down
	}
	return s.chance(s.left(others), all, 1)/2*places <= level
}

// mean is that of the ith level between places.
func (s *squares) mean(places []int, i int) float64 {
	from, to := 0, len(s.sums)-1
	if i > 0 {
		from = places[i-1]
	}
	if i < len(places) {
		to = places[i]
	}
	return (s.sums[to] - s.sums[from]) / float64(to-from)
}

// next are the changes with the next one, or two, nil if that is chance.
func (s *squares) next(taken, may []int) []int {
	rest := slices.DeleteFunc(slices.Clone(may), func(at int) bool { return slices.Contains(taken, at) })
	with := func(more ...int) []int {
		return slices.Sorted(slices.Values(append(slices.Clone(taken), more...)))
	}
	last, best := len(s.sums)-2, 0
	var two []int
	leftByOne, leftByTwo := math.Inf(1), math.Inf(1)
	for i, at := range rest {
		if left := s.left(with(at)); left < leftByOne {
			best, leftByOne = at, left
		}
		for _, other := range rest[:i] {
			if places := with(at, other); s.left(places) < leftByTwo {
				two, leftByTwo = places, s.left(places)
			}
		}
	}
	n := float64(last)
	switch {
	case best == 0:
		return nil
	case best != last && s.isNoChance(best, taken, 4*(n-1)):
		return with(best)
	case slices.Contains(rest, last) && s.isNoChance(last, taken, 2):
		return with(last)
	case two != nil && s.chance(s.left(taken), two, 2)*2*n*(n-1) <= s.up+s.down:
		return two
	}
	return nil
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
