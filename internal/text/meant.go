package text

import (
	"fmt"
	"strings"
)

// DidYouMean is what an error says behind a word that is none of those known:
// ` (did you mean "x"?)`, or nothing where none is like it.
func DidYouMean(word string, known []string) string {
	meant := Meant(word, known)
	if meant == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", meant)
}

// longestWord bounds the work that a mistyped word is worth.
const longestWord = 64

// Meant returns the known word that a mistyped one probably stands for, empty if there is none: one that it begins, or the one
// that takes the fewest slips of the hand, one for three letters and three in all at most. Case does not matter.
func Meant(word string, known []string) string {
	if word == "" || len(word) > longestWord {
		return ""
	}
	typed, meant := strings.ToLower(word), ""
	fewest := min(max(1, len(typed)/3), 3) + 1
	for _, candidate := range known {
		n := slips(typed, strings.ToLower(candidate))
		if len(typed) >= 3 && strings.HasPrefix(strings.ToLower(candidate), typed) {
			n = min(n, 1)
		}
		if n < fewest {
			fewest, meant = n, candidate
		}
	}
	return meant
}

// slips is how many letters have to be put in, left out, replaced or swapped with the next
// one to make b of a: the distance of optimal string alignment.
func slips(a, b string) int {
	// Rows of the table of distances between the beginnings of a and b: two letters of a ago, one ago, and now.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
