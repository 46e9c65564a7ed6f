package trace

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
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
	// LeftLine and RightLine are line numbers, 0 if a side has no such line; Left and Right are the raw lines.
	LeftLine  int    `json:"left_line"`
	RightLine int    `json:"right_line"`
	Left      string `json:"left"`
	Right     string `json:"right"`
	// Sent are the calls of each role, from the first difference on, that a client sent otherwise.
	Sent []Sent `json:"-"`
	// Window shows both sides for people to read.
	Window string `json:"-"`
}

// Sent is a call that was expected, and what was sent in its place: nil for nothing.
type Sent struct {
	Expected, Got *Event
	Cause         string
}

// Compare compares two traces by the rules of the package comment and returns their first difference, nil if they mean
// the same. tolerance is for delays.
func Compare(left, right *Trace, tolerance time.Duration) *Finding {
	var best *candidate
	var sent []Sent
	ls, rs := left.byRole(), right.byRole()
	all := maps.Clone(ls)
	maps.Copy(all, rs)
	for _, role := range slices.SortedFunc(maps.Keys(all), func(a, b Role) int { return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name)) }) {
		c := compareRole(role, ls[role], rs[role], tolerance)
		if c != nil && c.left != nil && c.form == 0 && c.Cause != anotherDelay && !strings.HasPrefix(c.Cause, anExtra) {
			sent = append(sent, Sent{c.left, c.right, c.Cause})
		}
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
	f, l, r := &best.Finding, best.column(left, best.left), best.column(right, best.right)
	f.LeftLine, f.Left = l.shown()
	f.RightLine, f.Right = r.shown()
	f.Window, f.Sent = Window(l, r), sent
	return f
}

// candidate is a difference before it is written out. form is the index of the differing element of the events' Form.
type candidate struct {
	Finding
	left, right *Event
	form        int
}

// The causes that are no call sent otherwise.
const (
	anotherDelay = "another delay"
	anExtra      = "an extra "
)

// position orders differences as they come in the recordings.
func (c *candidate) position() int {
	at := math.MaxInt
	for _, e := range []*Event{c.left, c.right} {
		if e != nil {
			at = min(at, e.Number)
		}
	}
	return at
}

// byRole are the events of each role, in order.
func (t *Trace) byRole() map[Role][]*Event {
	all := map[Role][]*Event{}
	for _, e := range t.Events {
		all[e.Role] = append(all[e.Role], e)
	}
	return all
}

func compareRole(role Role, ls, rs []*Event, tolerance time.Duration) *candidate {
	for i := range max(len(ls), len(rs)) {
		c := &candidate{Finding: Finding{Role: role.String()}}
		if i < len(ls) {
			c.left = ls[i]
		}
		if i < len(rs) {
			c.right = rs[i]
		}
		switch l, r := c.left.form(), c.right.form(); {
		case !slices.Equal(l, r):
			c.form = firstDifference(l, r)
			c.Meaning, c.Cause = meaning(role, i, ls, rs, c.form)
			return c
		case c.left.HasDelay && apart(c.left.Delay, c.right.Delay) > uint64(tolerance.Milliseconds()):
			c.Cause = anotherDelay
			c.Meaning = fmt.Sprintf("call %d of the %s offers with a delay of about %d ms on the left and %d ms on the right; %v is tolerated",
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

// form is empty for no event.
func (e *Event) form() []string {
	if e == nil {
		return nil
	}
	return e.Form
}

// compareOrder compares the orders across roles.
func compareOrder(left, right *Trace) *candidate {
	ls, rs := dependencies(left), dependencies(right)
	for _, l := range ls {
		i := slices.IndexFunc(rs, func(r dependency) bool { return r.what == l.what })
		if i >= 0 && rs[i].found != l.found {
			text := fmt.Sprintf("the order across roles differs: %s: %s on the left, %s on the right", l.what, l.found, rs[i].found)
			return &candidate{Finding{Cause: "another order across roles", Meaning: text}, l.at, rs[i].at, 0}
		}
	}
	return nil
}

// column places an event in all lines of its trace; without one it is the place behind the last line.
func (c *candidate) column(t *Trace, e *Event) Column {
	col := Column{Title: t.Name, Lines: t.Lines, At: len(t.Lines)}
	if e == nil {
		col.Note = "no further call of this role"
		return col
	}
	lines := append([]Line{e.Line}, e.Inner...)
	if e.Rebuilt {
		lines[0] = e.Inner[0]
	}
	at := lines[min(c.form, len(lines)-1)]
	col.At = slices.IndexFunc(t.Lines, func(l Line) bool { return l.Number == at.Number })
	if c.form >= len(e.Form) {
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

// meaning says in one sentence what it means that call i of a role differs, and the cause without the place: the left
// is expected. form is the index of the differing command within the call.
func meaning(role Role, i int, left, right []*Event, form int) (text, cause string) {
	call := fmt.Sprintf("call %d of the %s", i+1, role)
	l, r := left[min(i, len(left)):], right[min(i, len(right)):]
	// A call too many is one only if the next one is equal again. That words a difference, it never hides one.
	switch {
	case len(l) == 0, len(r) > len(l) && slices.Equal(r[1].Form, l[0].Form):
		return tooMany(call, "right", "left", r[0], l), anExtra + r[0].what()
	case len(r) == 0, len(l) > len(r) && slices.Equal(l[1].Form, r[0].Form):
		return tooMany(call, "left", "right", l[0], r), "no " + l[0].what()
	case form == 0:
		text = call + " " + clientMeaning(l[0], r[0])
	default:
		text = fmt.Sprintf("%s: inside %s, %s", call, l[0].what(), insideMeaning(l[0].Form, r[0].Form, form))
	}
	switch {
	case l[0].what() != r[0].what():
		cause = fmt.Sprintf("%s in place of %s", r[0].what(), l[0].what())
	case form == 0:
		cause = "other arguments of " + l[0].what()
	default:
		cause = "other commands inside " + l[0].what()
	}
	return text, cause
}

func tooMany(call, side, other string, extra *Event, next []*Event) string {
	text := fmt.Sprintf("%s is only on the %s: %s", call, side, extra.what())
	if len(next) > 0 {
		text += fmt.Sprintf("; the %s goes on with the next", other)
	}
	return text
}

func insideMeaning(l, r []string, form int) string {
	switch {
	case form >= len(l):
		return "the right has one command more"
	case form >= len(r):
		return "the left has one command more"
	}
	return fmt.Sprintf("command %d is different: %s", form, sides(strings.TrimSpace(l[form]), strings.TrimSpace(r[form])))
}

func clientMeaning(l, r *Event) string {
	switch {
	case l.what() != r.what():
		return fmt.Sprintf("is %s on the left and %s on the right", l.what(), r.what())
	case l.DB != r.DB:
		return fmt.Sprintf("goes to database %d on the left and %d on the right", l.DB, r.DB)
	case l.Transfer != nil && r.Transfer != nil && l.Transfer.Limit != r.Transfer.Limit:
		return fmt.Sprintf("moves at most %d members on the left and %d on the right", l.Transfer.Limit, r.Transfer.Limit)
	case l.Offer != nil && r.Offer != nil && l.Offer.Value != r.Offer.Value:
		return fmt.Sprintf("offers another value: %s on the left, %s on the right", Quoted(l.Offer.Value), Quoted(r.Offer.Value))
	}
	return fmt.Sprintf("(%s) has other arguments: %s", l.what(), sides(l.Form[0], r.Form[0]))
}

// what names a call: the script's name, or the command in the client's case.
func (e *Event) what() string {
	switch {
	case e.title != "":
		return e.title
	case e.Script != nil:
		return e.Args[0] + " " + e.Script.Name()
	}
	return e.Args[0]
}

// sides shows two texts around their first difference.
func sides(l, r string) string {
	at, plain := firstDifference([]byte(l), []byte(r)), func(text string) string { return text }
	return fmt.Sprintf("%s on the left, %s on the right", around(l, at, 30, 40, plain), around(r, at, 30, 40, plain))
}

// firstDifference is the index of the first element in which two lists differ.
func firstDifference[E comparable](a, b []E) (at int) {
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at
}

// around shows so many bytes of text before and after an offset.
func around(text string, at, before, after int, show func(string) string) string {
	from, to := max(0, at-before), min(len(text), at+after)
	cut := show(text[from:to])
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(text) {
		cut += "…"
	}
	return cut
}

// dependency is an order between two roles that behaviour fixes, not timing.
type dependency struct {
	// what names it, equally in two recordings that mean the same.
	what string
	// found is the order found.
	found string
	// at is the event that shows it.
	at *Event
}

// dependencies returns the orders across roles: whether a transfer or removal of a member came after its offer, whether
// the first transfer of a queue came after the subscription, and how many consumers waited on a queue at a time.
func dependencies(t *Trace) []dependency {
	var all []dependency
	offered, subscribed, transferred := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, e := range t.Events {
		if e.Role.Name == Subscriber {
			for _, channel := range e.Args[1:] {
				subscribed[channel] = true
			}
		}
		isOffer := e.offers()
		for _, id := range e.ids {
			if isOffer {
				offered[id] = true
			} else {
				all = append(all, dependency{fmt.Sprintf("%s on %s", e.Role, id), after(offered[id], "the offer"), e})
			}
		}
		if e.Role.Name == TransferTask && !transferred[e.Role.Of] {
			transferred[e.Role.Of] = true
			channel := wire.NamesOf(e.Role.Of).Channel
			all = append(all, dependency{"first call of the " + e.Role.String(), after(subscribed[channel], "the subscription"), e})
		}
	}
	return append(all, waitingConsumers(t)...)
}

// offers reports whether a script puts a member into a timeout set.
func (e *Event) offers() bool {
	return e.Offer != nil || slices.ContainsFunc(e.Inner, func(l Line) bool { return l.Name() == "zadd" })
}

func after(seen bool, what string) string {
	if seen {
		return "after " + what
	}
	return "before " + what
}

// waitingConsumers returns for each queue how many consumers waited without a time limit at once. A consumer is served by a push.
func waitingConsumers(t *Trace) (all []dependency) {
	waiting, most, at := map[string]int{}, map[string]int{}, map[string]*Event{}
	for _, e := range t.Events {
		if of := e.Role.Of; e.Role.Name == Consumer && e.Args[len(e.Args)-1] == "0" {
			if waiting[of]++; waiting[of] > most[of] {
				most[of], at[of] = waiting[of], e
			}
			continue
		}
		for _, l := range e.commands() {
			if name := l.Name(); (name == "rpush" || name == "lpush") && len(l.Args) > 2 {
				waiting[l.Args[1]] -= len(l.Args) - 2
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		all = append(all, dependency{"consumers of " + Quoted(name), fmt.Sprintf("%d waiting at a time", most[name]), at[name]})
	}
	return all
}
