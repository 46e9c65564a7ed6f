package codec_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

func reads[T any](t *testing.T, c codec.Codec[T], value T, data string) {
	t.Helper()
	written, err := c.Encode(value)
	require.NoError(t, err)
	require.Equal(t, data, string(written))
	got, err := c.Decode([]byte(data))
	require.NoError(t, err)
	require.Equal(t, value, got)
}

func TestScalars(t *testing.T) {
	reads[string](t, codec.String{}, "grüße", "grüße")
	reads[[]byte](t, codec.Bytes{}, []byte{0, 1}, "\x00\x01")
	reads[int64](t, codec.Long{}, math.MinInt64, "-9223372036854775808")
	_, err := codec.Long{}.Decode([]byte("9223372036854775808"))
	require.ErrorContains(t, err, "64-bit integer")
	data := []byte("abc")
	kept, err := codec.Bytes{}.Decode(data)
	require.NoError(t, err)
	data[0] = 'x'
	require.Equal(t, "abc", string(kept), "a copy")
}

type part struct {
	Name string  `json:"name"`
	ID   int     `json:"id"`
	Rate float64 `json:"rate"`
	Note *string `json:"note"`
	Tags map[string]any
}

func TestJSON(t *testing.T) {
	reads(t, codec.JSON[part]{}, part{Name: "a\u0001\U0001f600/<", ID: 7, Rate: 1e7}, `{"id":7,"name":"a\u0001\uD83D\uDE00/<","rate":1.0E7}`)
	reads(t, codec.JSON[[]part]{}, []part{{Tags: map[string]any{"b": int32(1), "a": nil}}}[:0], `[]`)
	reads(t, codec.JSON[*part]{}, nil, `null`)
	reads[any](t, codec.JSON[any]{}, map[string]any{"a": []any{int32(1), int64(1 << 40), "x", true}}, `{"a":[1,1099511627776,"x",true]}`)
	_, err := codec.JSON[part]{}.Decode([]byte(`{"name":`))
	format := new(java.FormatError)
	require.ErrorAs(t, err, &format)
	require.True(t, format.Truncated)
	_, err = codec.JSON[struct{ *part }]{}.Encode(struct{ *part }{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = codec.JSON[struct{ *part }]{}.Decode([]byte(`{}`))
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestKeep(t *testing.T) {
	c := codec.PreserveBytes(codec.JSON[part]{})
	got, err := c.Decode([]byte(`{ "id": 7, "more": 1 }`))
	require.NoError(t, err)
	require.Equal(t, part{ID: 7}, got.Value())
	require.Equal(t, part{ID: 7}, got.Unwrap())
	data, err := c.Encode(got)
	require.NoError(t, err)
	require.Equal(t, `{ "id": 7, "more": 1 }`, string(data))
	data[0], got.Bytes()[0] = 'x', 'x'
	require.Equal(t, `{ "id": 7, "more": 1 }`, string(got.Bytes()), "copies")
	data, err = c.Encode(codec.PreservedOf(got.Value()))
	require.NoError(t, err)
	require.Equal(t, `{"id":7,"name":"","rate":0.0}`, string(data))
	require.Nil(t, codec.PreservedOf(7).Bytes())
	_, err = c.Decode([]byte("{"))
	require.Error(t, err)

	check := func(c any) error { return c.(interface{ Check() error }).Check() }
	require.NoError(t, check(c))
	require.ErrorContains(t, check(codec.PreserveBytes[any](nil)), "got nil")
	require.ErrorContains(t, check(codec.PreserveBytes[any](java.Kryo5[any]{})), "constructor")
}

func ExampleJSON() {
	type order struct {
		Name string `json:"name"`
		ID   int64  `json:"id"`
	}
	data, err := codec.JSON[order]{}.Encode(order{"a book", 7})
	fmt.Println(string(data), err)
	// Output: {"id":7,"name":"a book"} <nil>
}

func ExamplePreserveBytes() {
	type order struct {
		ID int64 `json:"id"`
	}
	orders := codec.PreserveBytes(codec.JSON[order]{})
	read, err := orders.Decode([]byte(`{"note":"not in the struct","id":7}`))
	fmt.Println(read.Value().ID, err)
	data, err := orders.Encode(read)
	fmt.Println(string(data), err)
	// Output:
	// 7 <nil>
	// {"note":"not in the struct","id":7} <nil>
}
