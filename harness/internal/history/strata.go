package history

import (
	"slices"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// Runs that were made close to each other share their hour, and what that does to all of them looks as if their point
// did it: by their order alone, a machine whose hours differ by as much as its runs has a change at most points. So every
// run belongs to a sitting, and those of a point that were made in a row in it are one session, of which the median
// counts. A change is what the sittings show that have both sides of it, and else what is more than the medians of
// sittings differ by.

// MinSessions is how many sessions or sittings are needed to tell a change from the difference of two hours.
const MinSessions = 4

// manyInARow is from how many runs in a row on, in the mean, those of a point were not made in turn with others: two
// that take turns at random make two.
const manyInARow = 3

// strata say which runs share their hour.
type strata struct {
	// sitting and session number those of each run of each point. Sittings are in the order of time; a run that was made
	// in turn with others is a session of its own.
	sitting, session [][]int
	// order is the place of each run in the order of its sitting, from 0.
	order    [][]int
	sittings int
	// inARow are the points that have runs in a row.
	inARow []int
}

// strataOf is nil where all runs were made in one sitting, and in turn, or each by itself.
func strataOf(points []point) *strata {
	type made struct {
		run       *run.Document
		point, at int
	}
	var inTime []made
	s := &strata{sitting: make([][]int, len(points)), session: make([][]int, len(points)), order: make([][]int, len(points))}
	for i, p := range points {
		for k, r := range p.runs {
			inTime = append(inTime, made{r, i, k})
		}
		s.sitting[i], s.session[i], s.order[i] = make([]int, len(p.runs)), make([]int, len(p.runs)), make([]int, len(p.runs))
	}
	slices.SortStableFunc(inTime, func(a, b made) int { return a.run.Started.Compare(b.run.Started) })
	all := make([]*run.Document, len(inTime))
	for i, m := range inTime {
		all[i] = m.run
	}
	from, sessions := 0, 0
	for _, sitting := range run.Sittings(all) {
		to := from + len(sitting)
		runs, streaks := make([]int, len(points)), make([]int, len(points))
		for k, m := range inTime[from:to] {
			runs[m.point]++
			if k == 0 || inTime[from+k-1].point != m.point {
				streaks[m.point]++
			}
		}
		for k, m := range inTime[from:to] {
			n, of := runs[m.point], streaks[m.point]
			inARow := n > 1 && (of == 1 || n >= manyInARow*of)
			if !inARow || k == 0 || inTime[from+k-1].point != m.point {
				sessions++
			} else if !slices.Contains(s.inARow, m.point) {
				s.inARow = append(s.inARow, m.point)
			}
			s.sitting[m.point][m.at], s.session[m.point][m.at], s.order[m.point][m.at] = s.sittings, sessions-1, k
		}
		s.sittings, from = s.sittings+1, to
	}
	if s.sittings == 1 && s.inARow == nil || s.sittings == len(inTime) {
		return nil
	}
	slices.Sort(s.inARow)
	return s
}

// span is the first and the last of the points of which a sitting has runs.
type span struct{ first, last int }

// spans are those of all sittings, of the runs that tell.
func (s *strata) spans(tells func(point, run int) bool) []span {
	all := slices.Repeat([]span{{-1, -1}}, s.sittings)
	for i, of := range s.sitting {
		for k, n := range of {
			switch {
			case !tells(i, k):
			case all[n].first < 0:
				all[n] = span{i, i}
			default:
				all[n].last = i
			}
		}
	}
	return all
}

// isSplitAt reports whether no sitting has runs of points before one, and from it on.
func (s *strata) isSplitAt(at int) bool {
	return !share(s.spans(func(int, int) bool { return true }), at)
}

// share reports whether a sitting has runs of points before one, and from it on.
func share(all []span, at int) bool {
	return slices.ContainsFunc(all, func(s span) bool { return s.first >= 0 && s.first < at && at <= s.last })
}
