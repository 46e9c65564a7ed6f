package text

import (
	"fmt"
	"strings"
	"unicode"
)

// Inert returns a text from elsewhere so that a terminal shows it and does nothing that it
// says: control characters but for line ends and tabs become \x1b and the like.
func Inert(s string) string {
	if !strings.ContainsFunc(s, controls) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !controls(r):
			b.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// controls reports whether a terminal may act on a character, beyond the layout of text.
func controls(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
