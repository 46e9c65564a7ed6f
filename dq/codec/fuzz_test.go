package codec

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// jsonFormsBean has what only Jackson's JSON writes in a way of its own.
type jsonFormsBean struct {
	_       struct{}         `java:"demo.FormsBean"`
	Any     any              `json:"any"`
	ByID    map[UUID]Set     `json:"byId"`
	ByN     map[int16]string `json:"byN" java:"LinkedHashMap"`
	Decs    []Decimal        `json:"decs" java:"array"`
	ID      UUID             `json:"id"`
	Longs   []*int64         `json:"longs" java:"array"`
	Objects []any            `json:"objects" java:"array"`
	Plain   []int64          `json:"plain" java:"array"`
	Tags    []string         `json:"tags" java:"Set"`
	Origin  Origin           `json:"-"`
}

const jsonFormsText = `{"@class":"demo.FormsBean","any":["java.util.UUID","00000000-0000-0001-0000-000000000002"],` +
	`"byId":{"@class":"java.util.TreeMap","00000000-0000-0001-0000-000000000002":["java.util.HashSet",["v"]]},"byN":{"@class":"java.util.LinkedHashMap","7":"n","-5":""},` +
	`"decs":["[Ljava.math.BigDecimal;",[["java.math.BigDecimal",1.50]]],"longs":["[Ljava.lang.Long;",[["java.lang.Long",5],null]],` +
	`"objects":["[Ljava.lang.Object;",[1,"x",["java.lang.Long",2]]],"plain":[1099511627776],"tags":["java.util.LinkedHashSet",["b","a"]]}`

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
	if name == NameJSON {
		classes = append(classes, Class{Of: jsonFormsBean{}})
		f.Add([]byte(jsonFormsText))
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
		// An immutable set of two equal elements, which Java refuses to read, holds one here.
		require.Regexp(t, "has the super class|so that it is only read|which is read and not written here|make the codec with NewJacksonAt|"+
			`ImmutableCollections\$Set.*, which cannot hold what its Value has been changed to`, err)
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
