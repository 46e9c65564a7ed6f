package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var partOfVersion = regexp.MustCompile(`[0-9]+|\pL+`)

// compareVersions orders 3.9.1 before 3.16.6, and 4.0.0-RC1 before 4.0.0, as semantic versions are: digits compare as numbers, and a word
// behind numbers marks a pre-release, but for Final, GA and RELEASE.
func compareVersions(a, b string) int { return slices.Compare(keyOf(a), keyOf(b)) }

// keyOf takes a version apart. The first digit of a part is its kind: a pre-release precedes the end, which precedes a number. The length
// of a number comes before its digits.
func keyOf(version string) (key []string) {
	for i, text := range partOfVersion.FindAllString(strings.ToLower(version), -1) {
		switch number := strings.TrimLeft(text, "0"); {
		case text[0] <= '9':
			key = append(key, fmt.Sprintf("3%06d%s", len(number), number))
		case i == 0 && text == "v", i > 0 && slices.Contains([]string{"final", "ga", "release"}, text):
		case i == 0:
			key = append(key, "4"+text)
		default:
			key = append(key, "1"+text)
		}
	}
	return append(key, "2")
}
