package codec_test

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// What codec gen makes of the classes of testdata/generic/generic.jar.
type (
	genericBase[T any] struct {
		_      struct{}     `java:"demo.Generic$Base,serialVersionUID=2"`
		ID     T            `json:"id" java:"T"`
		More   []T          `json:"more" java:"List<T>"`
		Name   *string      `json:"name"`
		Origin codec.Origin `json:"-"`
	}
	genericOfLong struct {
		_ struct{} `java:"demo.Generic$OfLong,serialVersionUID=3"`
		genericBase[*int64]
		N int32 `json:"n"`
	}
	genericBelowOfLong struct {
		_ struct{} `java:"demo.Generic$BelowOfLong,serialVersionUID=4"`
		genericOfLong
		M int32 `json:"m"`
	}
	genericOfItem struct {
		_ struct{} `java:"demo.Generic$OfItem,serialVersionUID=5"`
		genericBase[*genericItem]
	}
	genericItem struct {
		_ struct{} `java:"demo.Generic$Item,serialVersionUID=1,final"`
		Q int32    `json:"q"`
	}
	genericOfLongs struct {
		_ struct{} `java:"demo.Generic$OfLongs,serialVersionUID=7"`
		genericBase[[]*int64]
	}
	genericRaw struct {
		_ struct{} `java:"demo.Generic$Raw,serialVersionUID=8"`
		genericBase[any]
	}
	genericBetween[T any] struct {
		_              struct{} `java:"demo.Generic$Between,serialVersionUID=9"`
		genericBase[T] `java:"T"`
		T              T            `json:"t" java:"T"`
		Origin         codec.Origin `json:"-"`
	}
	genericBelowBetween struct {
		_ struct{} `java:"demo.Generic$BelowBetween,serialVersionUID=10"`
		genericBetween[*int64]
	}
	genericFixed[T any] struct {
		_ struct{} `java:"demo.Generic$Fixed,serialVersionUID=11"`
		genericBase[*int64]
		T      T            `json:"t" java:"T"`
		Origin codec.Origin `json:"-"`
	}
	genericBelowFixed struct {
		_ struct{} `java:"demo.Generic$BelowFixed,serialVersionUID=12"`
		genericFixed[*string]
	}
	genericOuter[T any] struct {
		_  struct{}        `java:"demo.Generic$Outer,serialVersionUID=13"`
		In *genericBase[T] `json:"in"`
	}
	genericOuterOfLong struct {
		_ struct{} `java:"demo.Generic$OuterOfLong,serialVersionUID=14"`
		genericOuter[*int64]
	}
	genericBelowOuterOfLong struct {
		_ struct{} `java:"demo.Generic$BelowOuterOfLong,serialVersionUID=15"`
		genericOuterOfLong
	}
	genericBox[T any] struct {
		_      struct{}     `java:"demo.Generic$Box,serialVersionUID=17,final"`
		All    []T          `json:"all" java:"List<T>"`
		Any    any          `json:"any"`
		ByName map[string]T `json:"byName" java:"Map<T>"`
		V      T            `json:"v" java:"T"`
		Origin codec.Origin `json:"-"`
	}
	genericHasBox[T any] struct {
		_      struct{}         `java:"demo.Generic$HasBox,serialVersionUID=18"`
		Box    *genericBox[T]   `json:"box"`
		Boxes  []*genericBox[T] `json:"boxes"`
		T      T                `json:"t" java:"T"`
		Origin codec.Origin     `json:"-"`
	}
	genericBoxes struct {
		_      struct{}                          `java:"demo.Generic$Boxes,serialVersionUID=19"`
		All    []*genericBox[*string]            `json:"all"`
		Any    any                               `json:"any"`
		Base   *genericBase[*genericBox[*int64]] `json:"base"`
		Box    *genericBox[*int64]               `json:"box"`
		ByName map[string]*genericBox[*int64]    `json:"byName"`
		Has    *genericHasBox[*int64]            `json:"has"`
		Items  *genericBox[*genericItem]         `json:"items"`
		Raw    *genericBox[any]                  `json:"raw"`
		Origin codec.Origin                      `json:"-"`
	}
	genericArrays struct {
		_      struct{}               `java:"demo.Generic$Arrays,serialVersionUID=20"`
		Bases  []*genericBase[*int64] `json:"bases" java:"array"`
		Boxes  []*genericBox[*int64]  `json:"boxes" java:"array"`
		Lists  [][]*int64             `json:"lists" java:"array"`
		Origin codec.Origin           `json:"-"`
	}
	genericParts struct {
		_      struct{}                   `java:"demo.Generic$Parts,record"`
		All    []*genericBox[*int64]      `json:"all"`
		Base   *genericBase[*int64]       `json:"base"`
		Boxes  []*genericBox[*int64]      `json:"boxes" java:"array"`
		Color  *genericBox[*genericColor] `json:"color"`
		Count  *genericBox[*int32]        `json:"count"`
		Item   *genericBox[*genericItem]  `json:"item"`
		N      int32                      `json:"n"`
		Number *genericBox[*int64]        `json:"number"`
		Text   *genericBox[*string]       `json:"text"`
		Origin codec.Origin               `json:"-"`
	}
	genericColor       string
	genericPair[T any] struct {
		_      struct{}       `java:"demo.Generic$Pair,record"`
		Box    *genericBox[T] `json:"box"`
		First  T              `json:"first" java:"T"`
		Origin codec.Origin   `json:"-"`
	}
	genericRecords struct {
		_      struct{}             `java:"demo.Generic$Records,serialVersionUID=21"`
		All    []*genericParts      `json:"all"`
		Any    any                  `json:"any"`
		N      int32                `json:"n"`
		Pair   *genericPair[*int64] `json:"pair"`
		Parts  *genericParts        `json:"parts"`
		Origin codec.Origin         `json:"-"`
	}
	genericHolder struct {
		_       struct{}                          `java:"demo.Generic$Holder,serialVersionUID=16"`
		All     []*genericBetween[*codec.Decimal] `json:"all"`
		Any     any                               `json:"any"`
		Base    *genericBase[*int64]              `json:"base"`
		Between *genericBetween[*int64]           `json:"between"`
		Dates   *genericBase[*codec.Date]         `json:"dates"`
		Fixed   *genericFixed[*string]            `json:"fixed"`
		Of      any                               `json:"of" java:"demo.Generic$OfLong"`
		Outer   *genericOuter[*int64]             `json:"outer"`
		Origin  codec.Origin                      `json:"-"`
	}
)

var genericReleases = []string{"3.21.1", "4.7.0"}

// ofRecords are the values with records, which Marshalling does not write.
var ofRecords = map[string]bool{
	"Parts": true, "Parts text": true, "parts": true, "all Parts": true, "any Parts": true, "Pair": true, "pair": true, "Parts in Box": true,
}

func genericBytes(t *testing.T, release string) map[codec.Name]map[string][]byte {
	return bytesOf(t, "generic/"+release)
}

// bytesOf returns the values of a file of testdata by codec and name.
func bytesOf(t *testing.T, file string) map[codec.Name]map[string][]byte {
	data, err := os.ReadFile("testdata/" + file + ".tsv")
	require.NoError(t, err)
	all := map[codec.Name]map[string][]byte{}
	for line := range strings.Lines(string(data)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		name := codec.Name(parts[0])
		if all[name] == nil {
			all[name] = map[string][]byte{}
		}
		all[name][parts[1]] = sample(t, parts[2])
	}
	return all
}

// TestRecodeGenericSuperClasses: what a type parameter of a super class stands for counts in Kryo5 and Jackson 3, each of
// which has rules of its own for it. All is written as Redisson writes it, or refused.
func TestRecodeGenericSuperClasses(t *testing.T) {
	library, err := classfile.Open("testdata/generic/generic.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	refused := map[codec.Name]map[string]string{
		codec.NameKryo5: {
			"base Between":     "whose type arguments are taken for those of the other",
			"BelowOuterOfLong": "Kryo5 does not know then what they stand for",
			"Box in Box":       "Kryo5 takes those for its own",
			"HasTwo":           "by itself, of whose field list Kryo5 knows some type arguments",
			"Parts in Box":     "Kryo5 takes those for its own",
		},
		codec.NameJSON3: {"base Between": "whose type arguments are taken for those of the other"},
	}
	for _, release := range genericReleases {
		reader, err := wire.ParseRelease(release)
		require.NoError(t, err)
		written := genericBytes(t, release)
		for from, values := range written {
			for to := range written {
				if from == to {
					continue
				}
				recoder, err := codec.NewRecoder(from, to, library.Class, "")
				require.NoError(t, err)
				recoder.ReadBy(reader)
				for name, data := range values {
					got, err := recoder.Recode(data)
					reason := cmp.Or(refused[from][name], refused[to][name])
					switch toJSON := to == codec.NameJSON || to == codec.NameJSON3; {
					case reason != "":
					case ofRecords[name] && toJSON:
						continue // which has an order of its own for components
					case ofRecords[name] && to == codec.NameMarshalling:
						reason = "a record, which MarshallingCodec does not read"
					case name == "array of List" && (from == codec.NameKryo5 || to == codec.NameKryo5 || to == codec.NameMarshalling):
						reason = "java.util.List"
					case toJSON && strings.Contains(name, "array of"):
						reason = "it is not written in " + string(to)
					}
					if reason != "" {
						require.ErrorContains(t, err, reason, "%s to %s: %s", from, to, name)
						continue
					}
					require.NoError(t, err, "%s: %s to %s: %s", release, from, to, name)
					require.Equal(t, string(written[to][name]), string(got), "%s: %s to %s: %s", release, from, to, name)
				}
			}
		}
	}
}

// TestGenericSuperClasses: values that Redisson wrote come back as it wrote them.
func TestGenericSuperClasses(t *testing.T) {
	expectGeneric(t, map[string]any{
		"OfLong": genericOfLong{}, "OfLong null": genericOfLong{}, "BelowOfLong": genericBelowOfLong{}, "OfItem": genericOfItem{}, "OfLongs": genericOfLongs{},
		"Raw": genericRaw{}, "Between": genericBetween[*int64]{}, "Between Item": genericBetween[*genericItem]{}, "BelowBetween": genericBelowBetween{},
		"Fixed": genericFixed[*string]{}, "BelowFixed": genericBelowFixed{}, "Outer": genericOuter[*int64]{}, "OuterOfLong": genericOuterOfLong{},
		"BelowOuterOfLong": genericBelowOuterOfLong{}, "of OfLong": genericHolder{}, "base Base": genericHolder{}, "dates Base": genericHolder{},
		"between Between": genericHolder{}, "fixed Fixed": genericHolder{}, "all Between": genericHolder{}, "outer Outer": genericHolder{}, "any OfLong": genericHolder{},
	}, map[codec.Name]map[string]string{
		codec.NameKryo5: {"Outer": "of a generic class", "BelowOuterOfLong": "of a generic class"},
		codec.NameJSON3: {"Outer": "of a generic class"},
	})
}

// TestFinalGenericClasses: of an object of a final class Kryo5 knows the type arguments, but for those in arrays, and
// takes them for those of another by itself that is in it.
func TestFinalGenericClasses(t *testing.T) {
	expectGeneric(t, map[string]any{
		"box": genericBoxes{}, "box null": genericBoxes{}, "items": genericBoxes{}, "all Box": genericBoxes{}, "byName Box": genericBoxes{}, "base Box": genericBoxes{},
		"raw Box": genericBoxes{}, "has Box": genericBoxes{}, "Box in Box": genericBoxes{}, "Base in Box": genericBoxes{}, "HasBox": genericHasBox[*int64]{},
		"array of Base": genericArrays{}, "array of Box": genericArrays{}, "array of List": genericArrays{},
	}, map[codec.Name]map[string]string{
		codec.NameKryo5:       {"HasBox": "of a generic class", "Box in Box": "Kryo5 takes those for its own", "array of List": "[Ljava.util.List;"},
		codec.NameJSON3:       {"HasBox": "of a generic class"},
		codec.NameMarshalling: {"array of List": "an array of java.util.List"},
	})
	c, err := codec.NewKryo5[genericBoxes](codec.Class{Of: genericBox[any]{}})
	require.NoError(t, err)
	_, err = c.Encode(genericBoxes{Box: &genericBox[*int64]{Any: genericBox[any]{}}})
	require.ErrorContains(t, err, "Kryo5 takes those for its own")
}

// TestFinalGenericComponents: of a final class that a component of a record declares Kryo5 knows no type arguments.
func TestFinalGenericComponents(t *testing.T) {
	expectGeneric(t, map[string]any{
		"Parts": genericParts{}, "Parts text": genericParts{}, "parts": genericRecords{}, "all Parts": genericRecords{}, "any Parts": genericRecords{},
		"Pair": genericPair[*int64]{}, "pair": genericRecords{}, "Parts in Box": genericBoxes{},
	}, nil)
}

// expectGeneric expects values that Redisson wrote to come back as it wrote them through the struct of each, or to be
// refused.
func expectGeneric(t *testing.T, structs map[string]any, refused map[codec.Name]map[string]string) {
	for name, value := range structs {
		for _, release := range genericReleases {
			for of, values := range genericBytes(t, release) {
				if len(values[name]) == 0 {
					continue // Redisson does not read it itself
				}
				c, err := codec.ByName(of, codec.Class{Of: value}, codec.Class{Of: genericOfLong{}}, codec.Class{Of: genericBox[any]{}}, codec.Class{Of: genericBase[any]{}},
					codec.Class{Of: genericParts{}}, codec.Class{Of: genericColor(""), Name: "demo.Generic$Color", Constants: []string{"RED", "GREEN"}})
				require.NoError(t, err)
				var encoded []byte
				decoded, err := c.Decode(values[name])
				if err == nil {
					encoded, err = c.Encode(decoded)
				}
				if reason := refused[of][name]; reason != "" {
					require.ErrorContains(t, err, reason, "%s: %s", of, name)
					continue
				}
				require.NoError(t, err, "%s: %s: %s", release, of, name)
				require.Equal(t, string(values[name]), string(encoded), "%s: %s: %s", release, of, name)
			}
		}
	}
}
