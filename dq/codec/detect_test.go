package codec_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// The bytes are those that Redisson's codecs write for the same few values.
func TestDetect(t *testing.T) {
	binary := func(s string) string {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		require.NoError(t, err)
		return string(b)
	}
	for _, c := range []struct{ value, codec, class string }{
		{"", "string|bytes", ""},
		{"hello", "string", "java.lang.String"},
		{"42", "json|typed-json|json3|typed-json3|long|string", ""},
		{"4.5", "json|typed-json|json3|typed-json3|string", ""},
		{`"hello"`, "json|typed-json|json3|typed-json3|string", "java.lang.String"},
		{`["java.lang.Long",42]`, "json|json3", "java.lang.Long"},
		{`{"@class":"demo.Order","id":7}`, "json|json3", "demo.Order"},
		{`{"@class":"demo.Order","at":["java.util.Date",7]}`, "json", "demo.Order"},
		{`{"@class":"demo.Order","at":["java.util.Date","1970-01-01T00:00:00.007Z"]}`, "json3", "demo.Order"},
		{`{"id":7}`, "typed-json|typed-json3|string", ""},
		{`["a","b"]`, "typed-json|typed-json3|string", ""},
		{binary("0368656c6cef"), "kryo5", "java.lang.String"},
		{binary("0254"), "kryo5", "java.lang.Integer"},
		{binary("0954"), "kryo5", "java.lang.Long"},
		{binary("0100 64656d6f2e4f726465f2 0e 626fe2 01c601"), "kryo5", "demo.Order"},
		{binary("0100 6a6176612e7574696c2e41727261794c6973f4 82 01 01 64656d6f2e4f726465f2 00 0e 626fe2 01c601"), "kryo5", "java.util.ArrayList"},
		{binary("043e0568656c6c6f"), "marshalling", "java.lang.String"},
		{binary("044b0000002a"), "marshalling", "java.lang.Integer"},
		{binary("0453015b3e0170"), "marshalling", "java.util.LinkedList"},
		{binary("aced000574000568656c6c6f"), "serialization", "java.lang.String"},
		{binary("aced0005 7372 000a 64656d6f2e4f72646572 00"), "serialization", "demo.Order"},
		{"\xff\xfe\xfd", "unknown", ""},
		{"\x01\x02\x03", "unknown", ""},
		{"two\nlines", "string", "java.lang.String"},
	} {
		require.Equal(t, codec.Kind{Codec: c.codec, Class: c.class}, codec.Detect([]byte(c.value)), "%q", c.value)
	}
	require.Equal(t, codec.NameTypedJSON, codec.Detect([]byte(`{"id":7}`)).Likeliest())
}

// Every message of the corpus is told to be what it is.
func TestDetectCorpus(t *testing.T) {
	eachSample(t, func(t *testing.T, all corpus) {
		for _, m := range all.messages {
			if m.problem == "" {
				require.Equal(t, codec.Kind{Codec: string(m.codec), Class: m.class}, codec.Detect(m.bytes), "%x", m.bytes)
			}
		}
	})
}

// FuzzDetect: no panic, what is said to be of a codec begins as its bytes do, and what is whole is read.
func FuzzDetect(f *testing.F) {
	for _, seed := range []string{"", "hello", `{"@class":"demo.Order"}`, "\x03hell\xef", "\x04\x3e\x05hello", "\xac\xed\x00\x05t\x00\x05hello"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := codec.Detect(data)
		require.NotEmpty(t, kind.Codec)
		require.Equal(t, kind.Likeliest() == codec.NameSerialization, bytes.HasPrefix(data, []byte("\xac\xed\x00\x05")))
		if whole, err := codec.Whole(data); whole {
			require.NoError(t, err)
			require.NotEqual(t, codec.UnknownCodec, kind.Codec)
			require.NoError(t, codec.Doubt(data))
		}
	})
}
