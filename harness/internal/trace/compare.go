package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/internal/monitor"
)

// DefaultTolerance is how far the delays of an offer may differ between two recordings: a delay is known only as well
// as the time from reading the client's clock to the server's line, which a pause of the client stretches.
const DefaultTolerance = 250 * time.Millisecond

// Finding is the first difference in meaning between two recordings.
type Finding struct {
	// Case is the id of the case it is in; empty outside cases.
	Case string `json:"case"`
	// Role is the role it is in; empty for an order across roles or a missing case.
	Role string `json:"role"`
	// Meaning says in one sentence what it means.
	Meaning string `json:"meaning"`
	// Cause says the same without where it is, so that differences of one cause share it.
	Cause string `json:"cause"`
	// LeftLine and RightLine are line numbers, 0 where a side has no such line; Left and Right are the raw lines.
	LeftLine  int    `json:"left_line"`
	RightLine int    `json:"right_line"`
	Left      string `json:"left"`
	Right     string `json:"right"`
	// Window shows both sides for people to read.
	Window string `json:"-"`
}

// Compare compares two traces by the rules of the package comment and returns their first difference, nil if they mean
// the same. tolerance is for delays.
func Compare(left, right *Trace, tolerance time.Duration) *Finding {
	var best *candidate
	for _, role := range roles(left, right) {
		c := compareRole(left, right, role, tolerance)
		if c != nil && (best == nil || c.position() < best.position()) {
			best = c
		}
	}
	if best == nil {
		best = compareOrder(left, right)
	}
	if best == nil {
		return nil
	}
	return best.finding(left, right)
}

// candidate is a difference before it is written out. form is the index of the differing element of the events' Form.
type candidate struct {
	role        string
	left, right *Event
	form        int
	meaning     string
	cause       string
}

// position orders differences as they come in the recordings.
func (c *candidate) position() int {
	return min(numberOf(c.left), numberOf(c.right))
}

func numberOf(e *Event) int {
	if e == nil {
		return int(^uint(0) >> 1)
	}
	return e.Number
}

func roles(traces ...*Trace) []Role {
	var all []Role
	for _, t := range traces {
		for _, e := range t.Events {
			if !slices.Contains(all, e.Role) {
				all = append(all, e.Role)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Role) int { return cmp.Compare(a.Of, b.Of) })
	return all
}

func (t *Trace) of(role Role) []*Event {
	var events []*Event
	for _, e := range t.Events {
		if e.Role == role {
			events = append(events, e)
		}
	}
	return events
}

func compareRole(left, right *Trace, role Role, tolerance time.Duration) *candidate {
	ls, rs := left.of(role), right.of(role)
	for i := range max(len(ls), len(rs)) {
		c := &candidate{role: role.String()}
		if i < len(ls) {
			c.left = ls[i]
		}
		if i < len(rs) {
			c.right = rs[i]
		}
		switch {
		case c.left == nil || c.right == nil || !slices.Equal(c.left.Form, c.right.Form):
			c.form = firstDifferent(c.left, c.right)
			c.meaning, c.cause = meaning(role, i, ls, rs, c.form)
			return c
		case c.left.HasDelay && apart(c.left.Delay, c.right.Delay) > uint64(tolerance.Milliseconds()):
			c.cause = "another delay"
			c.meaning = fmt.Sprintf("call %d of the %s offers with a delay of about %d ms on the left and %d ms on the right; %v is tolerated",
				i+1, role, c.left.Delay, c.right.Delay, tolerance)
			return c
		}
	}
	return nil
}

// apart returns the distance of two delays, which may have overflowed alike.
func apart(a, b int64) uint64 {
	d := a - b
	return uint64(max(d, -d))
}

func firstDifferent(left, right *Event) int {
	if left == nil || right == nil {
		return 0
	}
	i := 0
	for i < min(len(left.Form), len(right.Form)) && left.Form[i] == right.Form[i] {
		i++
	}
	return i
}

// compareOrder compares the orders across roles.
func compareOrder(left, right *Trace) *candidate {
	ls, rs := dependencies(left), dependencies(right)
	for _, l := range ls {
		i := slices.IndexFunc(rs, func(r dependency) bool { return r.what == l.what })
		if i >= 0 && rs[i].found != l.found {
			return &candidate{left: l.at, right: rs[i].at, cause: "another order across roles", meaning: fmt.Sprintf("the order across roles differs: %s: %s on the left, %s on the right", l.what, l.found, rs[i].found)}
		}
	}
	return nil
}

func (c *candidate) finding(left, right *Trace) *Finding {
	f := &Finding{Role: c.role, Meaning: c.meaning, Cause: c.cause}
	l, r := c.column(left, c.left), c.column(right, c.right)
	if c.left != nil && c.right != nil && l.Note == "" && r.Note == "" {
		if d := compareLine(l.Lines[l.At], r.Lines[r.At]); d != nil {
			l.Arg, l.Byte, r.Arg, r.Byte = d.Arg, d.Byte, d.Arg, d.Byte
		}
	}
	f.LeftLine, f.Left = l.shown()
	f.RightLine, f.Right = r.shown()
	f.Window = Window(l, r)
	return f
}

// column places an event in all lines of its trace; without one it is the place behind the last line.
func (c *candidate) column(t *Trace, e *Event) Column {
	col := Column{Title: t.Name, Lines: t.Lines, At: len(t.Lines), Arg: -1}
	if e == nil {
		col.Note = "no further call of this role"
		return col
	}
	at := e.Line
	if e.Rebuilt {
		at = e.Inner[0]
	}
	missing := c.form >= len(e.Form)
	if c.form > 0 && !missing {
		at = e.Inner[c.form-1]
	}
	if missing && len(e.Inner) > 0 {
		at = e.Inner[len(e.Inner)-1]
	}
	col.At = slices.IndexFunc(t.Lines, func(l monitor.Line) bool { return l.Number == at.Number })
	if missing {
		col.At++
		col.Note = "no further command in this script call"
	}
	return col
}

func (c Column) shown() (number int, text string) {
	if c.missing() {
		return 0, ""
	}
	return c.Lines[c.At].Number, c.Lines[c.At].Text()
}
