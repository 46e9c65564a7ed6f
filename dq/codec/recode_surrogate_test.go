package codec_test

import (
	"encoding/hex"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// TestRecodeLoneSurrogates: half of a surrogate pair, which Redisson 3.21.1 wrote, is refused; pairs, and a real
// U+FFFD, are none.
func TestRecodeLoneSurrogates(t *testing.T) {
	find := func(name string) (codec.JavaClass, error) {
		if name != "demo.Holder" {
			return codec.JavaClass{}, fs.ErrNotExist
		}
		return codec.JavaClass{Name: name, SerialVersionUID: 25, Serializable: true, Fields: []codec.JavaField{
			{Name: "o", Type: typed("java.lang.Object")}, {Name: "s", Type: typed("java.lang.String")},
		}}, nil
	}
	for from, value := range map[codec.Name]string{
		codec.NameJSON:          "7b2240636c617373223a2264656d6f2e486f6c646572222c2273223a225c7544383030227d",
		codec.NameKryo5:         "010064656d6f2e486f6c6465f20082eda080",
		codec.NameMarshalling:   "0404093e0b64656d6f2e486f6c6465720000000000000019000000023e016f16003e0173160016013e01eda080",
		codec.NameSerialization: "aced00057372000b64656d6f2e486f6c64657200000000000000190200024c00016f7400124c6a6176612f6c616e672f4f626a6563743b4c0001737400124c6a6176612f6c616e672f537472696e673b787070740003eda080",
	} {
		to := codec.NameKryo5
		if from == to {
			to = codec.NameJSON
		}
		recoder, err := codec.NewRecoder(from, to, find, "")
		require.NoError(t, err)
		_, err = recoder.Recode(sample(t, value))
		var refused *codec.RecodeError
		require.ErrorAs(t, err, &refused, from)
		require.ErrorContains(t, err, "half of a surrogate pair", from)
		require.Equal(t, "demo.Holder", refused.Class)
	}

	recoder, err := codec.NewRecoder(codec.NameJSON, codec.NameKryo5, nil, "")
	require.NoError(t, err)
	for text, lone := range map[string]bool{
		`\ud83d\ude00`: false, "\U0001f600": false, `\ufffd`: false, "\ufffd": false, `\\ud83d`: false, `a\nb`: false,
		`\ud83d`: true, `\ude00\ud83d`: true, `\ud83dx\ude00`: true, `\ud83d\n`: true, `\ud83d\ud83d\ude00`: true, "\xed\xa0\x80": true,
	} {
		data := []byte(`"` + text + `"`)
		_, err := recoder.Recode(data)
		require.Equal(t, lone, err != nil, hex.EncodeToString(data)+" %v", err)
	}
}
