package history

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
)

// contrasts are the values of a figure, with what each shares with others.
type contrasts struct {
	figure *Figure
	strata *strata
	// of each run that tells the figure, in the order of the points.
	values         []float64
	point, sitting []int
	order          []float64 // the place of each run in that of its sitting
	// sessions, and hours: what separate points are judged by, which are sessions or sittings.
	sessions, hours  units
	hoursAreSessions bool
	// shared are the points of which a sitting has runs before and since, separate the others; bound those of which none
	// tells, but for hours.
	shared, separate, bound []int
	// unborne are the points at which sittings show a change that a single run, or the order within them, may make.
	unborne []int
	// less are the values less the shifts within sittings.
	less []float64
}

// units are medians of runs that were made together, in the order of the points.
type units struct {
	values         []float64
	point, sitting []int
}

// first is the first unit from a point on.
func (u units) first(at int) int {
	return slices.IndexFunc(u.point, func(i int) bool { return i >= at })
}

func (u units) firsts(at []int) (all []int) {
	for _, i := range at {
		all = append(all, u.first(i))
	}
	return all
}

// shareWithin is the share of the level for what a sitting shows, where other changes need the rest more.
const shareWithin = .25

// worseShare is the share of the level at which it is judged whether a level is higher, where the rest is for lower ones.
const worseShare = .8

func (s *strata) contrasts(f *Figure) *contrasts {
	c := &contrasts{figure: f, strata: s}
	var session []int
	scaled := f.scaled()
	for i, values := range scaled {
		for k, v := range values {
			if v != nil {
				c.values, c.point = append(c.values, *v), append(c.point, i)
				c.sitting, session = append(c.sitting, s.sitting[i][k]), append(session, s.session[i][k])
				c.order = append(c.order, float64(s.order[i][k]))
			}
		}
	}
	c.sessions = c.medians(c.values, session)
	spans := s.spans(func(i, k int) bool { return scaled[i][k] != nil })
	for i := 1; i < len(c.point); i++ {
		switch at := c.point[i]; {
		case at == c.point[i-1]:
		case share(spans, at):
			c.shared = append(c.shared, at)
		default:
			c.separate = append(c.separate, at)
		}
	}
	return c
}

// medians are those of the runs of which the number is the same.
func (c *contrasts) medians(values []float64, number []int) units {
	of := map[int][]float64{}
	var u units
	for i, n := range number {
		if of[n] == nil {
			u.point, u.sitting = append(u.point, c.point[i]), append(u.sitting, c.sitting[i])
			u.values = append(u.values, float64(n)) // for now
		}
		of[n] = append(of[n], values[i])
	}
	for i, n := range u.values {
		u.values[i] = stats.Median(of[int(n)])
	}
	return u
}

// find returns the changes of the figure that its sittings show, and that the order of the runs is no chance of either:
// few runs may lie off for another reason.
func (c *contrasts) find(ctx context.Context, points []Point, level float64) []Change {
	sittings := len(c.medians(c.values, c.sitting).values)
	extra := len(c.sessions.values) - sittings
	switch few := extra <= stats.LeastFreedom; {
	case extra == 0 || few && sittings >= MinSessions: // next to nothing was made beside each other
		c.hoursAreSessions = true
		c.shared, c.separate = nil, slices.Sorted(slices.Values(slices.Concat(c.shared, c.separate)))
		c.bound = c.separate
	case few || sittings == 1:
		c.bound = slices.Sorted(slices.Values(slices.Concat(c.shared, c.separate)))
	default:
		c.bound = c.separate
	}
	ofWithin := level
	switch {
	case len(c.shared) == 0:
		ofWithin = 0
	case len(c.separate) > 0:
		ofWithin *= shareWithin
	}
	within := c.borne(ctx, points, c.besideOrder(c.levelsOf(c.sessions, c.sessions.sitting, c.shared, ofWithin)), true, level)
	c.setHours(placesOf(within))
	separate := slices.DeleteFunc(slices.Sorted(slices.Values(slices.Concat(c.separate, c.unborne))), func(at int) bool { return c.hours.first(at) <= 0 })
	between := c.borne(ctx, points, c.levelsOf(c.hours, nil, separate, level-ofWithin), false, level)
	c.unborne = slices.DeleteFunc(c.unborne, func(at int) bool { return slices.Contains(placesOf(between), at) })
	return slices.SortedFunc(slices.Values(slices.Concat(within, between)), func(a, b Change) int { return cmp.Compare(a.At, b.At) })
}

func placesOf(changes []Change) (at []int) {
	for _, c := range changes {
		at = append(at, c.At)
	}
	return at
}

// levelsOf are the points at which the level of units changes.
func (c *contrasts) levelsOf(u units, strata, at []int, level float64) (found []int) {
	for _, i := range stats.Levels(u.values, strata, u.firsts(at), worseShare*level, (1-worseShare)*level) {
		found = append(found, at[slices.Index(u.firsts(at), i)])
	}
	return found
}

// setHours makes the units that separate points are judged by, less the shifts that are known.
func (c *contrasts) setHours(within []int) {
	c.less = c.without(within)
	if c.hoursAreSessions {
		c.hours = c.sessions
		return
	}
	sittings := c.medians(c.less, c.sitting) // in the order of the first point of each
	c.hours = units{values: sittings.values, point: sittings.point}
}

// shifts are by how much the values rise at points, as the sittings show that have both sides.
func (c *contrasts) shifts(within []int) []float64 {
	return stats.Shifts(c.sessions.values, c.sessions.sitting, c.sessions.firsts(within))
}

// without are the values less the shifts at points.
func (c *contrasts) without(within []int) []float64 {
	values, shifts := slices.Clone(c.values), c.shifts(within)
	for i := range values {
		for k, at := range within {
			if c.point[i] >= at {
				values[i] -= shifts[k]
			}
		}
	}
	return values
}

// leveled are the values without what their sittings differ by beside the shifts at points.
func (c *contrasts) leveled(within []int) []float64 {
	values, sums, counts := slices.Clone(c.values), map[int]float64{}, map[int]float64{}
	for i, v := range c.without(within) {
		sums[c.sitting[i]] += v
		counts[c.sitting[i]]++
	}
	for i, n := range c.sitting {
		values[i] -= sums[n] / counts[n]
	}
	return values
}

// borne are the changes at points of which the order of the runs is no chance.
func (c *contrasts) borne(ctx context.Context, points []Point, at []int, within bool, level float64) (found []Change) {
	values := c.less
	if within {
		values = c.leveled(at)
	}
	for i, place := range at {
		from, to := 0, len(values)
		if i > 0 {
			from = slices.Index(c.point, at[i-1])
		}
		if i+1 < len(at) {
			to = slices.Index(c.point, at[i+1])
		}
		first := slices.Index(c.point, place)
		if p := stats.Division(ctx, values[from:to], c.starts(from, to), first-from, level); p <= level {
			found = append(found, Change{At: place, Name: points[place].Name, P: p, within: within})
		}
	}
	return found
}

// starts are the first runs of the points of some runs, but of the first of these, counted from there.
func (c *contrasts) starts(from, to int) (all []int) {
	for i := from + 1; i < to; i++ {
		if c.point[i] != c.point[i-1] {
			all = append(all, i-from)
		}
	}
	return all
}

// levels are the stretches between changes: the newest is what its runs are, and those before are as far from it as
// is told.
func (c *contrasts) levels(changes []Change) []Level {
	levels := c.figure.levels(changes)
	var within, between []int
	for _, change := range changes {
		if change.within {
			within = append(within, change.At)
		} else {
			between = append(between, change.At)
		}
	}
	ofWithin, ofBetween := c.shifts(within), stats.Shifts(c.hours.values, nil, c.hours.firsts(between))
	scale, back := func(v float64) float64 { return v }, func(v float64) float64 { return v }
	if c.figure.areLogarithms() {
		scale, back = math.Log, math.Exp
	}
	for i := len(changes) - 1; i >= 0; i-- {
		shift := 0.
		if changes[i].within {
			shift = ofWithin[slices.Index(within, changes[i].At)]
		} else {
			shift = ofBetween[slices.Index(between, changes[i].At)]
		}
		levels[i].Median = back(scale(levels[i+1].Median) - shift)
	}
	return levels
}

// ofHours is the newest change of the runs where that is no more than hours may differ by, nil if there is none.
func (c *contrasts) ofHours(ctx context.Context, points []Point, level float64) *Change {
	var may []int
	for _, at := range c.bound {
		may = append(may, slices.Index(c.point, at))
	}
	if len(may) == 0 {
		return nil
	}
	var newest *Change
	for _, found := range stats.Changes(ctx, c.less, may, level) {
		at := c.point[found.At]
		newest = &Change{At: at, Name: points[at].Name, P: found.P}
	}
	return newest
}
