package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Valid returns the name of a key, which may be any bytes, where only text may stand: bytes that are
// no UTF-8 become \xff and the like, so that two names stay two, and a name that has such a \x of its
// own has its backslash as \x5c. Any other name is returned as it is.
func Valid(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, `\x`) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && size == 1 || strings.HasPrefix(name, `\x`) {
			fmt.Fprintf(&b, `\x%02x`, name[0])
		} else {
			b.WriteString(name[:size])
		}
		name = name[size:]
	}
	return b.String()
}

// Line is Valid in one line, without what a terminal acts on: what is not to be seen is as Go has it between quotes.
func Line(name string) string {
	name = Valid(name)
	if !strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}
