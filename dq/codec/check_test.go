package codec_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// javaOrders are demo.Order{7, "bob", 99L} of Redisson 3.21.1, and in Serialization and
// Marshalling demo.Sub, whose super class is demo.Base{long x; Base self}.
const (
	kryoOrder  = "010064656d6f2e4f726465f20e626fe201c601"
	serialSub  = "aced00057372000864656d6f2e537562000000000000000902000249000565787472614c0001797400124c6a6176612f6c616e672f537472696e673b7872000964656d6f2e4261736500000000000000080200024a0001784c000473656c6674000b4c64656d6f2f426173653b787000000000000000057000000006740003776879"
	riverOfSub = "0404093e0864656d6f2e5375620000000000000009000000023e05657874726123003e01791600093e0964656d6f2e426173650000000000000008000000023e0473656c6616003e0178240016010000000000000005000000063e03776879"
)

type base struct {
	_    struct{} `java:"demo.Base,serialVersionUID=8"`
	X    int64    `json:"x"`
	Self any      `json:"self" java:"demo.Base"`
}

type sub struct {
	_ struct{} `java:"demo.Sub,serialVersionUID=9"`
	base
	Extra int32   `json:"extra"`
	Y     *string `json:"y"`
}

// wrongSub is right in nothing but that it is read.
type wrongSub struct {
	_     struct{} `java:"demo.Sub,serialVersionUID=10"`
	Extra *int32   `json:"extra"`
	Y     *string  `json:"Y"`
	Z     bool     `json:"z"`
}

func sample(t *testing.T, text string) []byte {
	data, err := hex.DecodeString(text)
	require.NoError(t, err)
	return data
}

func texts(all []codec.Difference) []string {
	lines := make([]string, len(all))
	for i, d := range all {
		lines[i] = d.String()
	}
	return lines
}

func TestCheckFindsNothingWhereATypeFits(t *testing.T) {
	require.Empty(t, codec.Check[sub](codec.NameSerialization, sample(t, serialSub)))
	require.Empty(t, codec.Check[sub](codec.NameMarshalling, sample(t, riverOfSub)))
	require.Empty(t, codec.Check[Order](codec.NameKryo5, sample(t, "010064656d6f2e4f726465f20e626fe201c601")), "an Order of example_test.go")
}

func TestCheckTellsFieldByField(t *testing.T) {
	require.Equal(t, []string{
		"demo.Base: no struct stands for this class; `dq-bench codec gen` writes one",
		"demo.Sub: its serialVersionUID is 9, and 10 in the java tag of codec_test.wrongSub: Java refuses what is written",
		"demo.Sub: it extends demo.Base, for which codec_test.wrongSub embeds no struct: Java reads none of that class's fields from what is written",
		"demo.Sub.extra: declared int in Java, and what stands for java.lang.Integer in the struct",
		"demo.Sub.y: declared java.lang.String in Java, and left out of the struct: null or 0 in what is written",
		`demo.Sub.Y: Java has no such field, but "y": give it that name in its json tag`,
		"demo.Sub.z: Java has no such field: it stays empty, and Java passes over it",
		"it is read, but not written: codec serialization: Go type codec_test.wrongSub: demo.Sub has the super class demo.Base, which has fields of its own, and Java would read none of them from this struct; embed a struct of class demo.Base in it and move them there",
	}, texts(codec.Check[wrongSub](codec.NameSerialization, sample(t, serialSub))))
}

func TestCheckOfOtherCodecs(t *testing.T) {
	type unboxed struct {
		_     struct{} `java:"demo.Order"`
		ID    int32    `json:"id"`
		Name  string   `json:"name"`
		Total int64    `json:"total"`
	}
	all := texts(codec.Check[unboxed](codec.NameKryo5, sample(t, kryoOrder)))
	require.Len(t, all, 1)
	require.Contains(t, all[0], "if the field total of demo.Order is a Long in Java")

	require.Equal(t, []string{"demo.Order.note: a member of the JSON, which the struct leaves out: null in what is written"},
		texts(codec.Check[unboxed](codec.NameJSON, []byte(`{"@class":"demo.Order","id":7,"name":"bob","note":"x"}`))))
	type boxed struct {
		_     struct{} `java:"demo.Order"`
		ID    int32    `json:"id"`
		Total *int64   `json:"total"`
	}
	type flagged struct {
		_      struct{} `java:"demo.Flagged,serialVersionUID=1,is=paid:isPaid"`
		IsPaid bool     `json:"isPaid"`
	}
	require.Empty(t, codec.Check[flagged](codec.NameJSON, []byte(`{"@class":"demo.Flagged","isPaid":true,"paid":true}`)))
	all = texts(codec.Check[map[string]any](codec.NameTypedJSON, []byte(`{"a":{"z":1,"b":2}}`)))
	require.Len(t, all, 1, "JSON reads as encoding/json does, which knows no order")
	require.Contains(t, all[0], "written in other bytes from byte ")
	require.Contains(t, all[0], "codec.Keep keeps it")
	require.Empty(t, codec.Check[boxed](codec.NameJSON3, []byte(`{"@class":"demo.Order","id":7,"total":99}`)))
	require.Empty(t, codec.Check[boxed](codec.NameTypedJSON3, []byte(`{"id":7,"total":null}`)))
	require.Empty(t, codec.Check[string](codec.NameTypedJSON3, []byte(`"x"`)))
	require.Empty(t, codec.Check[string](codec.NameJSON3, []byte(`"x"`)))

	require.Equal(t, []string{"the bytes are not of the codec kryo5: marshalling wrote them, java.lang.String"},
		texts(codec.Check[string](codec.NameKryo5, sample(t, "043e0568656c6c6f"))))
	all = texts(codec.Check[map[string]any](codec.NameKryo5, sample(t, "01006a6176612e7574696c2e4c696e6b6564486173684d61f0030382620902038261038274")))
	require.Len(t, all, 1)
	require.Contains(t, all[0], "written in other bytes from byte ")
	require.Contains(t, texts(codec.Check[int](codec.NameKryo5, []byte{2, 84}))[0], "Go type int")
	require.Contains(t, texts(codec.Check[string](codec.NameString, []byte("x")))[0], "codecs of objects")
}

// Every message of the corpus that is read describes classes that fit their structs.
func TestDescribeCorpus(t *testing.T) {
	eachSample(t, func(t *testing.T, all corpus) {
		for _, m := range all.messages {
			if m.codec == codec.NameKryo5 || m.problem != "" {
				continue
			}
			name, classes, err := codec.Describe(m.bytes)
			require.NoError(t, err)
			require.Equal(t, m.codec, name)
			var names []string
			for _, c := range classes {
				names = append(names, c.Name)
				if len(c.Fields) > 0 {
					require.Equal(t, all.uids[c.Name], c.SerialVersionUID, c.Name)
				}
			}
			require.Contains(t, names, m.class)
		}
	})
	_, _, err := codec.Describe([]byte("\x03hell\xef"))
	require.ErrorContains(t, err, "do not name the fields")
}

// FuzzDescribe: no panic, and no end of memory.
func FuzzDescribe(f *testing.F) {
	for _, text := range []string{kryoOrder, serialSub, riverOfSub} {
		data, err := hex.DecodeString(text)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		if _, _, err := codec.Describe(data); err == nil {
			codec.Check[sub](codec.Detect(data).Likeliest(), data)
		}
	})
}

// A struct of which a message has no field is refused where Java would have written one.
func TestMessageOfOtherNamesIsRefused(t *testing.T) {
	t.Parallel()
	type pointers struct {
		_ struct{} `java:"demo.Order"`
		A *string  `json:"a"`
	}
	type counted struct {
		_ struct{} `java:"demo.Order"`
		A *string  `json:"a"`
		N int32    `json:"n"`
	}
	const other, none = `{"@class":"demo.Order","alpha":"x"}`, "of which codec_test."
	ofPointers, err := codec.NewJackson[*pointers]()
	require.NoError(t, err)
	_, err = ofPointers.Decode([]byte(other))
	require.NoError(t, err, "a may have been null, which Jackson 2 leaves out")
	ofCounted, err := codec.NewJackson[*counted]()
	require.NoError(t, err)
	_, err = ofCounted.Decode([]byte(other))
	require.ErrorContains(t, err, none)
	plain, err := codec.NewJSON3[*pointers]()
	require.NoError(t, err)
	_, err = plain.Decode([]byte(`{"alpha":"x"}`))
	require.ErrorContains(t, err, none)
	_, err = plain.Decode([]byte(`{"a":null,"alpha":"x"}`))
	require.NoError(t, err)
}
