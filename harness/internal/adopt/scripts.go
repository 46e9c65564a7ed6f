package adopt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/conformance"
)

// Script is a text that the release sends, or the nearest one does.
type Script struct {
	SHA1 string
	// Here and There tell which of the two sends it: the release, the nearest one.
	Here, There bool
	// Known is its entry in the catalogue, nil for a new text.
	Known *wire.Script
	// New says more of a new text, else it is nil.
	New *NewScript
}

// Name is the variant, or the one that is proposed for a new text.
func (s Script) Name() string {
	if s.New != nil {
		return s.New.Variant
	}
	return s.Known.Variant
}

// NewScript is a text that the catalogue lacks.
type NewScript struct {
	// Text is the whole of it, as it was seen.
	Text string
	// Variant is the name that is proposed for it.
	Variant string
	// Near is the known text that it is likest, among those that the nearest release sends; nil
	// where none is alike.
	Near *wire.Script
	// Calls are the ops of the cases that all those which show it have in common.
	Calls []string
	// Case is the first case that shows it.
	Case string
	// Keys and Args describe KEYS and ARGV, as the catalogue does.
	Keys, Args string
}

// compareScripts returns the scripts of both releases: those that both send, then those of the
// release alone, then those that it sends no more, each in the order in which they were seen.
func compareScripts(here, there *sight, cases []*conformance.Case, nearest wire.Release) []Script {
	ours, order := here.scripts()
	theirs, before := there.scripts()
	texts := here.texts()
	var common, news, gone []Script
	for _, sha := range order {
		s := Script{SHA1: sha, Here: true, There: theirs[sha] != nil, Known: ours[sha].first.Known}
		switch {
		case s.Known == nil:
			s.New = newScript(ours[sha], texts[sha], cases, nearest, news)
			news = append(news, s)
		case s.There:
			common = append(common, s)
		default:
			news = append(news, s)
		}
	}
	for _, sha := range before {
		if known := theirs[sha].first.Known; ours[sha] == nil && known != nil {
			gone = append(gone, Script{SHA1: sha, There: true, Known: known})
		}
	}
	return slices.Concat(common, news, gone)
}

// newScript describes a text that the catalogue lacks; others are those described before.
func newScript(u *use, text string, cases []*conformance.Case, nearest wire.Release, others []Script) *NewScript {
	n := &NewScript{Text: text, Case: u.caseID, Calls: commonCalls(cases, u.cases), Near: likest(text, nearest)}
	name := "unknown"
	switch {
	case n.Near != nil:
		name = variantName(n.Near.Variant)
	case len(n.Calls) > 0:
		_, name, _ = strings.Cut(n.Calls[0], ".")
	}
	taken := wire.Scripts()
	number := 1
	for _, s := range taken {
		if variantName(s.Variant) == name {
			number = max(number, variantNumber(s.Variant)+1)
		}
	}
	for _, s := range others {
		if s.New != nil && variantName(s.New.Variant) == name {
			number = max(number, variantNumber(s.New.Variant)+1)
		}
	}
	n.Variant = fmt.Sprintf("%s-v%d", name, number)
	n.Keys, n.Args = describe(u, queueOf(cases, u.caseID), n.Near)
	return n
}

// variantName is "offer" of "offer-v2", variantNumber 2.
func variantName(variant string) string {
	name, _ := cutVariant(variant)
	return name
}

func variantNumber(variant string) int {
	_, number := cutVariant(variant)
	return number
}

// cutVariant cuts a variant into both; what has no number has 0.
func cutVariant(variant string) (name string, number int) {
	i := strings.LastIndex(variant, "-v")
	if i < 0 {
		return variant, 0
	}
	number, _ = strconv.Atoi(variant[i+len("-v"):])
	return variant[:i], number
}

// likest returns the text, of those that a release sends, that shares the most with text, if
// that is half of the longer one.
func likest(text string, release wire.Release) *wire.Script {
	var best *wire.Script
	most := 0.5
	words := statements(text)
	for _, s := range wire.Scripts() {
		if !s.SentBy(release) {
			continue
		}
		if l := likeness(words, statements(s.Body)); l > most {
			best, most = &s, l
		}
	}
	return best
}

// commonCalls returns the ops that every case with one of the ids calls, without dq.offer where
// there are others: nearly every case begins with offers.
func commonCalls(cases []*conformance.Case, ids []string) []string {
	var common []string
	first := true
	for _, c := range cases {
		if !slices.Contains(ids, c.ID) {
			continue
		}
		var calls []string
		for _, s := range c.Steps {
			if s.Call != "" && !slices.Contains(calls, s.Call) {
				calls = append(calls, s.Call)
			}
		}
		if first {
			common, first = calls, false
			continue
		}
		common = slices.DeleteFunc(common, func(call string) bool { return !slices.Contains(calls, call) })
	}
	if i := slices.Index(common, "dq.offer"); i >= 0 && len(common) > 1 {
		common = slices.Delete(common, i, i+1)
	}
	return common
}

// queueOf returns the name of the destination queue of a case, after the name mapper.
func queueOf(cases []*conformance.Case, id string) string {
	for _, c := range cases {
		if c.ID == id {
			return c.Destination()
		}
	}
	return ""
}

// describe words KEYS and ARGV of a call as the catalogue does. What the arguments are is taken
// from the text that it is likest, where that has as many.
func describe(u *use, queue string, near *wire.Script) (keys, args string) {
	var names []string
	for _, key := range u.first.Keys {
		if queue != "" {
			key = strings.ReplaceAll(key, queue, "<dest>")
		}
		names = append(names, key)
	}
	keys = strings.Join(names, " ")
	if near != nil && (len(strings.Split(near.Args, " | ")) == len(u.first.Args) || near.Args == "" && len(u.first.Args) == 0) {
		return keys, near.Args
	}
	unknown := slices.Repeat([]string{"<?>"}, len(u.first.Args))
	return keys, strings.Join(unknown, " | ")
}

// Diff shows a new text beside the known one that it is likest, a statement a line; it is the
// text alone where none is alike.
func (n *NewScript) Diff() string {
	var before []string
	name := "/dev/null"
	if n.Near != nil {
		before, name = statements(n.Near.Body), n.Near.Variant
	}
	return fmt.Sprintf("--- %s\n+++ %s\n%s", name, n.Variant, unified(before, statements(n.Text)))
}

// DifferingScripts are those that one of the two releases alone sends.
func (a *Adoption) DifferingScripts() []Script {
	return slices.DeleteFunc(slices.Clone(a.Scripts), func(s Script) bool { return s.Here && s.There })
}

// file is the name of the file of a new text.
func (n *NewScript) file() string {
	replace := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '-'
	}
	return cmp.Or(strings.Trim(strings.Map(replace, n.Variant), "-"), "unknown") + ".lua"
}
