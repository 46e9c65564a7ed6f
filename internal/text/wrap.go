// Package text lays out what people read in a terminal, and guesses what they meant to type.
package text

import (
	"strings"
	"unicode/utf8"
)

// Width is how many columns a report for people takes.
const Width = 80

// Wrap writes words behind a head, in lines of Width columns, the further ones as far in as
// the first. A word is never cut, and spaces that follow each other stay.
func Wrap(b *strings.Builder, head, words string) {
	WrapAt(b, Width, utf8.RuneCountInString(head), head, words)
}

// WrapAt is Wrap in lines of width columns, the further ones indented by indent columns.
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
