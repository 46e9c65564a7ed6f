package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

type jsonState string

type jsonBean struct {
	_     struct{} `java:"one.It,serialVersionUID=3"`
	N     int32    `json:"n"`
	SKU   string   `json:"sku"`
	Inner any      `json:"-"`
}

// jsonForms is a bean of collections, arrays and maps.
type jsonForms struct {
	_       struct{}                    `java:"one.Forms"`
	Amounts []codec.Decimal             `json:"amounts" java:"array"`
	Any     any                         `json:"any"`
	Beans   []*jsonBean                 `json:"beans" java:"array"`
	Boxes   []*int32                    `json:"boxes" java:"array"`
	ByID    map[codec.UUID]string       `json:"byId"`
	ByN     map[int64]string            `json:"byN"`
	ByState map[jsonState]int32         `json:"byState"`
	Flags   []bool                      `json:"flags" java:"array"`
	Linked  map[string]int32            `json:"linked" java:"LinkedHashMap"`
	Longs   []*int64                    `json:"longs" java:"array"`
	Names   []string                    `json:"names" java:"array"`
	Objects []any                       `json:"objects" java:"array"`
	Plain   []int64                     `json:"plain" java:"array"`
	Set     []int64                     `json:"set" java:"Set"`
	Sets    map[string]codec.Set        `json:"sets"`
	Sorted  []string                    `json:"sorted" java:"TreeSet"`
	States  []jsonState                 `json:"states" java:"array"`
	Tags    []string                    `json:"tags" java:"LinkedHashSet"`
	Tree    map[string]map[int32]string `json:"tree" java:"TreeMap"`
}

// What JsonJacksonCodec of 3.17.7 and 4.7.0 and JsonJackson3Codec of 4.7.0 write of fields of
// these types, put together in one object; Jackson 3 writes no class of a Long.
const (
	formsBefore = `{"@class":"one.Forms","amounts":["[Ljava.math.BigDecimal;",[["java.math.BigDecimal",1.50]]],"any":["java.util.HashSet",["a"]],` +
		`"beans":["[Lone.It;",[{"@class":"one.It","n":1,"sku":"s1"},null]],"boxes":[1,null],` +
		`"byId":{"@class":"java.util.HashMap","00000000-0000-0001-0000-000000000002":"n"},"byN":{"@class":"java.util.HashMap","5":"n"},` +
		`"byState":{"@class":"java.util.HashMap","NEW":1},"flags":[true,false],"linked":{"@class":"java.util.LinkedHashMap","a":1},"longs":`
	formsAfter = `,"names":["a",""],"objects":["[Ljava.lang.Object;",[1,"x",["java.lang.Long",2]]],"plain":[1099511627776],"set":["java.util.HashSet",[`
	formsEnd   = `]],"sets":{"@class":"java.util.HashMap","k":["java.util.HashSet",["v"]]},"sorted":["java.util.TreeSet",["a"]],"states":["NEW","PAID"],` +
		`"tags":["java.util.LinkedHashSet",["b","a"]],"tree":{"@class":"java.util.TreeMap","a":{"@class":"java.util.HashMap","7":"x"}}}`
)

func TestJacksonWritesCollectionsArraysAndKeys(t *testing.T) {
	want := jsonForms{
		Amounts: []codec.Decimal{"1.50"}, Any: codec.Set{"a"}, Beans: []*jsonBean{{N: 1, SKU: "s1"}, nil}, Boxes: []*int32{ptrTo(int32(1)), nil},
		ByID: map[codec.UUID]string{{7: 1, 15: 2}: "n"}, ByN: map[int64]string{5: "n"}, ByState: map[jsonState]int32{"NEW": 1}, Flags: []bool{true, false},
		Linked: map[string]int32{"a": 1}, Longs: []*int64{ptrTo(int64(5))}, Names: []string{"a", ""}, Objects: []any{int32(1), "x", int64(2)}, Plain: []int64{1 << 40},
		Set: []int64{5}, Sets: map[string]codec.Set{"k": {"v"}}, Sorted: []string{"a"}, States: []jsonState{"NEW", "PAID"}, Tags: []string{"b", "a"},
		Tree: map[string]map[int32]string{"a": {7: "x"}},
	}
	states := codec.Class{Of: jsonState(""), Name: "one.St", Constants: []string{"NEW", "PAID"}}
	jackson, err := codec.NewJackson[jsonForms](states)
	require.NoError(t, err)
	jackson3, err := codec.NewJackson3[jsonForms](states)
	require.NoError(t, err)
	for _, form := range []struct {
		values codec.Codec[jsonForms]
		java   string
	}{
		{jackson, formsBefore + `["[Ljava.lang.Long;",[["java.lang.Long",5]]]` + formsAfter + `["java.lang.Long",5]` + formsEnd},
		{jackson3, formsBefore + `[5]` + formsAfter + `5` + formsEnd},
	} {
		got, err := form.values.Decode([]byte(form.java))
		require.NoError(t, err)
		require.Equal(t, want, got)
		data, err := form.values.Encode(got)
		require.NoError(t, err)
		require.Equal(t, form.java, string(data))
	}
	for text, says := range map[string]string{
		`{"@class":"one.Forms","byN":{"@class":"java.util.HashMap","five":"n"}}`:  `the key "five" is no integer of 64 bits`,
		`{"@class":"one.Forms","byId":{"@class":"java.util.HashMap","five":"n"}}`: "expected a java.util.UUID",
		`{"@class":"one.Forms","longs":[5]}`:                                      "expected a two-element array of class and value",
		`{"@class":"one.Forms","longs":["[Ljava.lang.Integer;",[5]]}`:             `"[Ljava.lang.Integer;"`,
		`{"@class":"one.Forms","set":["java.util.ArrayList",[5]]}`:                "a list, and the tag of the field says a set",
	} {
		_, err := jackson.Decode([]byte(text))
		require.ErrorContains(t, err, says, text)
	}
}

// A set that is an EnumSet and a map that is an EnumMap come as what their fields declare.
func TestJacksonReadsEnumSetsAndMaps(t *testing.T) {
	type bean struct {
		_      struct{}            `java:"one.Enums"`
		Counts map[jsonState]int32 `json:"counts"`
		States []jsonState         `json:"states" java:"Set"`
	}
	values, err := codec.NewJackson[bean](codec.Class{Of: jsonState(""), Name: "one.St", Constants: []string{"NEW", "PAID"}})
	require.NoError(t, err)
	got, err := values.Decode([]byte(`{"@class":"one.Enums","counts":{"@class":"java.util.EnumMap<one.St,java.lang.Object>","NEW":1},"states":["java.util.EnumSet<one.St>",["NEW"]]}`))
	require.NoError(t, err)
	require.Equal(t, bean{Counts: map[jsonState]int32{"NEW": 1}, States: []jsonState{"NEW"}}, got)
}

// Both forms of a declared UUID are read; which of them is written has to be said, for
// Redisson reads no other one than its own.
func TestJacksonUUIDs(t *testing.T) {
	type bean struct {
		_    struct{}              `java:"one.UuidOnly"`
		Any  any                   `json:"any"`
		ID   *codec.UUID           `json:"id"`
		List []codec.UUID          `json:"list"`
		Map  map[string]codec.UUID `json:"map"`
	}
	const (
		bare = `{"@class":"one.UuidOnly","any":["java.util.UUID","00000000-0000-0001-0000-000000000002"],"id":"00000000-0000-0001-0000-000000000002",` +
			`"list":["java.util.ArrayList",["00000000-0000-0001-0000-000000000002"]],"map":{"@class":"java.util.HashMap","k":"00000000-0000-0001-0000-000000000002"}}`
		wrapped = `{"@class":"one.UuidOnly","any":["java.util.UUID","00000000-0000-0001-0000-000000000002"],"id":["java.util.UUID","00000000-0000-0001-0000-000000000002"],` +
			`"list":["java.util.ArrayList",[["java.util.UUID","00000000-0000-0001-0000-000000000002"]]],"map":{"@class":"java.util.HashMap","k":["java.util.UUID","00000000-0000-0001-0000-000000000002"]}}`
	)
	id := codec.UUID{7: 1, 15: 2}
	want := bean{Any: id, ID: &id, List: []codec.UUID{id}, Map: map[string]codec.UUID{"k": id}}
	for text, release := range map[string]wire.Release{bare: {Major: 4, Minor: 1}, wrapped: {Major: 4, Minor: 2}} {
		either, err := codec.NewJackson[bean]()
		require.NoError(t, err)
		got, err := either.Decode([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = either.Encode(got)
		require.ErrorContains(t, err, "NewJacksonAt")
		_, err = either.Encode(bean{Any: id})
		require.NoError(t, err)

		values, err := codec.NewJacksonAt[bean](release)
		require.NoError(t, err)
		data, err := values.Encode(got)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
}

// An Origin keeps the classes and the order of maps and sets in JSON too.
func TestOriginOfJackson(t *testing.T) {
	type bean struct {
		_      struct{}         `java:"one.Kept"`
		Linked map[string]int32 `json:"linked" java:"LinkedHashMap"`
		Map    map[string]int32 `json:"map"`
		Set    []string         `json:"set" java:"Set"`
		Origin codec.Origin     `json:"-"`
	}
	values, err := codec.NewJackson[bean]()
	require.NoError(t, err)
	const java = `{"@class":"one.Kept","linked":{"@class":"java.util.LinkedHashMap","z":1,"a":2},"map":{"@class":"java.util.TreeMap","a":2,"z":1},"set":["java.util.LinkedHashSet",["b","a"]]}`
	got, err := values.Decode([]byte(java))
	require.NoError(t, err)
	data, err := values.Encode(got)
	require.NoError(t, err)
	require.Equal(t, java, string(data))
}
