package java_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// TestMutations reads 30,000 mutated messages of real Redissons without a panic, in memory by their length.
func TestMutations(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	mutations := 0
	for release, codecs := range corpusReleases {
		lines, err := os.ReadFile("testdata/corpus/" + release + ".tsv")
		require.NoError(t, err)
		all, uids := readCorpus(t, lines)
		for _, name := range codecs {
			c := corpusCodec(t, release, name, uids)
			for _, m := range all {
				if m.codec != name || m.problem != "" {
					continue
				}
				const times = 320
				require.Less(t, allocated(func() {
					for range times {
						_, _ = c.Decode(mutate(random, m.bytes))
						mutations++
					}
				}), uint64(times*(len(m.bytes)+1000)*200), "%s %x", name, m.bytes)
			}
		}
	}
	require.Greater(t, mutations, 30_000)
}

func mutate(random *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	at := random.IntN(len(data))
	switch random.IntN(3) {
	case 0:
		return data[:at]
	case 1:
		data[at] ^= byte(1 + random.IntN(255))
	default:
		for range 4 {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
	}
	return data
}

// fuzz checks that a value that was read can be written and read again, unless the codec refuses to write it.
func fuzz(f *testing.F, name string) {
	for _, group := range readVectors(f) {
		if group.Codec == name && len(group.Releases) > 5 {
			for _, v := range group.Vectors[:min(len(group.Vectors), 60)] {
				data, err := hex.DecodeString(v.Hex)
				require.NoError(f, err)
				f.Add(data)
			}
		}
	}
	c := byName(f, name, append(demoClasses, colorClass, java.Class{Of: plainRecord{}}, java.Class{Of: dateBean{}})...)
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := c.Decode(data)
		if err != nil {
			return
		}
		written, err := c.Encode(value)
		if err != nil {
			return
		}
		again, err := c.Decode(written)
		require.NoError(t, err)
		rewritten, err := c.Encode(again)
		require.NoError(t, err)
		require.Equal(t, written, rewritten)
	})
}

func FuzzKryo5(f *testing.F)         { fuzz(f, "kryo5") }
func FuzzJackson(f *testing.F)       { fuzz(f, "json") }
func FuzzJackson3(f *testing.F)      { fuzz(f, "json3") }
func FuzzPlain(f *testing.F)         { fuzz(f, "typed-json") }
func FuzzMarshalling(f *testing.F)   { fuzz(f, "marshalling") }
func FuzzSerialization(f *testing.F) { fuzz(f, "serialization") }

// FuzzObject shows every value that is read as JSON, unless references multiply it.
func FuzzObject(f *testing.F) {
	f.Add([]byte("\xac\xed\x00\x05t\x00\x05hello"))
	f.Add([]byte("\x04\x3e\x05hello"))
	serialization, _ := java.NewSerialization[java.Object]()
	marshalling, _ := java.NewMarshalling[java.Object]()
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, decode := range []func([]byte) (java.Object, error){serialization.Decode, marshalling.Decode} {
			o, err := decode(data)
			if err != nil {
				continue
			}
			require.NotEmpty(t, o.Class())
			if text, err := json.Marshal(o); err == nil {
				require.True(t, json.Valid(text))
			}
		}
	})
}
