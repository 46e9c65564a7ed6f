package text

import (
	"fmt"
	"strings"
)

// DidYouMean returns the hint of an error after an unknown word: ` (did you mean "x"?)`, or "" if no known word is like it.
func DidYouMean(word string, known []string) string {
	meant := Meant(word, known)
	if meant == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", meant)
}

// longestWord bounds the work for a mistyped word.
const longestWord = 64

// Meant returns the known word that a mistyped word probably means, or "": a word that it begins, or the word with the fewest slips, at
// most one for three letters and three in all. Case does not matter.
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

// slips counts the letters to insert, delete, replace or swap with the next one on the way from a to b.
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
