package codec_test

import (
	"math"
	"math/big"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// What codec gen makes of the classes of testdata/java/libraries/Trees.java.
type (
	treeNumbers struct {
		_        struct{}          `java:"demo.Trees$Numbers,serialVersionUID=1"`
		ByInt    map[int32]*string `json:"byInt" java:"TreeMap"`
		Decimals []codec.Decimal   `json:"decimals" java:"TreeSet"`
		Doubles  []*float64        `json:"doubles" java:"TreeSet"`
		Floats   []*float32        `json:"floats" java:"TreeSet"`
		Integers []*big.Int        `json:"integers" java:"TreeSet"`
		Ints     []*int32          `json:"ints" java:"TreeSet"`
		Longs    []*int64          `json:"longs" java:"TreeSet"`
		N        int32             `json:"n"`
	}
	treeSets struct {
		_           struct{}                `java:"demo.Trees$Sets,serialVersionUID=2"`
		Days        []*codec.MonthDay       `json:"days" java:"TreeSet"`
		Durations   []*time.Duration        `json:"durations" java:"TreeSet"`
		Instants    []*time.Time            `json:"instants" java:"TreeSet"`
		Locals      []*codec.LocalDateTime  `json:"locals" java:"TreeSet"`
		Months      []*codec.YearMonth      `json:"months" java:"TreeSet"`
		OffsetTimes []*codec.OffsetTime     `json:"offsetTimes" java:"TreeSet"`
		Offsets     []*codec.OffsetDateTime `json:"offsets" java:"TreeSet"`
		Stamps      []*codec.Timestamp      `json:"stamps" java:"TreeSet"`
		Times       []*codec.LocalTime      `json:"times" java:"TreeSet"`
		Years       []*codec.Year           `json:"years" java:"TreeSet"`
		Zones       []*codec.ZonedDateTime  `json:"zones" java:"TreeSet"`
	}
	treeMaps struct {
		_           struct{}                        `java:"demo.Trees$Maps,serialVersionUID=3"`
		Days        map[codec.MonthDay]*int32       `json:"days"`
		Decimals    map[codec.Decimal]*int32        `json:"decimals"`
		Doubles     map[float64]*int32              `json:"doubles"`
		Durations   map[time.Duration]*int32        `json:"durations"`
		Floats      map[float32]*int32              `json:"floats"`
		Instants    map[time.Time]*int32            `json:"instants"`
		Locals      map[codec.LocalDateTime]*int32  `json:"locals"`
		Months      map[codec.YearMonth]*int32      `json:"months"`
		OffsetTimes map[codec.OffsetTime]*int32     `json:"offsetTimes"`
		Offsets     map[codec.OffsetDateTime]*int32 `json:"offsets"`
		Periods     map[codec.Period]*int32         `json:"periods"`
		Stamps      map[codec.Timestamp]*int32      `json:"stamps"`
		Times       map[codec.LocalTime]*int32      `json:"times"`
		Years       map[codec.Year]*int32           `json:"years"`
		Zones       map[codec.ZonedDateTime]*int32  `json:"zones"`
		Origin      codec.Origin                    `json:"-"`
	}
)

// TestTrees: what Redisson wrote comes back in the order of compareTo and of hashCode, whatever the order of slices and of
// Go's maps.
func TestTrees(t *testing.T) {
	types := map[string]any{"Numbers": treeNumbers{}, "Sets": treeSets{}, "TreeMaps": treeMaps{}, "HashMaps": treeMaps{}}
	for _, release := range []string{"3.21.1", "4.7.0"} {
		for name, values := range bytesOf(t, "trees/"+release) {
			for kind, of := range types {
				if values[kind] == nil {
					continue // JSON has no such keys
				}
				c, err := codec.ByName(name, codec.Class{Of: of})
				require.NoError(t, err)
				if name == codec.NameTypedJSON || name == codec.NameTypedJSON3 {
					c = numbersIn{name}
				}
				value, err := c.Decode(values[kind])
				require.NoError(t, err, "%s: %s: %s", release, name, kind)
				written, err := c.Encode(turnedRound(value, kind == "TreeMaps"))
				require.NoError(t, err, "%s: %s: %s", release, name, kind)
				require.Equal(t, string(values[kind]), string(written), "%s: %s: %s", release, name, kind)
			}
		}
	}
}

// TestKeysThatGoTakesForOne: Java has both zeros in a map, and one NaN.
func TestKeysThatGoTakesForOne(t *testing.T) {
	for name, values := range bytesOf(t, "trees/3.21.1") {
		if values["zeros"] == nil {
			continue // JSON has no such keys
		}
		c, err := codec.ByName(name, codec.Class{Of: treeMaps{}})
		require.NoError(t, err)
		_, err = c.Decode(values["zeros"])
		require.ErrorContains(t, err, "field doubles of demo.Trees$Maps: ")
		require.ErrorContains(t, err, "a java.util.HashMap with 2 keys, of which Go takes some for one")
		_, err = c.Encode(treeMaps{Floats: map[float32]*int32{float32(math.NaN()): nil, -float32(math.NaN()): nil}})
		require.ErrorContains(t, err, "field floats: codec "+string(name)+": a map with several keys that are NaN")
	}
}

type (
	treeItem struct {
		_ struct{} `java:"demo.Item,serialVersionUID=1"`
		N int32    `json:"n"`
	}
	treeOthers struct {
		_      struct{}                 `java:"demo.Others,serialVersionUID=2"`
		ByURI  map[codec.URI]*string    `json:"byURI" java:"TreeMap"`
		Exact  map[codec.Decimal]*int32 `json:"exact" java:"TreeMap"`
		Items  []treeItem               `json:"items" java:"TreeSet"`
		Mixed  []any                    `json:"mixed" java:"TreeSet"`
		Origin codec.Origin             `json:"-"`
	}
)

// TestUnknownOrders: Java takes a TreeSet in Serialization and Marshalling for sorted. Where the order is not known, only what
// was read is written.
func TestUnknownOrders(t *testing.T) {
	items := treeOthers{Items: []treeItem{{N: 2}, {N: 1}, {N: 3}}}
	kryo, err := codec.NewKryo5[treeOthers]()
	require.NoError(t, err)
	streams, err := codec.NewSerialization[treeOthers]()
	require.NoError(t, err)
	for value, reason := range map[*treeOthers]string{
		&items:                        "field items: codec serialization: a java.util.TreeSet of demo.Item, whose order is not known here",
		{Mixed: []any{"a", int32(1)}}: "field mixed: codec serialization: a java.util.TreeSet of java.lang.String and java.lang.Integer",
		{ByURI: map[codec.URI]*string{"a": nil, "b": nil}}:      "field byURI: codec serialization: a java.util.TreeMap of java.net.URI",
		{Exact: map[codec.Decimal]*int32{"1": nil, "1.0": nil}}: "field exact: codec serialization: a java.util.TreeMap with two keys that are one in Java",
	} {
		_, err = streams.Encode(*value)
		require.ErrorContains(t, err, reason)
	}
	_, err = streams.Encode(treeOthers{Items: items.Items[:1], ByURI: map[codec.URI]*string{"a": nil}})
	require.NoError(t, err)

	written, err := kryo.Encode(items) // Java sorts it when it reads it
	require.NoError(t, err)
	read, err := kryo.Decode(written)
	require.NoError(t, err)
	_, err = streams.Encode(read)
	require.NoError(t, err, "in the order of Java")
	read.Items = read.Items[1:]
	_, err = streams.Encode(read)
	require.NoError(t, err, "what is left of it")
	read.Items = []treeItem{{N: 3}, {N: 1}}
	_, err = streams.Encode(read)
	require.ErrorContains(t, err, "whose order is not known here")
}

// TestClassInError: of several classes that a constructor takes the error names the one that it is about.
func TestClassInError(t *testing.T) {
	type dated struct {
		_  struct{}   `java:"demo.Dated,serialVersionUID=1"`
		At complex128 `json:"at"`
	}
	_, err := codec.NewJackson[treeItem](codec.Class{Of: treeItem{}}, codec.Class{Of: dated{}})
	require.ErrorContains(t, err, "the Class of codec_test.dated: field At: ")
}

// numbersIn is a codec of JSON without classes for treeNumbers.
type numbersIn struct{ name codec.Name }

func (n numbersIn) codec() (codec.Codec[treeNumbers], error) {
	if n.name == codec.NameTypedJSON {
		return codec.JSON[treeNumbers]{}, nil
	}
	return codec.NewJSON3[treeNumbers]()
}

func (n numbersIn) Encode(value any) ([]byte, error) {
	c, err := n.codec()
	if err != nil {
		return nil, err
	}
	return c.Encode(value.(treeNumbers))
}

func (n numbersIn) Decode(data []byte) (any, error) {
	c, err := n.codec()
	if err != nil {
		return nil, err
	}
	return c.Decode(data)
}

// turnedRound returns a struct with its slices turned round.
func turnedRound(value any, hasOrigin bool) any {
	fields := reflect.New(reflect.TypeOf(value)).Elem()
	fields.Set(reflect.ValueOf(value))
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Type() == reflect.TypeFor[codec.Origin]() && !hasOrigin {
			f.SetZero()
		}
		if f.Kind() == reflect.Slice && !f.IsNil() {
			turned := reflect.MakeSlice(f.Type(), 0, f.Len())
			for k := range f.Len() {
				turned = reflect.Append(turned, f.Index(f.Len()-1-k))
			}
			f.Set(turned)
		}
	}
	return fields.Interface()
}
