package forensics_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/values"
)

// The bytes are those that Redisson's codecs write for the same few values.
func TestText(t *testing.T) {
	bytes := func(s string) string {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		require.NoError(t, err)
		return string(b)
	}
	for _, c := range []struct{ value, text string }{
		{"", ""},
		{"hello", "hello"},
		{"42", "42"},
		{"4.5", "4.5"},
		{`"hello"`, `"hello"`},
		{`["java.lang.Long",42]`, `["java.lang.Long",42]`},
		{`{"@class":"demo.Order","id":7}`, `{"@class":"demo.Order","id":7}`},
		{`{"id":7}`, `{"id":7}`},
		{`["a","b"]`, `["a","b"]`},
		{bytes("0368656c6cef"), `"hello"`},
		{bytes("0254"), "42"},
		{bytes("0954"), "42"},
		{bytes("0100 64656d6f2e4f726465f2 0e 626fe2 01c601"), `"\x01\x00demo.Orde\xf2\x0ebo\xe2\x01\xc6\x01"`},
		{bytes("043e0568656c6c6f"), `"hello"`},
		{bytes("044b0000002a"), "42"},
		{bytes("aced000574000568656c6c6f"), `"hello"`},
		{bytes("aced0005 7372 000a 64656d6f2e4f72646572 00"), `"\xac\xed\x00\x05sr\x00\ndemo.Order\x00"`},
		{"\xff\xfe\xfd", `"\xff\xfe\xfd"`},
		{"two\nlines", `"two\nlines"`},
	} {
		text, whole := forensics.Text([]byte(c.value), values.Detect([]byte(c.value)))
		require.True(t, whole)
		if c.value != "" {
			require.Equal(t, c.text, text)
		}
	}
}

func TestTextIsShortened(t *testing.T) {
	long := strings.Repeat("ä", 300)
	text, whole := forensics.Text([]byte(long), values.Detect([]byte(long)))
	require.False(t, whole)
	require.Equal(t, strings.Repeat("ä", 100), text)
	text, _ = forensics.Text([]byte("x"+long), values.Detect([]byte(long)))
	require.Equal(t, "x"+strings.Repeat("ä", 99), text, "no half of a character")
}
