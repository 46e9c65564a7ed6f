package compare

import (
	"fmt"
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

var partOfVersion = regexp.MustCompile(`[0-9]+|\pL+`)

// compareVersions orders 3.9.1 before 3.16.6, and 4.0.0-RC1 before 4.0.0, which equals 4.0.0.Final and v4.0: digits compare
// as numbers, a pre-release precedes its release, and any other word follows it, as in Maven and semantic versions.
func compareVersions(a, b string) int { return slices.Compare(keyOf(a), keyOf(b)) }

// keyOf takes a version apart where digits or letters end. The first digit of a part is its kind: a pre-release precedes the
// end, which precedes a number in front, a word, and a further number. Zeros before a word and at the end are left out.
func keyOf(version string) (key []string) {
	zero := "5" + padded("0")
	trim := func() {
		for len(key) > 1 && key[len(key)-1] == zero {
			key = key[:len(key)-1]
		}
	}
	texts := partOfVersion.FindAllString(strings.ToLower(version), -1)
	if len(texts) > 1 && texts[0] == "v" {
		texts = texts[1:]
	}
	for i, text := range texts {
		order, pre := preReleases[text]
		if len(text) == 1 && (i+1 == len(texts) || texts[i+1][0] > '9') {
			pre = false
		}
		if text[0] <= '9' {
			kind := "5"
			if i == 0 {
				kind = "3"
			}
			key = append(key, kind+padded(text))
			continue
		}
		switch trim(); {
		case i > 0 && slices.Contains([]string{"final", "ga", "release"}, text):
		case i > 0 && pre:
			key = append(key, fmt.Sprint("1", order))
		default:
			key = append(key, "4"+text)
		}
	}
	trim()
	return append(key, "2")
}

// padded has numbers of any length compare as texts: the length of a number comes before its digits.
func padded(number string) string {
	number = strings.TrimLeft(number, "0")
	return fmt.Sprintf("%06d", len(number)) + number
}
