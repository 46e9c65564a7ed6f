package codec

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzDecode checks a decoder on any bytes: no panic, and what it reads can be
// written and read again as the same.
func fuzzDecode(f *testing.F, name Name) {
	for _, group := range readVectors(f) {
		for _, v := range group.Vectors {
			if data, err := hex.DecodeString(v.Hex); err == nil && group.Codec == name {
				f.Add(data)
			}
		}
	}
	f.Add(unhex(f, javaSub[name]))
	classes := append(slices.Clone(demoClasses), Class{Of: sub{}})
	if name == NameKryo5 || name == NameMarshalling || name == NameSerialization {
		classes = append(classes, fieldClasses(name)...)
		for _, vectors := range readFields(f, "*.tsv") {
			for _, v := range vectors {
				if v.codec == name {
					f.Add(v.bytes)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ByName(name, classes...) // a new one, which has learned nothing
		require.NoError(t, err)
		writtenAgain(t, c, data)
	})
}

// writtenAgain requires that what can be read of data, if anything can, is written in bytes that mean and
// give the same again.
func writtenAgain(t *testing.T, c Codec[any], data []byte) {
	t.Helper()
	value, err := c.Decode(data)
	if err != nil {
		return
	}
	written, err := c.Encode(value)
	if err != nil {
		require.Regexp(t, "has the super class|so that it is only read", err)
		return
	}
	again, err := c.Decode(written)
	require.NoError(t, err)
	rewritten, err := c.Encode(again)
	require.NoError(t, err)
	require.Equal(t, written, rewritten)
}

func FuzzJackson(f *testing.F)       { fuzzDecode(f, NameJSON) }
func FuzzTypedJSON(f *testing.F)     { fuzzDecode(f, NameTypedJSON) }
func FuzzKryo5(f *testing.F)         { fuzzDecode(f, NameKryo5) }
func FuzzMarshalling(f *testing.F)   { fuzzDecode(f, NameMarshalling) }
func FuzzSerialization(f *testing.F) { fuzzDecode(f, NameSerialization) }
func FuzzLong(f *testing.F)          { fuzzDecode(f, NameLong) }
