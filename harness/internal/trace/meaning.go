package trace

import (
	"fmt"
	"slices"
	"strings"
)

// meaning says in one sentence what it means that call i of a role differs; form
// is the index of the differing command within the call.
func meaning(role Role, i int, left, right []*Event, form int) string {
	call := fmt.Sprintf("call %d of the %s", i+1, role)
	if s := countMeaning(call, left[min(i, len(left)):], right[min(i, len(right)):]); s != "" {
		return s
	}
	l, r := left[i], right[i]
	if form == 0 {
		return call + " " + clientMeaning(l, r)
	}
	inside := fmt.Sprintf("%s: inside %s, ", call, l.what())
	switch {
	case form >= len(l.Form):
		return inside + "the right has one command more"
	case form >= len(r.Form):
		return inside + "the left has one command more"
	}
	return fmt.Sprintf("%scommand %d is different: %s on the left, %s on the right", inside, form,
		shorten(strings.TrimSpace(l.Form[form]), r.Form[form]), shorten(strings.TrimSpace(r.Form[form]), l.Form[form]))
}

// cause is meaning without the place: the left is what is expected.
func cause(i int, left, right []*Event, form int) string {
	l, r := left[min(i, len(left)):], right[min(i, len(right)):]
	switch {
	case len(l) == 0, len(r) > len(l) && slices.Equal(r[1].Form, l[0].Form):
		return "an extra " + r[0].what()
	case len(r) == 0, len(l) > len(r) && slices.Equal(l[1].Form, r[0].Form):
		return "no " + l[0].what()
	case l[0].what() != r[0].what():
		return fmt.Sprintf("%s in place of %s", r[0].what(), l[0].what())
	case form == 0:
		return "other arguments of " + l[0].what()
	default:
		return "other commands inside " + l[0].what()
	}
}

// countMeaning recognises a call too many: it is said only where one side has more
// calls and the next one is equal again. This words a difference, it never hides one.
func countMeaning(call string, left, right []*Event) string {
	switch {
	case len(left) == 0:
		return fmt.Sprintf("%s is only on the right: %s", call, right[0].what())
	case len(right) == 0:
		return fmt.Sprintf("%s is only on the left: %s", call, left[0].what())
	case len(left) > len(right) && slices.Equal(left[1].Form, right[0].Form):
		return fmt.Sprintf("%s is only on the left: %s; the right goes on with the next", call, left[0].what())
	case len(right) > len(left) && slices.Equal(right[1].Form, left[0].Form):
		return fmt.Sprintf("%s is only on the right: %s; the left goes on with the next", call, right[0].what())
	}
	return ""
}

func clientMeaning(l, r *Event) string {
	if l.what() != r.what() {
		return fmt.Sprintf("is %s on the left and %s on the right", l.what(), r.what())
	}
	if l.DB != r.DB {
		return fmt.Sprintf("goes to database %d on the left and %d on the right", l.DB, r.DB)
	}
	if lt, rt := l.Transfer, r.Transfer; lt != nil && rt != nil {
		if lt.Limit != rt.Limit {
			return fmt.Sprintf("moves at most %d members on the left and %d on the right", lt.Limit, rt.Limit)
		}
	}
	if lo, ro := l.Offer, r.Offer; lo != nil && ro != nil {
		if lo.Value != ro.Value {
			return fmt.Sprintf("offers another value: %s on the left, %s on the right", quoted(lo.Value), quoted(ro.Value))
		}
	}
	return fmt.Sprintf("(%s) has other arguments: %s on the left, %s on the right", l.what(),
		shorten(l.Form[0], r.Form[0]), shorten(r.Form[0], l.Form[0]))
}

// what names a call: the script's name, or the command in the client's case.
func (e *Event) what() string {
	if e.title != "" {
		return e.title
	}
	if e.Script != nil {
		return e.Args[0] + " " + e.Script.Name()
	}
	if len(e.Args) == 0 {
		return "nothing"
	}
	return e.Args[0]
}

// shorten returns the part of s around its first difference to other.
func shorten(s, other string) string {
	other = strings.TrimSpace(other)
	at := 0
	for at < min(len(s), len(other)) && s[at] == other[at] {
		at++
	}
	from, to := max(0, at-30), min(len(s), at+40)
	text := s[from:to]
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return text
}
