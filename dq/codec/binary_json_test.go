package codec_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

var binaryNames = []codec.Name{codec.NameCBOR, codec.NameMsgPack}

// TestBinaryJSONScalars reads what CborJacksonCodec and MsgPackJacksonCodec of 4.7.0 wrote.
func TestBinaryJSONScalars(t *testing.T) {
	for _, name := range binaryNames {
		c, err := codec.ByName(name)
		require.NoError(t, err)
		read := 0
		for value, java := range readForms(t, "4.7.0.tsv", name) {
			want, is := formsScalar(t, value)
			switch value {
			case "float", "short", "byte":
				continue // a number without its class, which Java reads as another too
			case "decimal":
				if name == codec.NameMsgPack {
					want = codec.Decimal("12.34") // a double, in Java too
				}
			case "bytes":
				want, is = []byte{0, 1, 2, 127, 128, 255}, true
			case "bigint small":
				if name == codec.NameCBOR {
					_, err := c.Decode(java)
					require.ErrorContains(t, err, "one off")
					continue
				}
			}
			if !is {
				continue
			}
			got, err := c.Decode(java)
			require.NoError(t, err, value)
			if f, isFloat := want.(float64); isFloat && math.IsNaN(f) {
				require.True(t, math.IsNaN(got.(float64)))
			} else {
				require.Equal(t, codec.Plain(want), codec.Plain(got), value) // the order of maps is not kept
			}
			read++
		}
		require.Greater(t, read, 70)
		_, err = c.Encode("hello")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "codec.Keep")
	}
}

// TestBinaryJSONObjects reads the same objects that JSON has, and tells their codec.
func TestBinaryJSONObjects(t *testing.T) {
	text := readForms(t, "4.7.0.tsv", codec.NameJSON3)
	json3, err := codec.NewJackson3[any](formsClass, codec.Class{Of: formsDeclared{}}, codec.Class{Of: formsOrder{}})
	require.NoError(t, err)
	for _, name := range binaryNames {
		c, err := codec.ByName(name, formsClass, codec.Class{Of: formsDeclared{}}, codec.Class{Of: formsOrder{}})
		require.NoError(t, err)
		written := readForms(t, "4.7.0.tsv", name)
		for _, value := range []string{"declared", "order", "order parent", "orders", "list", "list 40", "list none", "map", "map 70", "map none"} {
			java, has := written[value]
			if !has {
				require.Equal(t, "declared", value) // MsgPackJacksonCodec cannot read back a BigInteger, and so on
				continue
			}
			want, err := json3.Decode(text[value])
			require.NoError(t, err)
			got, err := c.Decode(java)
			require.NoError(t, err, value)
			if d, is := got.(formsDeclared); is && name == codec.NameMsgPack {
				require.Equal(t, codec.Decimal("1000"), d.Decimal) // a whole number loses its exponent, in Java too
				d.Decimal = "1E+3"
				got = d
			}
			require.Equal(t, codec.Plain(want), codec.Plain(got), value) // the order of maps is not kept
			require.Equal(t, codec.Kind{Codec: string(name), Class: codec.Detect(text[value]).Class}, codec.Detect(java), value)
			shown, ok := codec.Show(java)
			require.True(t, ok)
			require.Contains(t, shown, codec.Detect(java).Class)
		}
		kept, err := codec.Keep(c).Decode(written["order"])
		require.NoError(t, err)
		again, err := codec.Keep(c).Encode(kept)
		require.NoError(t, err)
		require.Equal(t, written["order"], again)
	}
}

// Smile is named and not read.
func TestSmileIsRefused(t *testing.T) {
	for value, java := range readForms(t, "4.7.0.tsv", codec.NameSmile) {
		require.Equal(t, codec.NameSmile, codec.Detect(java).Likeliest(), value)
		_, shown := codec.Show(java)
		require.False(t, shown)
		_, _, err := codec.Describe(java)
		require.ErrorContains(t, err, "codec smile")
	}
	_, err := codec.ByName(codec.NameSmile)
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestBinaryJSONRefuses what claims more than it has, or nests deeper than is read.
func TestBinaryJSONRefuses(t *testing.T) {
	for _, data := range []string{
		"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff", strings.Repeat("\x91", 1000) + "\xc0", "\x81\x01\x01", "\xc1", "\x01\x01", "",
		"\x9b\x7f\xff\xff\xff\xff\xff\xff\xff", "\xbb\x00\x00\x00\x00\x7f\xff\xff\xff", "\x5b\x00\x00\x00\x00\x7f\xff\xff\xff", strings.Repeat("\x81", 1000) + "\xf6", "\xc6\x01",
	} {
		for _, name := range binaryNames {
			c, err := codec.ByName(name)
			require.NoError(t, err)
			_, err = c.Decode([]byte(data))
			require.Error(t, err, "%s %q", name, data)
		}
	}
}

func fuzzBinary(f *testing.F, name codec.Name) {
	for _, java := range readForms(f, "4.7.0.tsv", name) {
		f.Add(java)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := codec.ByName(name, formsClass, codec.Class{Of: formsDeclared{}}, codec.Class{Of: formsOrder{}})
		require.NoError(t, err)
		_, _ = c.Decode(data)
		codec.Detect(data)
		codec.Show(data)
	})
}

func FuzzCBOR(f *testing.F)    { fuzzBinary(f, codec.NameCBOR) }
func FuzzMsgPack(f *testing.F) { fuzzBinary(f, codec.NameMsgPack) }
