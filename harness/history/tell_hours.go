package history

import (
	"fmt"
	"strings"
)

// ofHours is the figure of which the runs show the greatest change that may be no more than hours make, for the worse
// if there is such, nil if there is none.
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
	if s.strata == nil || s.references != nil || len(h.Points) == 1 {
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
