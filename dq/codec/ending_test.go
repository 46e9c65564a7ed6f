package codec_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct{ name, bytes, wrong string }{
		{"the last byte of a String is missing", "aced000574000568656c6c", "codec serialization: byte 7: the value is cut off: expected 5 more bytes, 4 left"},
		{"a String twice", "aced000574000568656c6c6faced000574000568656c6c6f", "codec serialization: byte 12: 12 bytes after the end of the value"},
		{"a String of 64 MB in 13 bytes", "aced00057c0000000004000000", "expected 67108864 more bytes, 0 left"},
		{"an object without the last of its fields", serialSub[:len(serialSub)-4], "codec serialization: byte 127: the value is cut off"},
		{"an object of Marshalling", riverOfSub[:len(riverOfSub)-2], "codec marshalling: byte 92: the value is cut off"},
		{"an object of Marshalling twice", riverOfSub + riverOfSub, "95 bytes after the end of the value"},
		{"a String of Kryo5", "0368656c6c", "codec kryo5: byte 1: the value is cut off: a text without an end"},
		{"an Integer of Kryo5 twice", "02540254", "codec kryo5: byte 2: 2 bytes after the end of the value"},
	} {
		whole, err := codec.Whole(sample(t, c.bytes))
		require.ErrorContains(t, err, c.wrong, c.name)
		require.False(t, whole, c.name)
		var wrong *codec.FormatError
		require.ErrorAs(t, err, &wrong)
	}
	for bytes, want := range map[string]bool{
		serialSub: true, riverOfSub: true, "0954": true, "7b7d": true, "6e756c6c": true,
		kryoOrder: false, "68656c6c6f": false, "3432": false, "": false,
	} {
		whole, err := codec.Whole(sample(t, bytes))
		require.NoError(t, err, bytes)
		require.Equal(t, want, whole, bytes)
	}
	_, err := codec.Whole([]byte{0xff, 0xfe, 0xfd})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestWholeMutations cuts, doubles and changes values that real Redissons wrote: what is said to be whole
// was, and is shown.
func TestWholeMutations(t *testing.T) {
	const each = 200
	var values, mutations, told int
	for name, vectors := range wireVectors(t) {
		for _, v := range vectors {
			data, err := hex.DecodeString(v.Hex)
			require.NoError(t, err)
			if len(data) == 0 {
				continue // of long ones only a hash is known
			}
			values++
			whole, err := codec.Whole(data)
			if name == codec.NameBytes || name == codec.NameString {
				continue // whatever their bytes look like
			}
			require.NoError(t, err, "%s: %x", name, data)
			if !whole {
				require.Contains(t, []codec.Name{codec.NameKryo5, codec.NameString, codec.NameLong, codec.NameBytes, codec.NameJSON, codec.NameTypedJSON}, name)
				continue
			}
			told++
			of := codec.Detect(data).Likeliest()
			step := len(data)*2/each + 1
			for i := 0; i < len(data); i += step {
				mutations += 2
				cut := data[:i]
				isWhole, _ := codec.Whole(cut)
				if isWhole {
					// The first bytes of a value of Marshalling can be a Float of Kryo5.
					require.Equal(t, codec.Kind{Codec: string(codec.NameKryo5), Class: "java.lang.Float"}, codec.Detect(cut), "%x of %x", cut, data)
					require.Equal(t, codec.NameMarshalling, of)
				}
				changed := slices.Clone(data)
				changed[i] ^= byte(1 + i%255)
				if isWhole, err := codec.Whole(changed); isWhole {
					require.NoError(t, err)
					shown, ok := codec.Show(changed)
					require.True(t, ok, "%x", changed)
					require.True(t, json.Valid([]byte(shown)), shown)
				}
			}
			twice, _ := codec.Whole(append(slices.Clone(data), data...))
			require.False(t, twice, "%x", data)
		}
	}
	t.Logf("%d values, of %d of which the bytes tell the end; %d mutations", values, told, mutations)
	require.Greater(t, told, 500)
}

// A value of JSON that was cut looks like text, which is said where it begins as JSON does.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for value, wrong := range map[string]string{
		`{"@class":"demo.One","x":1`:  "byte 26: the value is cut off",
		`["java.util.ArrayList",[1,2`: "the value is cut off",
		`"hell`:                       "the value is cut off",
		`{"a":1}{"a":2}`:              "byte 7: 7 bytes after the end of the value",
		`{"a":1}`:                     "",
		`[draft] order`:               "",
		`"so" he said`:                "",
		`hello`:                       "",
		``:                            "",
	} {
		doubt := codec.Doubt([]byte(value))
		if wrong == "" {
			require.NoError(t, doubt, value)
			continue
		}
		var broken *codec.FormatError
		require.ErrorAs(t, doubt, &broken, value)
		require.ErrorContains(t, doubt, wrong)
		whole, err := codec.WholeAs(codec.NameJSON, []byte(value))
		require.Equal(t, doubt, err)
		require.False(t, whole)
	}
	for name, data := range map[codec.Name]string{
		codec.NameJSON: "hello", codec.NameTypedJSON: "", codec.NameString: "\xff", codec.NameLong: "x", codec.NameKryo5: "x", codec.NameSerialization: "x",
	} {
		whole, err := codec.WholeAs(name, []byte(data))
		require.Error(t, err, name)
		require.False(t, whole, name)
	}
	text, ok := codec.ShowAs(codec.NameString, []byte(`{"a":1}`))
	require.True(t, ok)
	require.Equal(t, `"{\"a\":1}"`, text)
}
