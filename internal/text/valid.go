package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Valid returns the name of a key, which may be any bytes, where only text may stand: bytes that are
// no UTF-8 become \xff and the like, so that two names stay two.
func Valid(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, name[i])
		} else {
			b.WriteString(name[i : i+size])
		}
		i += size
	}
	return b.String()
}
