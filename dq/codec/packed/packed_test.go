package packed_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/codec/packed"
)

var codecs = map[string]codec.Codec[[]byte]{
	"lz4": packed.LZ4[[]byte](codec.Bytes{}), "lz4-v2": packed.LZ4[[]byte](codec.Bytes{}),
	"snappy": packed.SnappyChunks[[]byte](codec.Bytes{}), "snappy-v2": packed.Snappy[[]byte](codec.Bytes{}),
}

// TestRedisson decompresses the values of Redisson 3.16.6, 3.21.1 and 4.7.0. Values without repetitions compress to the same bytes.
func TestRedisson(t *testing.T) {
	data, err := os.ReadFile("testdata/redisson.tsv")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		want, written := parts[3], unhex(t, parts[4])
		c := codecs[parts[1]]
		plain, err := c.Decode(written)
		require.NoError(t, err)
		if hash, is := strings.CutPrefix(want, "sha256:"); is {
			require.Equal(t, hash, fmt.Sprintf("%x", sha256.Sum256(plain)))
		} else {
			require.Equal(t, want, hex.EncodeToString(plain))
		}
		again, err := c.Encode(plain)
		require.NoError(t, err)
		if slices.Contains([]string{"null", "empty", "short", "long"}, parts[2]) {
			require.Equal(t, parts[4], hex.EncodeToString(again))
		}
		back, err := c.Decode(again)
		require.NoError(t, err)
		require.Equal(t, plain, back)
	}
}

func unhex(t *testing.T, text string) []byte {
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}

func TestBroken(t *testing.T) {
	for name, values := range map[string][]string{
		"lz4":       {"", "000000", "7fffffff00", "0000000500", "0000000611"},
		"snappy":    {"", "00000001", "ffffffff00", "0000000105"},
		"snappy-v2": {"", "ff", "ffffffff0f00", "0500"},
	} {
		for _, text := range values {
			_, err := codecs[name].Decode(unhex(t, text))
			require.ErrorAs(t, err, new(*java.FormatError), "%s %s", name, text)
		}
	}
	require.ErrorContains(t, packed.LZ4[any](java.Kryo5[any]{}).(interface{ Check() error }).Check(), "constructor")
	_, err := packed.LZ4[any](java.Kryo5[any]{}).Encode(7)
	require.ErrorContains(t, err, "constructor")
}

func FuzzPacked(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x06\x60\x03hell\xef"))
	noise := sha256.Sum256(nil)
	f.Add(bytes.Repeat(noise[:], 2200))
	f.Add(append(noise[:], make([]byte, 300)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, c := range codecs {
			written, err := c.Encode(data)
			require.NoError(t, err)
			back, err := c.Decode(written)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, back), name)
			if plain, err := c.Decode(data); err == nil {
				require.LessOrEqual(t, len(plain), 255*len(data))
			}
		}
	})
}

func ExampleLZ4() {
	values, err := java.NewKryo5[string]()
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := packed.LZ4(codec.Codec[string](values)).Encode("hello")
	fmt.Printf("%x %v\n", data, err)
	// Output: 00000006600368656c6cef <nil>
}
