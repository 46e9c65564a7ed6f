// Package text writes text for terminals and shells, reads users' files, and guesses mistyped words.
package text

import (
	"strings"
	"unicode/utf8"
)

// Width is the width of a report, in columns.
const Width = 80

// Wrap writes words after a head, in lines of Width columns indented like the first words. It cuts no word and keeps repeated spaces.
func Wrap(b *strings.Builder, head, words string) {
	WrapAt(b, Width, utf8.RuneCountInString(head), head, words)
}

// WrapAt is Wrap in lines of width columns, indented by indent columns from the second on.
func WrapAt(b *strings.Builder, width, indent int, head, words string) {
	b.WriteString(head)
	at := utf8.RuneCountInString(head)
	for i, word := range strings.Split(strings.ReplaceAll(strings.TrimSpace(words), "\n", " "), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteString("\n")
}
