package codec

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// numbered is what gen makes of a class with a Page<Long> a, where Page<T> has a subclass; untoldOne
// is one whose field does not tell the Long.
type (
	leaf[T any] struct {
		_      struct{}     `java:"a.M$Page,serialVersionUID=4"`
		ByKey  map[string]T `json:"byKey" java:"Map<T>"`
		First  T            `json:"first" java:"T"`
		Items  []T          `json:"items" java:"List<T>"`
		Origin Origin       `json:"-"`
	}
	leafOfLong struct {
		_ struct{} `java:"a.M$PageOfLong,serialVersionUID=5"`
		leaf[*int64]
	}
	leafBase struct {
		_    struct{} `java:"a.M$Base,serialVersionUID=1"`
		N    int32    `json:"n"`
		Name *string  `json:"name"`
	}
	numbered struct {
		_      struct{}         `java:"a.M$PL,serialVersionUID=1"`
		A      *leaf[*int64]    `json:"a"`
		B      *leaf[*leafBase] `json:"b"`
		Z      *string          `json:"z"`
		ZZ     any              `json:"zz"`
		Origin Origin           `json:"-"`
	}
	untoldOne struct {
		_  struct{}         `java:"a.M$PL,serialVersionUID=1"`
		A  any              `json:"a" java:"a.M$Page"`
		B  *leaf[*leafBase] `json:"b"`
		Z  *string          `json:"z"`
		ZZ any              `json:"zz"`
	}
)

// Kryo5 writes what is of a type parameter by the type arguments of the declaration: the elements of a List<T> have no
// class where that is Long. The bytes are of Redisson 3.21.1, of a Page<Long> with the items 7 and 8.
func TestDeclaredTypeArguments(t *testing.T) {
	data, err := hex.DecodeString("0100612e4d2450cc0101612e4d24506167e500010a01026a6176612e7574696c2e41727261794c6973f4030e1000656ee400")
	require.NoError(t, err)
	classes := []Class{{Of: leaf[any]{}}, {Of: leafOfLong{}}}
	told, err := NewKryo5[numbered](classes...)
	require.NoError(t, err)
	value, err := told.Decode(data)
	require.NoError(t, err)
	require.Len(t, value.A.Items, 2)
	require.Equal(t, int64(8), *value.A.Items[1])
	written, err := told.Encode(value)
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(data), hex.EncodeToString(written))

	kryo, err := NewKryo5[untoldOne](classes...)
	require.NoError(t, err)
	_, err = kryo.Decode(data)
	require.ErrorContains(t, err, "field a of a.M$PL: codec kryo5: the value holds an object of the generic class a.M$Page, where a.M$Page is declared without its type arguments")
	items := &leaf[any]{Items: []any{int64(7), int64(8)}}
	_, err = kryo.Encode(untoldOne{A: items})
	require.ErrorContains(t, err, "field a: codec kryo5: an object of the generic class a.M$Page")
	json, err := NewJackson[untoldOne](classes...)
	require.NoError(t, err)
	_, err = json.Encode(untoldOne{A: items})
	require.ErrorContains(t, err, "an object of the generic class a.M$Page")
	_, err = json.Decode([]byte(`{"@class":"a.M$PL","a":{"@class":"a.M$Page","items":["java.util.ArrayList",[7,8]]}}`))
	require.ErrorContains(t, err, "an object of the generic class a.M$Page")

	// Where Object is declared, there are none to tell, and a subclass says what its super class is of.
	_, err = kryo.Encode(untoldOne{ZZ: items})
	require.NoError(t, err)
	_, err = kryo.Encode(untoldOne{A: &leafOfLong{}})
	require.NoError(t, err)
	stream, err := NewSerialization[untoldOne](classes...)
	require.NoError(t, err)
	_, err = stream.Encode(untoldOne{A: items}) // which names each class
	require.NoError(t, err)
}
