package codec_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// compressedVector is a line of what a release of Redisson compressed.
type compressedVector struct {
	codec         codec.Name
	value         string
	plain, packed string // in hexadecimal; of long ones plain is the hash
}

// readCompressed returns the lines of a release, and which codec each of its codecs wraps.
func readCompressed(t testing.TB, release string) (all []compressedVector, wraps map[codec.Name]string) {
	data, err := os.ReadFile("testdata/compressed/" + release + ".tsv")
	require.NoError(t, err)
	wraps = map[codec.Name]string{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if comment, is := strings.CutPrefix(parts[0], "# "); is {
			name, inner, _ := strings.Cut(comment, " wraps ")
			wraps[codec.Name(name)] = inner
			continue
		}
		all = append(all, compressedVector{codec.Name(parts[0]), parts[1], parts[2], parts[3]})
	}
	return all, wraps
}

var compressedReleases = []string{"3.16.6", "3.21.1", "4.7.0"}

// TestCompressedByRedisson decompresses what real releases compressed, and what that
// compresses to here; the values hold nothing to compress but for the last few.
func TestCompressedByRedisson(t *testing.T) {
	same := []string{"null", "empty", "short", "long"}
	for _, release := range compressedReleases {
		all, wraps := readCompressed(t, release)
		for name, inner := range wraps {
			require.Equal(t, map[bool]string{true: "MarshallingCodec", false: "Kryo5Codec"}[release == "3.16.6"], inner, name)
		}
		for _, v := range all {
			t.Run(strings.Join([]string{release, string(v.codec), v.value}, " "), func(t *testing.T) {
				packed, err := hex.DecodeString(v.packed)
				require.NoError(t, err)
				c, err := codec.Compressed(v.codec, codec.Codec[[]byte](codec.Bytes{}))
				require.NoError(t, err)
				plain, err := c.Decode(packed)
				require.NoError(t, err)
				if hash, is := strings.CutPrefix(v.plain, "sha256:"); is {
					require.Equal(t, hash, fmt.Sprintf("%x", sha256.Sum256(plain)))
				} else {
					require.Equal(t, v.plain, hex.EncodeToString(plain))
				}
				again, err := c.Encode(plain)
				require.NoError(t, err)
				if slices.Contains(same, v.value) {
					require.Equal(t, v.packed, hex.EncodeToString(again))
				}
				back, err := c.Decode(again)
				require.NoError(t, err)
				require.True(t, bytes.Equal(plain, back))
			})
		}
	}
}

// TestRedissonDecompresses has real releases read what Go compressed.
func TestRedissonDecompresses(t *testing.T) {
	for _, release := range compressedReleases {
		redistest.Redisson(t, release)
		all, _ := readCompressed(t, release)
		var lines strings.Builder
		for _, v := range all {
			c, err := codec.Compressed(v.codec, codec.Codec[[]byte](codec.Bytes{}))
			require.NoError(t, err)
			packed, err := hex.DecodeString(v.packed)
			require.NoError(t, err)
			plain, err := c.Decode(packed)
			require.NoError(t, err)
			again, err := c.Encode(plain)
			require.NoError(t, err)
			fmt.Fprintf(&lines, "%s\t%s\t-\t%x\n", v.codec, v.value, again)
		}
		out := runLibraries(t, strings.NewReader(lines.String()), release, "Compressed", "read")
		require.Equal(t, fmt.Sprintf("# %d read\n", len(all)), out)
	}
}

// runLibraries runs a program of testdata/java/libraries beside a release.
func runLibraries(t *testing.T, stdin *strings.Reader, args ...string) string {
	ctx, cancel := context.WithTimeout(t.Context(), corpusDeadline)
	defer cancel()
	java := exec.CommandContext(ctx, "testdata/java/libraries/generate.sh", args...)
	java.Stdin = stdin
	out, err := java.Output()
	failed := new(exec.ExitError)
	if errors.As(err, &failed) {
		require.NoError(t, err, string(failed.Stderr))
	}
	require.NoError(t, err)
	return string(out)
}

// TestCompressedIsDetected tells the codec that compressed, the one within and the class.
func TestCompressedIsDetected(t *testing.T) {
	all, _ := readCompressed(t, "3.21.1")
	newest, _ := readCompressed(t, "4.7.0")
	for _, v := range append(all, newest...) {
		if v.value == "null" {
			continue // one byte within: nothing tells it from anything else
		}
		packed, err := hex.DecodeString(v.packed)
		require.NoError(t, err)
		class := map[string]string{"long": "java.lang.Long", "zeros": "[B", "noise": "[B"}[v.value]
		if class == "" {
			class = "java.lang.String"
		}
		kind := codec.Detect(packed)
		require.Equal(t, class, kind.Class, v)
		require.Contains(t, strings.Split(kind.Codec, "|"), string(codec.NameKryo5.Within(v.codec)), v)
		if v.value == "order" {
			shown, ok := codec.Show(packed)
			require.True(t, ok)
			require.Contains(t, shown, "order-4711")
		}
	}
}

func TestCompressedByName(t *testing.T) {
	for _, name := range []codec.Name{"lz4", "lz4-v2/marshalling", "snappy/json", "snappy-v2/serialization", "zstd/string"} {
		c, err := codec.ByName(name)
		require.NoError(t, err)
		data, err := c.Encode("hello")
		require.NoError(t, err)
		value, err := c.Decode(data)
		require.NoError(t, err)
		require.Equal(t, "hello", value)
	}
	for _, name := range []codec.Name{"lz4/", "lz4/fst", "gzip", "kryo5/lz4"} {
		_, err := codec.ByName(name)
		require.ErrorIs(t, err, errors.ErrUnsupported, name)
	}
	_, err := codec.Compressed("kryo5", codec.Codec[string](codec.String{}))
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// TestCompressedBomb refuses bytes that name, or hold, more than they could.
func TestCompressedBomb(t *testing.T) {
	huge := binary.BigEndian.AppendUint32(nil, 1<<31-1)
	zeros := make([]byte, 20<<20)
	zstd, err := codec.Compressed(codec.NameZStd, codec.Codec[[]byte](codec.Bytes{}))
	require.NoError(t, err)
	_, err = zstd.Encode(zeros)
	require.ErrorContains(t, err, "offer smaller values")
	bomb, err := zstd.Encode(zeros[:10<<20])
	require.NoError(t, err)
	require.Less(t, len(bomb), 2000)
	binary.BigEndian.PutUint32(bomb, 5) // it holds two million times as many
	for _, c := range []struct {
		name codec.Name
		data []byte
	}{
		{codec.NameLZ4, append(slices.Clone(huge), 0x1f, 0, 1, 0)},
		{codec.NameLZ4V2, huge},
		{codec.NameSnappy, []byte{0, 0, 0, 6, 0xff, 0xff, 0xff, 0xff, 0x07, 0}},
		{codec.NameSnappyV2, []byte{0xff, 0xff, 0xff, 0xff, 0x07, 0}},
		{codec.NameZStd, append(slices.Clone(huge), 0x28, 0xb5, 0x2f, 0xfd)},
		{codec.NameZStd, bomb},
		{codec.NameZStd, nil},
		{codec.NameSnappy, nil},
		{codec.NameLZ4, []byte{0, 0, 0}},
	} {
		c0, err := codec.Compressed(c.name, codec.Codec[[]byte](codec.Bytes{}))
		require.NoError(t, err)
		_, err = c0.Decode(c.data)
		require.ErrorAs(t, err, new(*codec.FormatError), "%s %x", c.name, c.data)
	}
}

// FuzzCompressed decompresses any bytes: no panic, no more than is allowed, and what comes
// out can be compressed and decompressed again.
func FuzzCompressed(f *testing.F) {
	names := []codec.Name{codec.NameLZ4, codec.NameSnappy, codec.NameSnappyV2, codec.NameZStd}
	for _, release := range compressedReleases {
		all, _ := readCompressed(f, release)
		for _, v := range all {
			packed, err := hex.DecodeString(v.packed)
			require.NoError(f, err)
			f.Add(uint8(max(slices.Index(names, v.codec), 0)), packed)
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		c, err := codec.Compressed(names[int(n)%len(names)], codec.Codec[[]byte](codec.Bytes{}))
		require.NoError(t, err)
		codec.Detect(data)
		plain, err := c.Decode(data)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(plain), 16<<20+255*len(data))
		packed, err := c.Encode(plain)
		require.NoError(t, err)
		again, err := c.Decode(packed)
		require.NoError(t, err)
		require.True(t, bytes.Equal(plain, again))
	})
}
