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

func genericBytes(t *testing.T, release string) map[codec.Name]map[string][]byte {
	data, err := os.ReadFile("testdata/generic/" + release + ".tsv")
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
					if reason := cmp.Or(refused[from][name], refused[to][name]); reason != "" {
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
	for name, value := range map[string]any{
		"OfLong": genericOfLong{}, "OfLong null": genericOfLong{}, "BelowOfLong": genericBelowOfLong{}, "OfItem": genericOfItem{}, "OfLongs": genericOfLongs{},
		"Raw": genericRaw{}, "Between": genericBetween[*int64]{}, "Between Item": genericBetween[*genericItem]{}, "BelowBetween": genericBelowBetween{},
		"Fixed": genericFixed[*string]{}, "BelowFixed": genericBelowFixed{}, "Outer": genericOuter[*int64]{}, "OuterOfLong": genericOuterOfLong{},
		"BelowOuterOfLong": genericBelowOuterOfLong{}, "of OfLong": genericHolder{}, "base Base": genericHolder{}, "dates Base": genericHolder{},
		"between Between": genericHolder{}, "fixed Fixed": genericHolder{}, "all Between": genericHolder{}, "outer Outer": genericHolder{}, "any OfLong": genericHolder{},
	} {
		for _, release := range genericReleases {
			for of, values := range genericBytes(t, release) {
				c, err := codec.ByName(of, codec.Class{Of: value}, codec.Class{Of: genericOfLong{}})
				require.NoError(t, err)
				decoded, err := c.Decode(values[name])
				if of == codec.NameKryo5 && (name == "Outer" || name == "BelowOuterOfLong") || of == codec.NameJSON3 && name == "Outer" {
					require.ErrorContains(t, err, "of a generic class", "%s: %s", of, name)
					_, err = c.Encode(value)
					require.ErrorContains(t, err, "of a generic class", "%s: %s", of, name)
					continue
				}
				require.NoError(t, err, "%s: %s: %s", release, of, name)
				encoded, err := c.Encode(decoded)
				require.NoError(t, err, "%s: %s: %s", release, of, name)
				require.Equal(t, string(values[name]), string(encoded), "%s: %s: %s", release, of, name)
			}
		}
	}
}
