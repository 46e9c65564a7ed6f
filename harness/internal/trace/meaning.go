package trace

import (
	"fmt"
	"slices"
	"strings"
)

// meaning says in one sentence what it means that call i of a role differs, and the cause without the place: the left
// is expected. form is the index of the differing command within the call.
func meaning(role Role, i int, left, right []*Event, form int) (text, cause string) {
	call := fmt.Sprintf("call %d of the %s", i+1, role)
	l, r := left[min(i, len(left)):], right[min(i, len(right)):]
	// A call too many is one only if the next one is equal again. That words a difference, it never hides one.
	switch {
	case len(l) == 0, len(r) > len(l) && slices.Equal(r[1].Form, l[0].Form):
		return tooMany(call, "right", "left", r[0], l), "an extra " + r[0].what()
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
		return fmt.Sprintf("offers another value: %s on the left, %s on the right", quoted(l.Offer.Value), quoted(r.Offer.Value))
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
	case len(e.Args) == 0:
		return "nothing"
	}
	return e.Args[0]
}

// sides shows two texts around their first difference.
func sides(l, r string) string {
	at := firstDifference(l, r)
	return fmt.Sprintf("%s on the left, %s on the right", around(l, at, 30, 40), around(r, at, 30, 40))
}

// firstDifference is the offset of the first byte in which two texts differ.
func firstDifference(a, b string) (at int) {
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at
}

// around cuts text to so many bytes before and after an offset.
func around(text string, at, before, after int) string {
	from, to := max(0, at-before), min(len(text), at+after)
	cut := text[from:to]
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(text) {
		cut += "…"
	}
	return cut
}
