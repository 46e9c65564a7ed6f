package history

import (
	"context"
	"math"
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/compare"
	"github.com/dq-bench/dq-bench/harness/internal/compare/stats"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Hours in which messages are lost do that to all of their runs, so that faults are judged within the sittings that
// have both sides, too, and else by the sittings.

// made is how many runs were made.
func (s *sorted) made() int { return max(s.ofRuns, len(s.runs)) }

// units has one run for each session, of all that it counted.
func (s *sorted) units() *sorted {
	if s.strata == nil {
		return s
	}
	u := &sorted{ofRuns: len(s.runs), strata: &strata{sittings: s.strata.sittings}}
	for i, p := range s.points {
		unit, of, last := point{name: p.name}, []int{}, -1
		for k, r := range p.runs {
			if session := s.strata.session[i][k]; session != last {
				unit.runs, of, last = append(unit.runs, &run.Document{}), append(of, s.strata.sitting[i][k]), session
			}
			all := unit.runs[len(unit.runs)-1]
			all.Counts = all.Counts.Plus(r.Counts)
		}
		u.points, u.runs, u.strata.sitting = append(u.points, unit), append(u.runs, unit.runs...), append(u.strata.sitting, of)
	}
	return u
}

// steps are the points at which more, or less, of the messages of runs are treated wrongly, by the order of the runs.
func (s *sorted) steps(ctx context.Context, kind compare.Fault, level float64) (starts []int) {
	var series []float64
	var point, sitting []int
	for i, p := range s.points {
		for k, r := range p.runs {
			series, point = append(series, kind.Share(r.Counts)), append(point, i)
			if s.strata != nil {
				sitting = append(sitting, s.strata.sitting[i][k])
			}
		}
	}
	find := func(series []float64, point, sitting []int, of func(at int) bool, level float64) {
		var may []int
		for i := 1; i < len(point); i++ {
			if slices.ContainsFunc(s.between(point[i-1], point[i]), of) {
				may = append(may, i)
			}
		}
		if may == nil {
			return
		}
		for _, at := range placed(series, sitting, may, stats.Steps(ctx, series, sitting, may, riseShare*level, fallShare*level, backShare*level)) {
			places := s.between(point[at-1], point[at])
			starts = append(starts, places[slices.IndexFunc(places, of)])
		}
	}
	if s.strata == nil {
		find(series, point, nil, func(int) bool { return true }, level)
		return starts
	}
	spans := s.strata.spans(func(int, int) bool { return true })
	shared := func(at int) bool { return share(spans, at) }
	find(series, point, sitting, shared, level/2)
	if s.strata.sittings >= MinSessions {
		series, point = s.ofSittings(kind)
		find(series, point, nil, func(at int) bool { return !shared(at) }, level/2)
	}
	slices.Sort(starts)
	return slices.Compact(starts)
}

// placed are the places of steps, each where it explains most between its neighbours, of shares' square roots, whose chance
// is about as great at every level. The ranks that tell that there is a step are as much higher for one message as for a
// thousand, and of few sessions may rise before it.
func placed(series []float64, sitting, may []int, steps []stats.Change) (all []int) {
	roots := squareRoots(series)
	for i, c := range steps {
		from, to := 0, len(series)
		if i > 0 {
			from = steps[i-1].At
		}
		if i+1 < len(steps) {
			to = steps[i+1].At
		}
		var places, strata []int
		for _, at := range may {
			if from < at && at < to {
				places = append(places, at-from)
			}
		}
		if sitting != nil {
			strata = sitting[from:to]
		}
		at := stats.Steepest(roots[from:to], strata, places, mean(roots[c.At:to]) < mean(roots[from:c.At]))
		if at < 0 {
			at = c.At - from
		}
		all = append(all, from+at)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func squareRoots(values []float64) (roots []float64) {
	for _, v := range values {
		roots = append(roots, math.Sqrt(v))
	}
	return roots
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// between are the points behind one, up to another.
func (s *sorted) between(before, at int) (points []int) {
	for i := before + 1; i <= at; i++ {
		points = append(points, i)
	}
	return points
}

// ofSittings are the shares of sittings, in the order of the first point of each.
func (s *sorted) ofSittings(kind compare.Fault) (shares []float64, point []int) {
	number := map[int]int{}
	var counts []run.Counts
	for i, p := range s.points {
		for k, r := range p.runs {
			n := s.strata.sitting[i][k]
			if _, there := number[n]; !there {
				number[n] = len(counts)
				counts, point = append(counts, run.Counts{}), append(point, i)
			}
			counts[number[n]] = counts[number[n]].Plus(r.Counts)
		}
	}
	for _, c := range counts {
		shares = append(shares, kind.Share(c))
	}
	return shares, point
}

// sides are the counts of points, and of those of later ones: of the sittings that have both, where there are such.
func (s *sorted) sides(from, since, at, to int) (before, after run.Counts, beside bool) {
	for _, sitting := range s.bySitting(0, len(s.points)) {
		x, y := sitting.counts(from, since), sitting.counts(at, to)
		if s.strata != nil && s.strata.sittings > 1 && x.Offered+x.OfferErrors > 0 && y.Offered+y.OfferErrors > 0 {
			before, after, beside = before.Plus(x), after.Plus(y), true
		}
	}
	if beside {
		return before, after, true
	}
	return s.counts(from, since), s.counts(at, to), false
}

func (s *sorted) counts(from, to int) (all run.Counts) {
	for _, p := range s.points[from:to] {
		for _, r := range p.runs {
			all = all.Plus(r.Counts)
		}
	}
	return all
}

// bySitting are the runs of each sitting, at the same points.
func (s *sorted) bySitting(from, to int) []*sorted {
	if s.strata == nil {
		return []*sorted{s}
	}
	all := make([]*sorted, s.strata.sittings)
	for n := range all {
		all[n] = &sorted{points: make([]point, len(s.points))}
	}
	for i := from; i < to; i++ {
		for k, r := range s.points[i].runs {
			of := &all[s.strata.sitting[i][k]].points[i]
			of.runs = append(of.runs, r)
		}
	}
	return all
}

// outdoes reports whether a fault is worse since some point, not before from, than in any hour until then: by far more
// of the runs of each have it, or each treats by far more of the messages so. Few hours have no order that could tell;
// but some in which it is as bad would have been among those before.
func (s *sorted) outdoes(kind compare.Fault, from int) bool {
	hour := s.strata.sitting
	if s.strata.sittings == 1 {
		hour = s.strata.session
	}
	for _, of := range []func([]*run.Document) float64{
		func(runs []*run.Document) float64 {
			bad := slices.DeleteFunc(slices.Clone(runs), func(r *run.Document) bool { return kind.Of(r.Counts) == 0 })
			return float64(len(bad)) / float64(len(runs))
		},
		func(runs []*run.Document) float64 {
			var all run.Counts
			for _, r := range runs {
				all = all.Plus(r.Counts)
			}
			return kind.Share(all)
		},
	} {
		figures := make([][]float64, len(s.points)) // of the hours of each point
		for i, p := range s.points {
			for first := 0; first < len(p.runs); {
				next := first + 1
				for next < len(p.runs) && hour[i][next] == hour[i][first] {
					next++
				}
				figures[i], first = append(figures[i], of(p.runs[first:next])), next
			}
		}
		for at := max(from, 1); at < len(figures); at++ {
			if slices.Min(slices.Concat(figures[at:]...)) > outdone*slices.Max(slices.Concat(figures[:at]...)) {
				return true
			}
		}
	}
	return false
}
