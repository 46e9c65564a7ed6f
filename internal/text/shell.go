package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Shell writes a word so that it can be pasted into a shell as one argument: as it is where that
// is enough, in quotes, or, with anything in it that is not to be seen or no UTF-8, in the $'…' of
// bash, zsh, ksh and POSIX of 2024. A word with a zero byte can be no argument.
func Shell(word string) string {
	const plain = "-_.:/@%+{}0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch {
	case word != "" && strings.Trim(word, plain) == "" && !expands(word):
		return word
	case utf8.ValidString(word) && !strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for len(word) > 0 {
		r, size := utf8.DecodeRuneInString(word)
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + word[:size])
		case strconv.IsPrint(r) && (r != utf8.RuneError || size > 1):
			b.WriteString(word[:size])
		default:
			for i := range size {
				fmt.Fprintf(&b, `\%03o`, word[i])
			}
		}
		word = word[size:]
	}
	b.WriteString("'")
	return b.String()
}

// expands reports whether a shell may make more than one word of braces.
func expands(word string) bool { return strings.Contains(word, "{") && strings.Contains(word, "..") }
