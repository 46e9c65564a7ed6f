package migrate

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/internal/values"
)

// seeming is the form that the bytes of a value appear to have.
type seeming uint8

const (
	looksOther seeming = iota // of neither codec
	looksFrom                 // of the codec that is read
	looksTo                   // of the codec that is written
	looksBoth                 // of either: "42" is text, and JSON
)

// looks tells of which of two codecs a value seems to be.
func looks(from, to string, value []byte) seeming {
	kinds := strings.Split(strings.ReplaceAll(values.Detect(value).Codec, "json3", "json"), "|")
	s := looksOther
	if mayBe(from, kinds, value) {
		s |= looksFrom
	}
	if mayBe(to, kinds, value) {
		s |= looksTo
	}
	return s
}

// mayBe reports whether a codec may have written a value that seems to be of one of the kinds. Of a codec that leaves no mark, or
// is not known here, it may.
func mayBe(name string, kinds []string, value []byte) bool {
	name = strings.ReplaceAll(name, "json3", "json") // the same form
	inner := name[strings.LastIndex(name, "/")+1:]
	switch {
	case name == "long":
		_, err := codec.Long{}.Decode(value)
		return err == nil
	case name == "string" && kinds[0] == values.Unknown:
		return utf8.Valid(value) // with control characters
	case name == "marshalling" && kinds[0] == values.Unknown:
		return len(value) > 0 && value[0] == 4 // its version; Java tells
	case !slices.Contains([]string{"string", "json", "typed-json", "kryo5", "marshalling", "serialization"}, inner):
		return true
	}
	return slices.Contains(kinds, name)
}
