package codec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Java takes the elements of a TreeSet, and the keys of a TreeMap, for sorted when it reads them.
func TestTreesAreWrittenInOrder(t *testing.T) {
	type trees struct {
		_      struct{}          `java:"demo.Trees,serialVersionUID=1"`
		Words  []string          `json:"words" java:"TreeSet"`
		Shorts map[int16]string  `json:"shorts" java:"TreeMap"`
		IDs    []codec.UUID      `json:"ids" java:"SortedSet"`
		Days   []codec.LocalDate `json:"days" java:"TreeSet"`
		Origin codec.Origin      `json:"-"`
	}
	low, high := codec.UUID{0x80}, codec.UUID{0x7f} // as longs, which have a sign
	value := trees{
		Words: []string{"b", "c", "a", "b", "\U0001f600", "\uffff"}, Shorts: map[int16]string{10: "ten", 9: "nine", -1: "less"}, IDs: []codec.UUID{high, low},
		Days: []codec.LocalDate{{Year: 2026, Month: 2, Day: 1}, {Year: 2026, Month: 1, Day: 31}},
	}
	for _, name := range []codec.Name{codec.NameSerialization, codec.NameMarshalling} {
		c, err := codec.ByName(name, codec.Class{Of: value})
		require.NoError(t, err)
		data, err := c.Encode(value)
		require.NoError(t, err)
		decoded, err := c.Decode(data)
		require.NoError(t, err)
		got := decoded.(trees)
		require.Equal(t, []string{"a", "b", "c", "\U0001f600", "\uffff"}, got.Words)
		require.Equal(t, []codec.UUID{low, high}, got.IDs)
		require.Equal(t, []codec.LocalDate{{Year: 2026, Month: 1, Day: 31}, {Year: 2026, Month: 2, Day: 1}}, got.Days)
		again, err := c.Encode(got)
		require.NoError(t, err)
		require.Equal(t, data, again)
		require.Less(t, strings.Index(string(data), "nine"), strings.Index(string(data), "ten"))
	}
}

// Jackson reads a number of a class as that, or not at all.
func TestNumbersWithTheirClassInJSON(t *testing.T) {
	json, err := codec.ByName(codec.NameJSON)
	require.NoError(t, err)
	for text, want := range map[string]any{
		`["java.math.BigDecimal","1.50"]`:                          codec.Decimal("1.50"),
		`["java.math.BigDecimal",1.50]`:                            codec.Decimal("1.50"),
		`["java.lang.Long",5]`:                                     int64(5),
		`["java.lang.Long",5.5]`:                                   nil,
		`["java.lang.Integer",3000000000]`:                         nil,
		`["java.lang.Short","5"]`:                                  nil,
		`["java.math.BigInteger","1.5"]`:                           nil,
		`["java.util.Date","1970-01-01"]`:                          nil,
		`["java.util.ArrayList",[["java.math.BigDecimal","2.0"]]]`: []any{codec.Decimal("2.0")},
	} {
		value, err := json.Decode([]byte(text))
		if want == nil {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, value, text)
	}
}

// An Origin keeps the classes of collections in JSON, also those that no other codec here writes.
func TestOriginKeepsClassesInJSON(t *testing.T) {
	type kept struct {
		_      struct{}         `java:"demo.Kept,serialVersionUID=1"`
		List   []string         `json:"list"`
		Set    []string         `json:"set" java:"Set"`
		Any    []string         `json:"any" java:"Collection"`
		Sizes  map[string]int32 `json:"sizes"`
		Origin codec.Origin     `json:"-"`
	}
	c, err := codec.NewJackson[kept]()
	require.NoError(t, err)
	for _, text := range []string{
		`{"@class":"demo.Kept","list":["java.util.LinkedList",["b","a"]]}`,
		`{"@class":"demo.Kept","list":["java.util.ImmutableCollections$List12",["b"]],"set":["java.util.TreeSet",["a"]]}`,
		`{"@class":"demo.Kept","list":["java.util.Collections$EmptyList",[]],"set":["java.util.EnumSet<demo.Color>",["RED"]]}`,
		`{"@class":"demo.Kept","any":["java.util.LinkedHashSet",["b","a"]],"list":["java.util.Vector",["b","a"]]}`,
		`{"@class":"demo.Kept","sizes":{"@class":"java.util.EnumMap<demo.Color,java.lang.Integer>","RED":1,"BLUE":2}}`,
	} {
		value, err := c.Decode([]byte(text))
		require.NoError(t, err, text)
		written, err := c.Encode(value)
		require.NoError(t, err, text)
		require.Equal(t, text, string(written))
	}
}
