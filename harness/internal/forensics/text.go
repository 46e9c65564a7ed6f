package forensics

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/harness/internal/values"
)

// maxText is how much of a value Text shows, in bytes.
const maxText = 200

// Text shows a value to people, in one line: JSON and text as they are, other values as
// values.Show does, and the bytes, quoted, of what nothing here reads.
// The second result says whether that is all of it.
func Text(value []byte, kind values.Kind) (text string, whole bool) {
	switch kind.Likeliest() {
	case "json", "typed-json", "string":
		if isLine(value) {
			return cut(string(value))
		}
	case "kryo5", "marshalling", "serialization":
		if shown, err := values.Show(kind.Likeliest(), value); err == nil {
			return cut(shown)
		}
	}
	if len(value) > maxText { // quoted, it is no shorter
		text, _ = cut(fmt.Sprintf("%q", value[:maxText]))
		return text, false
	}
	return cut(fmt.Sprintf("%q", value))
}

// cut is at most maxText bytes of a text, and whether that is all.
func cut(text string) (string, bool) {
	if len(text) <= maxText {
		return text, true
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], false
}

// isLine reports whether a value is text that can be shown in a line as it is.
func isLine(value []byte) bool {
	return utf8.Valid(value) && !bytes.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
}
