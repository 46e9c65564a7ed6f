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
	text = fmt.Sprintf("%q", value)
	switch kind.Likeliest() {
	case codec.NameJSON, codec.NameTypedJSON, codec.NameString:
		if isLine(value) {
			text = string(value)
		}
	case codec.NameKryo5, codec.NameMarshalling, codec.NameSerialization:
		if shown, ok := codec.Show(value); ok {
			text = shown
		}
	}
	if len(text) <= maxText {
		return text, true
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut], false
}

// isLine reports whether a value is text that can be shown in a line as it is.
func isLine(value []byte) bool {
	return utf8.Valid(value) && !bytes.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
}
