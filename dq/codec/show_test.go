package codec_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

func TestShow(t *testing.T) {
	for bytes, want := range map[string]string{
		serialSub:  `{"@class":"demo.Sub","x":5,"self":null,"extra":6,"y":"why"}`,
		riverOfSub: `{"@class":"demo.Sub","self":null,"x":5,"extra":6,"y":"why"}`,
		"01006a6176612e7574696c2e4c696e6b6564486173684d61f0030382620902038261038274": `{"b":1,"a":"t"}`,
		"68656c6c6f": `"hello"`,
		"7b7d":       `{}`,
	} {
		text, ok := codec.Show(sample(t, bytes))
		require.True(t, ok, bytes)
		require.Equal(t, want, text)
	}
	_, ok := codec.Show(sample(t, kryoOrder))
	require.False(t, ok, "nothing names its fields")
}

// Every message of Serialization and Marshalling is shown, without its class being known.
func TestShowCorpus(t *testing.T) {
	eachSample(t, func(t *testing.T, all corpus) {
		for _, m := range all.messages {
			if m.codec == codec.NameKryo5 || m.problem != "" {
				continue
			}
			text, ok := codec.Show(m.bytes)
			require.True(t, ok)
			var shown struct {
				Class string `json:"@class"`
			}
			require.NoError(t, json.Unmarshal([]byte(text), &shown), text)
			require.Equal(t, m.class, shown.Class)
		}
	})
}

// FuzzShow: what is shown of codecs with classes is JSON.
func FuzzShow(f *testing.F) {
	for _, text := range []string{kryoOrder, serialSub, riverOfSub} {
		data, err := hex.DecodeString(text)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, ok := codec.Show(data)
		if ok && codec.Detect(data).Codec != "string|bytes" {
			require.True(t, json.Valid([]byte(text)), text)
		}
	})
}
