package history

import (
	"fmt"
	"strings"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// ofHours is the figure of which the runs show the greatest change that may be no more than hours make.
func (h *History) ofHours() *Figure {
	return h.most(func(f *Figure) *Change { return f.ofHours })
}

// unborne is the one of which sittings show the greatest change that a single run, or the order in them, may make.
func (h *History) unborne() *Figure {
	return h.most(func(f *Figure) *Change { return f.unborne })
}

// most is the figure with the greatest change of a kind, for the worse if there is such, nil if there is none.
func (h *History) most(of func(*Figure) *Change) *Figure {
	var most *Figure
	for i := range h.Figures {
		c := of(&h.Figures[i])
		if c == nil {
			continue
		}
		worse := most != nil && of(most).Outcome == Worse
		if most == nil || c.Outcome == Worse && !worse || (c.Outcome == Worse) == worse && c.factor() > of(most).factor() {
			most = &h.Figures[i]
		}
	}
	return most
}

// hoursText says how many sessions, or sittings, tell the figure.
func (f *Figure) hoursText() string {
	if f.hoursAreSittings {
		return fmt.Sprintf("%d sittings", f.hours)
	}
	return fmt.Sprintf("%d sessions", f.hours)
}

// tellHours says which runs share their hour, what is told of that, and of what was seen in the runs that it may be no
// more than that.
func (h *History) tellHours(s *sorted) {
	switch {
	case s.strata == nil || len(h.Points) == 1:
		return
	case s.references != nil:
		if changed := append(h.changed(Worse), h.changed(Better)...); len(changed) > 0 && s.strata.isSplitAt(changed[0].newest().At) {
			h.Notes = append(h.Notes, "no sitting has runs from before "+changed[0].newest().Name+" and since: what one did to one side of its pairs alone looks as if "+
				"the version did it; to be sure, measure versions of both sides beside the reference in one sitting")
		}
		return
	}
	var facts []string
	if n := s.strata.sittings; n > 1 {
		facts = append(facts, fmt.Sprintf("they were made in %d sittings", n))
		h.Notes = append(h.Notes, fmt.Sprintf("the runs were made in %d sittings, with long gaps between: a change is what the sittings show "+
			"that have runs of both sides, or else what is more than sittings differ by, of which it takes %d at the least", n, MinSessions))
	}
	if points := s.strata.inARow; len(points) > 0 {
		of := fmt.Sprintf("%d points", len(points))
		if len(points) == 1 {
			of = "1 point"
		}
		of += fmt.Sprintf(" of %d", len(h.Points))
		facts = append(facts, fmt.Sprintf("the runs of %s were made in a row", of))
		h.Notes = append(h.Notes, fmt.Sprintf("the runs of %s, such as %s, were made in a row and share their hour: "+
			"each such session counts once, and it takes %d sessions or runs in turn at the least", of, h.Points[points[len(points)-1]].Name, MinSessions))
	}
	if changed := append(h.changed(Worse), h.changed(Better)...); len(changed) > 0 {
		h.Text += " " + changed[0].byHours(s.strata.sittings)
	}
	if f := h.unborne(); f != nil {
		c, but := f.unborne, "the runs of both sides had the same order in each sitting, or nearly, which may be what they differ by: measure them there and back, such as A B B A, and compare."
		if f.ofOneRun {
			but = "one run less would not show it: measure each several times in a sitting, there and back, such as A B B A, and compare."
		}
		by := fmt.Sprintf("%s where it was %s", f.ValueText(c.After), f.ValueText(c.Before))
		if c.Ratio != nil {
			by = run.FormatFloat(*c.Ratio) + " times as much as before"
		}
		h.Text += fmt.Sprintf(" By the sittings %s is %s since %s; but %s", f.Name(), by, c.Name, but)
		return
	}
	if f := h.ofHours(); f != nil {
		c, but := f.ofHours, "that is no more than %s differ by"
		if f.hours < MinSessions {
			but = "%s cannot tell that from a change"
		}
		h.Text += fmt.Sprintf(" By the runs %s is %s since %s, and was %s before; but %s, and "+but+": to be sure, measure both in turn and compare.",
			f.Name(), f.ValueText(c.After), c.Name, f.ValueText(c.Before), strings.Join(facts, ", "), f.hoursText())
	}
}

// byHours says what the newest change of a figure is told by.
func (f *Figure) byHours(sittings int) string {
	if f.newest().within && sittings > 1 {
		return "That is what the sittings show that have runs of both sides; what was before is told for the hours of the newest runs."
	}
	return fmt.Sprintf("It is more than %s differ by.", f.hoursText())
}
