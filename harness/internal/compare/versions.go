package compare

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// preReleases are the words that precede a release, in Maven's order (a, b and m only before a number); daily builds
// precede all. Words of one order are the same.
var preReleases = map[string]int{
	"dev": 0, "nightly": 0, "unstable": 0, "canary": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2, "ea": 3, "pre": 3, "preview": 3, "next": 3,
	"milestone": 4, "m": 4, "rc": 5, "cr": 5, "snapshot": 6,
}

// part is a number or a word of a version. A part orders by kind, then by order, then by text.
type part struct {
	kind, order int
	text        string
}

// The kinds: where a version ends, the part is of kind end.
const (
	preRelease = iota
	end
	firstNumber
	word
	number
)

var partOfVersion = regexp.MustCompile(`[0-9]+|\pL+`)

// compareVersions orders 3.9.1 before 3.16.6, and 4.0.0-RC1 before 4.0.0, which equals 4.0.0.Final and v4.0: digits compare
// as numbers, a pre-release precedes its release, and any other word follows it, as in Maven and semantic versions.
func compareVersions(a, b string) int {
	x, y := parseVersion(a), parseVersion(b)
	for i := range max(len(x), len(y)) {
		p, q := part{kind: end}, part{kind: end}
		if i < len(x) {
			p = x[i]
		}
		if i < len(y) {
			q = y[i]
		}
		if order := cmp.Or(cmp.Compare(p.kind, q.kind), cmp.Compare(p.order, q.order), cmp.Compare(p.text, q.text)); order != 0 {
			return order
		}
	}
	return 0
}

// parseVersion takes a version apart where digits or letters end. Zeros before a word and at the end, and words that say no
// more than the number, are left out.
func parseVersion(text string) (parts []part) {
	texts := partOfVersion.FindAllString(strings.ToLower(text), -1)
	if len(texts) > 1 && texts[0] == "v" {
		texts = texts[1:]
	}
	for i, text := range texts {
		order, pre := preReleases[text]
		if len(text) == 1 {
			pre = pre && i+1 < len(texts) && texts[i+1][0] <= '9'
		}
		isNumber := text[0] <= '9'
		if !isNumber {
			parts = withoutZeros(parts)
		}
		switch trimmed := strings.TrimLeft(text, "0"); {
		case isNumber && i == 0:
			parts = append(parts, part{firstNumber, len(trimmed), trimmed})
		case isNumber:
			parts = append(parts, part{number, len(trimmed), trimmed})
		case i > 0 && slices.Contains([]string{"final", "ga", "release"}, text):
		case i > 0 && pre:
			parts = append(parts, part{preRelease, order, ""})
		default:
			parts = append(parts, part{word, 0, text})
		}
	}
	return withoutZeros(parts)
}

// withoutZeros makes 4.0.0 the same as 4.
func withoutZeros(parts []part) []part {
	for len(parts) > 1 && parts[len(parts)-1] == (part{kind: number}) {
		parts = parts[:len(parts)-1]
	}
	return parts
}
