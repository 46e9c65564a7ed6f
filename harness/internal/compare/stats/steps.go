package stats

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// Steps returns where the values of a series become greater or less, in ascending order, by their ranks:
// of a few values that are far off the rest it is only counted how many they are. The series is divided where
// the ranks of the two parts differ most (a maximally selected rank statistic: Lausen and Schumacher
// 1992), if a permutation test says that the order of its values is no chance, and each part again.
// In a series without a step it finds a rise with the probability up, and a fall with down.
//
// A stretch in the middle that differs from what is before and behind it, which are alike, moves the ranks of neither part
// much. So the stretch whose ranks differ most from those of the rest is looked for, too (circular binary segmentation:
// Olshen, Venkatraman, Lucito and Wessler 2004), and found with the probability back where there is no step. It is both its
// ends that are returned, where no step alone is clear, or the stretch explains more by as much as one more place may by chance.
//
// Values that were made under the same conditions share a stratum, strata[i]: ranks are those in it, only the order of its
// values is chance, and a step is what the strata show that have values of both sides. Nil is one stratum for all.
//
// A step is at one of the places in may, the first values of what is one to the caller, which must ascend; nil are
// all. Each value of a rise that is the last one alone is significant in a series of 1/up values or more. The same
// series gives the same steps. Once ctx ends it returns what it has, which is not all.
func Steps(ctx context.Context, series []float64, strata, may []int, up, down, back float64) []Change {
	if may == nil {
		for i := 1; i < len(series); i++ {
			may = append(may, i)
		}
	}
	if strata == nil {
		strata = make([]int, len(series))
	}
	steps := step(ctx, series, strata, may, chances{up, down, back}, 0, rand.New(rand.NewPCG(2, uint64(len(series)))))
	slices.SortFunc(steps, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	return steps
}

// chances are the probabilities of a rise, of a fall and of a stretch where there is none.
type chances struct{ up, down, back float64 }

func step(ctx context.Context, part []float64, strata, may []int, level chances, offset int, rng *rand.Rand) (steps []Change) {
	if len(may) == 0 {
		return nil
	}
	places, p := clearStep(ctx, newRanked(part, strata, may), level, rng)
	if places == nil {
		return nil
	}
	from := 0
	for _, to := range append(places, len(part)) {
		var within []int
		for _, m := range may {
			if from < m && m < to {
				within = append(within, m-from)
			}
		}
		if from > 0 {
			steps = append(steps, Change{At: offset + from, P: p})
		}
		steps = append(steps, step(ctx, part[from:to], strata[from:to], within, level, offset+from, rng)...)
		from = to
	}
	return steps
}

// clearStep is the steepest rise or fall if that is no chance, that which is less so if both are, or both ends of the
// stretch that differs most; there are none if none is clear. It shuffles the ranks.
func clearStep(ctx context.Context, r *ranked, level chances, rng *rand.Rand) (at []int, p float64) {
	rise, fall, stretch := r.steepest()
	if rise.at == 0 {
		return nil, 1
	}
	rises, falls, stretches := 1, 1, 1 // the series itself
	const all = permutations + 1
	for range permutations {
		if ctx.Err() != nil ||
			float64(rises) > level.up*all && float64(falls) > level.down*all && float64(stretches) > level.back*all {
			return nil, 1
		}
		r.shuffle(rng)
		higher, lower, other := r.steepest()
		if higher.by >= rise.by-1e-9*math.Abs(rise.by) {
			rises++
		}
		if lower.by >= fall.by-1e-9*math.Abs(fall.by) {
			falls++
		}
		if other.by >= stretch.by-1e-9*stretch.by {
			stretches++
		}
	}
	up, down := level.up*all/float64(rises), level.down*all/float64(falls)
	one, by, p := 0, 0., 1.
	switch {
	case up < 1 && down < 1:
	case up > down || up == down && rise.by >= fall.by:
		one, by, p = rise.at, rise.by, float64(rises)/all
	default:
		one, by, p = fall.at, fall.by, float64(falls)/all
	}
	more := stretch.by*stretch.by - by*by
	switch {
	case float64(stretches) <= level.back*all && (one == 0 || more > 4*math.Log(float64(len(r.ranks)))*r.variance):
		return []int{stretch.at, stretch.to}, float64(stretches) / all
	case one == 0:
		return nil, 1
	}
	return []int{one}, p
}

// ranked are the ranks of values in their strata, as shares of these, less the mean.
type ranked struct {
	ranks  []float64
	strata [][]int // the values of each
	may    []int
	sizes  []float64 // of a step at each place: 0 where no stratum has both sides
	// stretches are those that are looked at, variance is that of the ranks in their strata.
	stretches []span
	variance  float64
	sums      []float64 // of the ranks before each place
}

// span is a stretch from one of the places up to another.
type span struct {
	from, to int // numbers of the places
	size     float64
}

func newRanked(values []float64, strata, may []int) *ranked {
	r := &ranked{ranks: make([]float64, len(values)), strata: make([][]int, 1+slices.Max(strata)), may: may, sums: make([]float64, len(may))}
	for i, s := range strata {
		r.strata[s] = append(r.strata[s], i)
	}
	for _, of := range r.strata {
		var its []float64
		for _, i := range of {
			its = append(its, values[i])
		}
		for k, rank := range midRanks(its) {
			r.ranks[of[k]] = rank/float64(len(of)+1) - .5
		}
	}
	before, size, next := make([]float64, len(r.strata)), 0., 0
	for i, s := range strata {
		if next < len(may) && may[next] == i {
			r.sizes = append(r.sizes, size)
			next++
		}
		n := float64(len(r.strata[s]))
		size += (n - 2*before[s] - 1) / n
		before[s]++
	}
	r.setStretches(strata)
	return r
}

// setStretches makes those of up to eight points, and of longer ones each a quarter longer.
func (r *ranked) setStretches(strata []int) {
	squares, free := 0., len(r.ranks)
	for _, rank := range r.ranks {
		squares += rank * rank
	}
	for _, of := range r.strata {
		free -= min(len(of), 1)
	}
	r.variance = squares / float64(max(free, 1))
	within := make([]float64, len(r.strata))
	for from := range r.may {
		clear(within)
		size, long := 0., 1
		for to := from + 1; to < len(r.may); to++ {
			for _, s := range strata[r.may[to-1]:r.may[to]] {
				n := float64(len(r.strata[s]))
				size += (n - 2*within[s] - 1) / n
				within[s]++
			}
			if to-from == long {
				long += max(1, long/4)
				if size > leastSize {
					r.stretches = append(r.stretches, span{from, to, size})
				}
			}
		}
	}
}

func (r *ranked) shuffle(rng *rand.Rand) {
	for _, of := range r.strata {
		rng.Shuffle(len(of), func(i, k int) { r.ranks[of[i]], r.ranks[of[k]] = r.ranks[of[k]], r.ranks[of[i]] })
	}
}

// slope is by how much the ranks behind a place, or up to another, are greater, or less, than the others.
type slope struct {
	at, to int
	by     float64
}

// steepest are the greatest rise and the greatest fall at any of the places, and the stretch that differs most, either way;
// at is 0 if there can be none.
func (r *ranked) steepest() (rise, fall, most slope) {
	sum, next := 0., 0
	rise, fall = slope{by: math.Inf(-1)}, slope{by: math.Inf(-1)}
	for i, rank := range r.ranks {
		if next < len(r.may) && r.may[next] == i {
			r.sums[next] = sum
			if size := r.sizes[next]; size > leastSize {
				by := -sum / math.Sqrt(size)
				if by > rise.by {
					rise = slope{at: i, by: by}
				}
				if -by > fall.by {
					fall = slope{at: i, by: -by}
				}
			}
			next++
		}
		sum += rank
	}
	for _, s := range r.stretches {
		if by := math.Abs(r.sums[s.to]-r.sums[s.from]) / math.Sqrt(s.size); by > most.by {
			most = slope{r.may[s.from], r.may[s.to], by}
		}
	}
	return rise, fall, most
}

// midRanks are the ranks of values from 1 on, the mean of them for those that are equal.
func midRanks(values []float64) []float64 {
	inOrder := slices.Sorted(slices.Values(values))
	out := make([]float64, len(values))
	for i, v := range values {
		first, _ := slices.BinarySearch(inOrder, v)
		next, _ := slices.BinarySearch(inOrder, math.Nextafter(v, math.Inf(1)))
		out[i] = float64(first+1+next) / 2
	}
	return out
}
