package history

import (
	"fmt"
	"slices"

	"github.com/dq-bench/dq-bench/harness/compare/stats"
	"github.com/dq-bench/dq-bench/harness/run"
)

// Runs of a point that were made in a row share their hour, and what that does to all of them looks as if the point
// did it: by their order alone, a machine whose hours differ by as much as its runs has a change at most points. So such
// runs are one session, of which the median counts, and a change is one only if it is more than the sessions differ by.

// MinSessions is how many are needed to tell a change from the difference of two hours.
const MinSessions = 4

// manyInARow is from how many runs in a row on, in the mean, those of a point were not made in turn with others: two
// that take turns at random make two.
const manyInARow = 3

// sessions are, of each point, the numbers of its runs between which none of another was made, in the order of time;
// each run is a session of its own at a point that was measured in turn with others. They are nil where that is so of all.
func sessions(points []point) [][]int {
	type made struct {
		run   *run.Document
		point int
	}
	var inTime []made
	for i, p := range points {
		for _, r := range p.runs {
			inTime = append(inTime, made{r, i})
		}
	}
	slices.SortStableFunc(inTime, func(a, b made) int { return a.run.Started.Compare(b.run.Started) })
	all := make([][]int, len(points))
	for i, m := range inTime {
		of := &all[m.point]
		if i == 0 || inTime[i-1].point != m.point {
			*of = append(*of, 0)
		}
		(*of)[len(*of)-1]++
	}
	inARow := false
	for i, p := range points {
		if n := len(p.runs); n > 1 && (len(all[i]) == 1 || n >= manyInARow*len(all[i])) {
			inARow = true
		} else {
			all[i] = slices.Repeat([]int{1}, n)
		}
	}
	if !inARow {
		return nil
	}
	return all
}

// setBySession keeps the changes of a figure that are more than its sessions differ by.
func (f *Figure) setBySession(scaled [][]*float64, sessions [][]int, level float64, o Options) {
	runs := slices.Clone(f.Changes)
	var medians []float64
	first := make([]int, len(scaled)) // the first session of each point
	for i, values := range scaled {
		first[i] = len(medians)
		for _, n := range sessions[i] {
			if median := medianOf(values[:n]); median != nil {
				medians = append(medians, *median)
			}
			values = values[n:]
		}
	}
	var may []int
	for _, c := range runs {
		may = append(may, first[c.At])
	}
	borne := stats.Levels(medians, may, worseShare*level, (1-worseShare)*level)
	f.set(slices.DeleteFunc(slices.Clone(runs), func(c Change) bool { return !slices.Contains(borne, first[c.At]) }), o)
	if n := len(runs); n > 0 && (f.newest() == nil || f.newest().At < runs[n-1].At) {
		f.ofHours, f.sessions = &runs[n-1], len(medians)
	}
}

// bySession has one run for each session, of all that it counted.
func (s *sorted) bySession() *sorted {
	if s.sessions == nil {
		return s
	}
	units := &sorted{ofRuns: len(s.runs)}
	for i, p := range s.points {
		unit, runs := point{name: p.name}, p.runs
		for _, n := range s.sessions[i] {
			all := &run.Document{}
			for _, r := range runs[:n] {
				all.Counts = all.Counts.Plus(r.Counts)
			}
			unit.runs, runs = append(unit.runs, all), runs[n:]
		}
		units.points, units.runs = append(units.points, unit), append(units.runs, unit.runs...)
	}
	return units
}

// ofHours is the figure of which the runs show the greatest change that its sessions do not bear, for the worse if
// there is such, nil if there is none.
func (h *History) ofHours() *Figure {
	var most *Figure
	for i := range h.Figures {
		c := h.Figures[i].ofHours
		if c == nil {
			continue
		}
		worse := most != nil && most.ofHours.Outcome == Worse
		if most == nil || c.Outcome == Worse && !worse || (c.Outcome == Worse) == worse && c.factor() > most.ofHours.factor() {
			most = &h.Figures[i]
		}
	}
	return most
}

// tooFewSessions reports whether the change of hours could not be told, however great.
func (f *Figure) tooFewSessions() bool { return !f.sittingsShared && f.sessions < MinSessions }

// countSessions says how many sessions, or sittings, tell the figure.
func (f *Figure) countSessions() string {
	if f.inSittings {
		return fmt.Sprintf("%d sittings", f.sessions)
	}
	return fmt.Sprintf("%d sessions", f.sessions)
}

// tellSessions says which runs share their hour, and of what was seen in the runs that it may be no more than that.
func (h *History) tellSessions(s *sorted) {
	if s.sessions == nil || s.references != nil || len(h.Points) == 1 {
		return
	}
	n, all, example := 0, 0, ""
	for i, of := range s.sessions {
		all += len(of)
		if len(of) < len(h.Points[i].Runs) {
			n, example = n+1, h.Points[i].Name
		}
	}
	points := "1 point of " + fmt.Sprint(len(h.Points))
	if n > 1 {
		points = fmt.Sprintf("%d points of %d", n, len(h.Points))
	}
	h.Notes = append(h.Notes, fmt.Sprintf("the runs of %s, such as %s, were made in a row and share their hour: a change is what is more than %d such sessions differ by; it takes %d at the least", points, example, all, MinSessions))
	if len(h.changed(Worse))+len(h.changed(Better)) > 0 {
		h.Text += fmt.Sprintf(" The runs of %s were made in a row, and it is more than %d such sessions differ by.", points, all)
	}
	f := h.ofHours()
	if f == nil {
		return
	}
	c, but := f.ofHours, "that is no more than %d such sessions differ by"
	if f.sessions < MinSessions {
		but = "%d such sessions cannot tell that from a change"
	}
	h.Text += fmt.Sprintf(" By the runs %s is %s since %s, and was %s before; but the runs of %s were made in a row and share their hour, and "+but+": to be sure, measure both in turn and compare.",
		f.Name(), f.ValueText(c.After), c.Name, f.ValueText(c.Before), points, f.sessions)
}
