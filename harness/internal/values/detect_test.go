package values_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/harness/internal/values"
)

func binary(t testing.TB, text string) string {
	data, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return string(data)
}

const sub = "aced00057372000864656d6f2e5375620000000000000001020002490001784c000473656c6674000a4c64656d6f2f5375623b787000000005" + "71007e0002"

// The bytes are as Redisson's codecs write them.
func TestDetectAndShow(t *testing.T) {
	for _, c := range []struct{ value, codec, class, shown string }{
		{"", "string|bytes", "", `""`},
		{"hello", "string", "java.lang.String", `"hello"`},
		{"42", "json|typed-json|json3|typed-json3|long|string", "", "42"},
		{"4.5", "json|typed-json|json3|typed-json3|string", "", "4.5"},
		{`"hello"`, "json|typed-json|json3|typed-json3|string", "java.lang.String", `"hello"`},
		{`["java.lang.Long",42]`, "json|json3", "java.lang.Long", `["java.lang.Long",42]`},
		{`{"@class":"demo.Order","id":7}`, "json|json3", "demo.Order", `{"@class":"demo.Order","id":7}`},
		{`{"@class":"demo.Order","at":["java.util.Date",7]}`, "json", "demo.Order", `{"@class":"demo.Order","at":["java.util.Date",7]}`},
		{`{"@class":"o","at":["java.util.Date","1970-01-01T00:00:00.007Z"]}`, "json3", "o", `{"@class":"o","at":["java.util.Date","1970-01-01T00:00:00.007Z"]}`},
		{`{"id":7}`, "typed-json|typed-json3|string", "", `{"id":7}`},
		{`["a","b"]`, "typed-json|typed-json3|string", "", `["a","b"]`},
		{binary(t, "0368656c6cef"), "kryo5", "java.lang.String", `"hello"`},
		{binary(t, "0254"), "kryo5", "java.lang.Integer", "42"},
		{binary(t, "00"), "kryo5", "", "null"},
		{binary(t, "0100 6a6176612e7574696c2e4c696e6b6564486173684d61f0 03 038262 0902 038261 038274"), "kryo5", "java.util.LinkedHashMap", `{"a":"t","b":1}`},
		{binary(t, "043e0568656c6c6f"), "marshalling", "java.lang.String", `"hello"`},
		{binary(t, "0453015b3e0170"), "marshalling", "java.util.LinkedList", `["p"]`},
		{binary(t, "0442020d0c000000075424436f6c6f7242013bfe043bfe0000000352454442013bfe39fe"), "marshalling", "[[LT$Color;", `[["RED"],["RED"]]`},
		{binary(t, "0442020d093e035424497a7dc0b0fff17920000000013e016123001642013bfe043bfe0000000142013bfe043bfe00000001"), "marshalling", "[[LT$I;", `[[{"@class":"T$I","a":1}],[{"@class":"T$I","a":1}]]`},
		{binary(t, "aced000574000568656c6c6f"), "serialization", "java.lang.String", `"hello"`},
		{binary(t, sub), "serialization", "demo.Sub", `{"@class":"demo.Sub","self":"a demo.Sub that contains this","x":5}`},
		{binary(t, "00000006600368656c6cef"), "lz4/kryo5|lz4-v2/kryo5", "java.lang.String", `"hello"`},
		{binary(t, "0714 0368656c6cef 00"), "unknown", "", ""},
		{"\xff\xfe\xfd", "unknown", "", ""},
		{"\x01\x02\x03", "unknown", "", ""},
		{"two\nlines", "string", "java.lang.String", `"two\nlines"`},
	} {
		kind := values.Detect([]byte(c.value))
		require.Equal(t, values.Kind{Codec: c.codec, Class: c.class}, kind, "%q", c.value)
		shown, err := values.Show(kind.Likeliest(), []byte(c.value))
		require.Equal(t, c.codec == values.Unknown, errors.Is(err, errors.ErrUnsupported), "%q: %v", c.value, err)
		require.Equal(t, c.shown, shown, "%q", c.value)
	}
	for _, text := range []string{"0100 64656d6f2e4f726465f2 0e 626fe2 01c601", "0100 6a6176612e7574696c2e41727261794c6973f4 82 01 01 64656d6f2e4f726465f2 00 0e 626fe2 01c601"} {
		kind := values.Detect([]byte(binary(t, text)))
		require.Equal(t, "kryo5", kind.Codec)
		require.Contains(t, []string{"demo.Order", "java.util.ArrayList"}, kind.Class)
		_, err := values.Show("kryo5", []byte(binary(t, text)))
		require.ErrorAs(t, err, new(*java.ClassError), "its bytes do not name the fields")
	}
	for codec, value := range map[string]string{"kryo5": "038361eda0bd", "marshalling": "043e01eda0bd", "serialization": "aced0005740003eda0bd"} {
		require.Equal(t, codec, values.Detect([]byte(binary(t, value))).Codec)
		_, err := values.Show(codec, []byte(binary(t, value)))
		require.ErrorContains(t, err, "half of a surrogate pair")
	}
	require.Equal(t, "marshalling", values.Detect([]byte("\x04"+strings.Repeat("\x53\x01\x5a", 900)+"\x01")).Codec, "deeper than is read")
	for codec, value := range map[string]string{"long": "7x", "json": `{"id":`, "string": "\xff", "snappy/kryo5": "\x00", "snappy-v2/string": "\xff\xff\x03", "lz4/string": "\x00\x00\x00\x06\x10a", "json3": `"\ud83d"`, "serialization": binary(t, sub)[:60]} {
		_, err := values.Show(codec, []byte(value))
		require.Error(t, err)
		require.NotErrorIs(t, err, errors.ErrUnsupported)
		require.NotContains(t, err.Error(), "typed-json")
		require.NotContains(t, err.Error(), "<nil>")
	}
}

func FuzzDetect(f *testing.F) {
	for _, seed := range []string{"", "hello", `{"@class":"demo.Order"}`, "\x03hell\xef", "\x04\x3e\x05hello", "\xac\xed\x00\x05t\x00\x05hello", "\x00\x00\x00\x06\x60\x03hell\xef"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := values.Detect(data)
		require.NotEmpty(t, kind.Codec)
		shown, err := values.Show(kind.Likeliest(), data)
		if err == nil {
			require.True(t, json.Valid([]byte(shown)), shown)
			require.NotEqual(t, values.Unknown, kind.Codec)
		}
	})
}
