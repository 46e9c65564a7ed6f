package forensics_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/forensics"
)

// The bytes are those that Redisson's codecs write for the same few values.
func TestKindOf(t *testing.T) {
	bytes := func(s string) string {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		require.NoError(t, err)
		return string(b)
	}
	for _, c := range []struct{ value, codec, class, text string }{
		{"", "string|bytes", "", ""},
		{"hello", "string", "java.lang.String", "hello"},
		{"42", "json|typed-json|long|string", "", "42"},
		{"4.5", "json|typed-json|string", "", "4.5"},
		{`"hello"`, "json|typed-json|string", "java.lang.String", `"hello"`},
		{`["java.lang.Long",42]`, "json", "java.lang.Long", `["java.lang.Long",42]`},
		{`{"@class":"demo.Order","id":7}`, "json", "demo.Order", `{"@class":"demo.Order","id":7}`},
		{`{"id":7}`, "typed-json|string", "", `{"id":7}`},
		{`["a","b"]`, "typed-json|string", "", `["a","b"]`},
		{bytes("0368656c6cef"), "kryo5", "java.lang.String", `"hello"`},
		{bytes("0254"), "kryo5", "java.lang.Integer", "42"},
		{bytes("0954"), "kryo5", "java.lang.Long", "42"},
		{bytes("0100 64656d6f2e4f726465f2 0e 626fe2 01c601"), "kryo5", "demo.Order", `"\x01\x00demo.Orde\xf2\x0ebo\xe2\x01\xc6\x01"`},
		{bytes("043e0568656c6c6f"), "marshalling", "java.lang.String", `"hello"`},
		{bytes("044b0000002a"), "marshalling", "java.lang.Integer", "42"},
		{bytes("aced000574000568656c6c6f"), "serialization", "java.lang.String", `"hello"`},
		{bytes("aced0005 7372 000a 64656d6f2e4f72646572 00"), "serialization", "demo.Order", `"\xac\xed\x00\x05sr\x00\ndemo.Order\x00"`},
		{"\xff\xfe\xfd", "unknown", "", `"\xff\xfe\xfd"`},
		{"two\nlines", "string", "java.lang.String", `"two\nlines"`},
	} {
		kind := forensics.KindOf([]byte(c.value))
		require.Equal(t, forensics.Kind{Codec: c.codec, Class: c.class}, kind, "%q", c.value)
		text, whole := forensics.Text([]byte(c.value), kind)
		require.True(t, whole)
		if c.value != "" {
			require.Equal(t, c.text, text)
		}
	}
}

func TestTextIsShortened(t *testing.T) {
	long := strings.Repeat("ä", 300)
	text, whole := forensics.Text([]byte(long), forensics.KindOf([]byte(long)))
	require.False(t, whole)
	require.Equal(t, strings.Repeat("ä", 100), text)
	text, _ = forensics.Text([]byte("x"+long), forensics.KindOf([]byte(long)))
	require.Equal(t, "x"+strings.Repeat("ä", 99), text, "no half of a character")
}
