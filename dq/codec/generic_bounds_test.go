package codec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/classfile"
	"github.com/dq-bench/dq-bench/dq/codec/gen"
)

// What codec gen makes of those classes of testdata/generic/generic.jar whose type parameters have bounds, or are several.
type (
	boundedAudited[T, T2 any] struct {
		_                 struct{} `java:"demo.Generic$Audited,serialVersionUID=31"`
		boundedEntity[T2] `java:"T"`
		User              T            `json:"user" java:"T"`
		Origin            codec.Origin `json:"-"`
	}
	boundedCounted[T, T2 any] struct {
		_      struct{}     `java:"demo.Generic$Counted,serialVersionUID=30"`
		B      T2           `json:"b" java:"T,erasure=demo.Generic$OrderOfLong"`
		N      T            `json:"n" java:"T,erasure=java.lang.Number"`
		Origin codec.Origin `json:"-"`
	}
	boundedEntities struct {
		_       struct{}                                     `java:"demo.Generic$Entities,serialVersionUID=36"`
		All     []*boundedTwo[*int64, *genericItem]          `json:"all"`
		Any     any                                          `json:"any"`
		Counted *boundedCounted[*int64, *boundedOrderOfLong] `json:"counted"`
		Half    *boundedHalf[*int64]                         `json:"half"`
		Has     *boundedHasTwo[*int64]                       `json:"has"`
		Ints    *boundedEntity[*int32]                       `json:"ints"`
		Items   *boundedEntity[*genericItem]                 `json:"items"`
		Longs   *boundedEntity[*int64]                       `json:"longs"`
		Order   *boundedOrderOfLong                          `json:"order"`
		Other   *boundedTwo[*string, *genericItem]           `json:"other"`
		Swapped *boundedSwapped[*int64, *string]             `json:"swapped"`
		Two     *boundedTwo[*int64, *string]                 `json:"two"`
		Origin  codec.Origin                                 `json:"-"`
	}
	boundedEntity[T any] struct {
		_       struct{}     `java:"demo.Generic$Entity,serialVersionUID=22"`
		By      map[string]T `json:"by" java:"Map<T>"`
		ID      T            `json:"id" java:"T,erasure=java.io.Serializable"`
		Refs    []T          `json:"refs" java:"List<T>"`
		Version int32        `json:"version"`
		Origin  codec.Origin `json:"-"`
	}
	boundedHalf[T any] struct {
		_                           struct{} `java:"demo.Generic$Half,serialVersionUID=37"`
		boundedTwo[T, *genericItem] `java:"T"`
		X                           T            `json:"x" java:"T"`
		Origin                      codec.Origin `json:"-"`
	}
	boundedHasTwo[T any] struct {
		_     struct{}                       `java:"demo.Generic$HasTwo,serialVersionUID=39"`
		List  *boundedTwo[[]T, T]            `json:"list"`
		Other *boundedTwo[*genericItem, T]   `json:"other"`
		Two   *boundedTwo[T, *genericItem]   `json:"two"`
		Wild  *boundedTwo[any, *genericItem] `json:"wild"`
	}
	boundedInvoice struct {
		_ struct{} `java:"demo.Generic$Invoice,serialVersionUID=32"`
		boundedAudited[*string, *int64]
		No *string `json:"no"`
	}
	boundedLow struct {
		_ struct{} `java:"demo.Generic$Low,serialVersionUID=29"`
		boundedMid[*int64]
	}
	boundedMid[T any] struct {
		_                struct{} `java:"demo.Generic$Mid,serialVersionUID=28"`
		boundedEntity[T] `java:"T"`
		Low              T            `json:"low" java:"T,erasure=java.lang.Comparable"`
		Origin           codec.Origin `json:"-"`
	}
	boundedOrderOfColor struct {
		_ struct{} `java:"demo.Generic$OrderOfColor,serialVersionUID=26"`
		boundedEntity[*genericColor]
	}
	boundedOrderOfInteger struct {
		_ struct{} `java:"demo.Generic$OrderOfInteger,serialVersionUID=24"`
		boundedEntity[*int32]
	}
	boundedOrderOfItem struct {
		_ struct{} `java:"demo.Generic$OrderOfItem,serialVersionUID=25"`
		boundedEntity[*genericItem]
	}
	boundedOrderOfLong struct {
		_ struct{} `java:"demo.Generic$OrderOfLong,serialVersionUID=23"`
		boundedEntity[*int64]
		Name *string `json:"name"`
	}
	boundedOrderOfOrder struct {
		_ struct{} `java:"demo.Generic$OrderOfOrder,serialVersionUID=27"`
		boundedEntity[*boundedOrderOfLong]
	}
	boundedSwapped[T, T2 any] struct {
		_                 struct{} `java:"demo.Generic$Swapped,serialVersionUID=34"`
		boundedTwo[T2, T] `java:"T"`
		X                 T            `json:"x" java:"T"`
		Origin            codec.Origin `json:"-"`
	}
	boundedTwo[T, T2 any] struct {
		_      struct{}     `java:"demo.Generic$Two,serialVersionUID=33"`
		A      T            `json:"a" java:"T"`
		All    []T2         `json:"all" java:"List<T>"`
		B      T2           `json:"b" java:"T"`
		Origin codec.Origin `json:"-"`
	}
)

// TestBoundedTypeParameters: values that Redisson wrote come back as it wrote them, with the classes that fields are erased to.
func TestBoundedTypeParameters(t *testing.T) {
	expectGeneric(t, map[string]any{
		"OrderOfLong": boundedOrderOfLong{}, "OrderOfLong null": boundedOrderOfLong{}, "OrderOfInteger": boundedOrderOfInteger{},
		"OrderOfItem": boundedOrderOfItem{}, "OrderOfColor": boundedOrderOfColor{}, "OrderOfOrder": boundedOrderOfOrder{},
		"Low": boundedLow{}, "Mid": boundedMid[*int64]{}, "Entity": boundedEntity[*int64]{}, "Entity of Integer": boundedEntity[*int32]{},
		"Counted": boundedCounted[*int64, *boundedOrderOfLong]{}, "Invoice": boundedInvoice{}, "Audited": boundedAudited[*string, *int64]{},
		"order": boundedEntities{}, "longs": boundedEntities{}, "ints": boundedEntities{}, "items Entity": boundedEntities{}, "counted": boundedEntities{},
		"Two": boundedTwo[*int64, *string]{}, "Swapped": boundedSwapped[*int64, *string]{}, "two": boundedEntities{}, "other": boundedEntities{},
		"swapped": boundedEntities{}, "all Two": boundedEntities{}, "half": boundedEntities{}, "has": boundedEntities{},
	}, nil)
}

// TestErasureOfClassFiles: codec gen writes the tags that the structs above have.
func TestErasureOfClassFiles(t *testing.T) {
	library, err := classfile.Open("testdata/generic/generic.jar")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, library.Close()) })
	var classes []codec.JavaClass
	for _, name := range []string{"Entity", "Mid", "Counted"} {
		class, err := library.Class("demo.Generic$" + name)
		require.NoError(t, err)
		classes = append(classes, class)
	}
	source, err := gen.Source("demo", classes)
	require.NoError(t, err)
	for _, tag := range []string{
		`json:"id" java:"T,erasure=java.io.Serializable"`, `json:"low" java:"T,erasure=java.lang.Comparable"`,
		`json:"n" java:"T,erasure=java.lang.Number"`, `json:"b" java:"T,erasure=demo.Generic$OrderOfLong"`, `json:"refs" java:"List<T>"`,
	} {
		require.Contains(t, string(source), tag)
	}
}

// TestErasureTags: an erasure is the name of a class, of a field that is the type parameter itself.
func TestErasureTags(t *testing.T) {
	for _, value := range []any{
		struct {
			_ struct{} `java:"demo.One,serialVersionUID=1"`
			V any      `json:"v" java:"T,erasure="`
		}{},
		struct {
			_ struct{} `java:"demo.One,serialVersionUID=1"`
			V any      `json:"v" java:"T,erasure=java/lang/Number"`
		}{},
		struct {
			_ struct{} `java:"demo.One,serialVersionUID=1"`
			V any      `json:"v" java:"T,bound=java.lang.Number"`
		}{},
		struct {
			_ struct{} `java:"demo.One,serialVersionUID=1"`
			V []any    `json:"v" java:"List<T>,erasure=java.lang.Number"`
		}{},
	} {
		_, err := codec.ByName(codec.NameSerialization, codec.Class{Of: value})
		require.ErrorContains(t, err, "is none of those known")
	}
}
