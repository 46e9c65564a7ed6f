package compare

import (
	"cmp"
	"strings"
	"unicode"
)

// preReleases are the words that precede a release, in Maven's order (a, b and m only before a number); daily builds
// precede all.
var preReleases = map[string]int{
	"dev": 0, "nightly": 0, "unstable": 0, "canary": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2, "ea": 2, "pre": 2, "preview": 2, "next": 2,
	"milestone": 3, "m": 3, "rc": 4, "cr": 4, "snapshot": 5,
}

// released are words that say no more than the number.
var released = map[string]bool{"final": true, "ga": true, "release": true}

// compareVersions orders 3.9.1 before 3.16.6, and 4.0.0-RC1 before 4.0.0, which equals 4.0.0.Final and v4.0: digits compare
// as numbers, a pre-release precedes its release, and any other word follows it, as in Maven and semantic versions.
func compareVersions(a, b string) int {
	x, y := parseVersion(a), parseVersion(b)
	for i := range max(len(x), len(y)) {
		if order := comparePart(x, y, i); order != 0 {
			return order
		}
	}
	return 0
}

// part is a number, or a word in small letters.
type part struct {
	text     string
	isNumber bool
}

// parseVersion takes a version apart where digits or letters end.
func parseVersion(text string) []part {
	if rest, ok := strings.CutPrefix(text, "v"); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		text = rest
	}
	var parts []part
	for text != "" {
		n := len(text) - len(strings.TrimLeft(text, "0123456789"))
		number := n > 0
		if !number {
			n = len(text) - len(strings.TrimLeftFunc(text, unicode.IsLetter))
		}
		if n == 0 {
			n = 1 // between them
		} else {
			parts = add(parts, strings.ToLower(text[:n]), number)
		}
		text = text[n:]
	}
	return withoutZeros(parts)
}

func add(parts []part, text string, number bool) []part {
	switch {
	case number:
		return append(parts, part{strings.TrimLeft(text, "0"), true})
	case len(parts) > 0 && released[text]:
		return parts
	}
	return append(withoutZeros(parts), part{text, false})
}

// withoutZeros makes 4.0.0 the same as 4.
func withoutZeros(parts []part) []part {
	for len(parts) > 1 && parts[len(parts)-1] == (part{"", true}) {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// comparePart compares the ith parts: a pre-release, the end, any other word, a number.
func comparePart(x, y []part, i int) int {
	a, kindA := partAt(x, i)
	b, kindB := partAt(y, i)
	if order := cmp.Compare(kindA, kindB); order != 0 {
		return order
	}
	switch {
	case a.isNumber:
		return cmp.Or(cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.text, b.text))
	case kindA != 0:
		return cmp.Compare(a.text, b.text)
	}
	return cmp.Or(cmp.Compare(preReleases[a.text], preReleases[b.text]), cmp.Compare(aliased(a.text), aliased(b.text)))
}

// aliased is the word that a short one stands for.
func aliased(word string) string {
	for long, short := range map[string]string{"alpha": "a", "beta": "b", "milestone": "m", "rc": "cr"} {
		if word == short {
			return long
		}
	}
	return word
}

// partAt is the ith part, and its place among those that may stand there.
func partAt(parts []part, i int) (part, int) {
	if i >= len(parts) {
		return part{}, 1
	}
	p := parts[i]
	_, pre := preReleases[p.text]
	if len(p.text) == 1 && pre {
		pre = i+1 < len(parts) && parts[i+1].isNumber
	}
	switch {
	case i == 0 && p.isNumber:
		return p, 2
	case p.isNumber:
		return p, 4
	case i > 0 && pre:
		return p, 0
	}
	return p, 3
}
