// Package text writes text for terminals and shells, reads users' files, and guesses mistyped words.
package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
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
// the like, and so do those that turn the direction of text.
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
func controls(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

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

// Width is the width of a report, in columns.
const Width = 80

// Wrap returns words after a head, inert, in lines of Width columns indented like the first words. It cuts no word and keeps repeated spaces.
func Wrap(head, words string) string {
	return WrapAt(Width, utf8.RuneCountInString(head), head, Inert(words))
}

// WrapAt is Wrap of inert words in lines of width columns, indented by indent columns from the second on.
func WrapAt(width, indent int, head, words string) (wrapped string) {
	wrapped, at := head, utf8.RuneCountInString(head)
	for i, word := range strings.Split(strings.ReplaceAll(strings.TrimSpace(words), "\n", " "), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > width:
			wrapped += "\n" + strings.Repeat(" ", indent)
			at = indent
		default:
			wrapped += " "
			at++
		}
		wrapped += word
		at += n
	}
	return wrapped + "\n"
}

// Count shows a number with its thousands apart.
func Count(n int64) string {
	digits := fmt.Sprint(n)
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Plural shows a number of things.
func Plural(n int64, one string) string {
	if n != 1 {
		one += "s"
	}
	return Count(n) + " " + one
}

// Span shows a length of time in ms.
func Span(ms int64) string {
	switch d := time.Duration(ms) * time.Millisecond; {
	case ms > 100*24*3600e3:
		return Count(ms/24/3600e3) + " days"
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.String()
	}
}

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

// readPatience bounds the time until the end of a pipe.
const readPatience = 3 * time.Second

// ErrTooLong says that a file is too long.
var ErrTooLong = errors.New("expected at most")

// ReadFile reads a file of a user's choice, of at most so many bytes. A pipe must end within 3 s and before ctx.
func ReadFile(ctx context.Context, name string, most int64) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // opening a pipe waits for its writer
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_ = file.SetReadDeadline(time.Now().Add(readPatience)) // fails for a regular file, which needs no deadline
	defer context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Now()) })()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("%s: expected its end within %s, got %d bytes", name, readPatience, len(content))
	case err == nil && int64(len(content)) > most:
		return nil, fmt.Errorf("%s: %w %d bytes", name, ErrTooLong, most)
	}
	if info, failed := file.Stat(); err == nil && failed == nil && len(content) == 0 && info.Mode()&os.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s: got nothing from the pipe: does a program write to it?", name)
	}
	return content, err
}
