package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escaped writes a text with f's word for each character. f gets the character, its bytes, and the text from there on; a byte that is no UTF-8
// is a RuneError of one byte.
func escaped(s string, f func(r rune, char, rest string) string) string {
	var b strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		b.WriteString(f(r, s[:size], s))
		s = s[size:]
	}
	return b.String()
}

// Inert returns foreign text that a terminal shows without acting on it: control characters except line ends and tabs become \x1b and
// the like.
func Inert(s string) string {
	return escaped(s, func(r rune, _, _ string) string {
		switch {
		case !controls(r):
			return string(r)
		case r < utf8.RuneSelf:
			return fmt.Sprintf(`\x%02x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// controls reports whether a terminal may act on a character, beyond the layout of text.
func controls(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Valid returns the name of a key, which may be any bytes, as UTF-8: other bytes become \xff and the like, and the backslash before an x
// becomes \x5c, so that two names stay two.
func Valid(name string) string {
	return escaped(name, func(r rune, char, rest string) string {
		if r == utf8.RuneError && len(char) == 1 || strings.HasPrefix(rest, `\x`) {
			return fmt.Sprintf(`\x%02x`, char[0])
		}
		return char
	})
}

// Line is Valid on one line: invisible characters are as in Go's quotes.
func Line(name string) string {
	return escaped(Valid(name), func(r rune, char, _ string) string {
		if strconv.IsPrint(r) {
			return char
		}
		return strings.Trim(strconv.QuoteRune(r), "'")
	})
}

// Shell returns a word that a shell reads as one argument: plain or in quotes, or with invisible characters and bytes that are no UTF-8 in the
// $'…' of bash, zsh, ksh and POSIX of 2024. A word with a zero byte can be no argument.
func Shell(word string) string {
	const plain = "-_.:/@%+{}0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	expands := strings.Contains(word, "{") && strings.Contains(word, "..") // a shell may make several words of {a..c}
	switch {
	case word != "" && strings.Trim(word, plain) == "" && !expands:
		return word
	case utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return "$'" + escaped(word, func(r rune, char, _ string) string {
		switch {
		case r == '\'' || r == '\\':
			return `\` + char
		case strconv.IsPrint(r) && (r != utf8.RuneError || len(char) > 1):
			return char
		}
		octal := ""
		for i := range len(char) {
			octal += fmt.Sprintf(`\%03o`, char[i])
		}
		return octal
	}) + "'"
}
