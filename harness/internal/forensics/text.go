package forensics

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// maxText is how much of a value Text shows, in bytes.
const maxText = 200

// Text shows a value to people, in one line: JSON and text as they are, other values as
// codec.Show does, and the bytes, quoted, of what nothing here reads.
// The second result says whether that is all of it.
func Text(value []byte, kind codec.Kind) (text string, whole bool) {
	switch kind.Likeliest() {
	case codec.NameJSON, codec.NameTypedJSON, codec.NameString:
		if isLine(value) {
			return cut(string(value))
		}
	case codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization:
		if shown, ok := codec.Show(value); ok {
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
