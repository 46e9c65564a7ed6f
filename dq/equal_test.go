package dq

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// ring is a value that holds itself.
type ring struct {
	value float64
	next  *ring
	all   []any
	named map[string]any
}

func ringOf(values ...float64) *ring {
	first := &ring{value: values[0]}
	first.next = first
	first.all = []any{first, nil}
	first.all[1] = first.all
	first.named = map[string]any{"first": first}
	first.named["itself"] = first.named
	for _, v := range values[1:] {
		first.next = &ring{value: v, next: first.next}
	}
	return first
}

// hidden has fields that reflection may read, but not hand out.
type hidden struct {
	text    string
	data    []byte
	numbers [2]float32
	byName  map[[2]int]any
	call    func()
}

func TestEqualIsDeepEqualButForNaN(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	other := math.Float64frombits(math.Float64bits(nan) ^ 1)
	text, again := "a", "a"
	caller := &hidden{call: func() {}}
	values := []any{
		nil, 1, int32(1), int64(1), "a", "b", true, 0.0, math.Copysign(0, -1), 1.5, math.Inf(1), error(nil), fmt.Errorf("a"), &text, &again,
		[]any(nil), []any{}, []any{nil}, []any{1, "a"}, []any{1, "b"}, []string{"a"}, []byte("a"), []byte("b"), [1]string{"a"},
		map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": nil}, map[string]any{"a": []any{1}},
		(*ring)(nil), ringOf(1), ringOf(1), ringOf(2), ringOf(1, 2), ringOf(1, 2), ringOf(1, 2, 3),
		hidden{}, hidden{text: "a", data: []byte("a"), byName: map[[2]int]any{{1, 2}: "x"}}, hidden{call: func() {}},
		make(chan int), func() {}, (func())(nil), struct{}{}, caller, &hidden{call: caller.call},
	}
	for _, v := range values {
		for _, w := range values {
			require.Equal(t, reflect.DeepEqual(v, w), equal(v, w), "%T %T", v, w)
		}
	}
	for _, pair := range [][2]any{
		{nan, other},
		{float32(nan), float32(nan)},
		{complex(nan, 1), complex(other, 1)},
		{[]any{"x", nan}, []any{"x", other}},
		{map[string]any{"a": []float64{nan}}, map[string]any{"a": []float64{other}}},
		{&hidden{numbers: [2]float32{1, float32(nan)}}, &hidden{numbers: [2]float32{1, float32(nan)}}},
		{ringOf(1, nan), ringOf(1, other)},
	} {
		require.True(t, equal(pair[0], pair[1]), "%T", pair[0])
	}
	require.False(t, equal(nan, 0.0))
	require.False(t, equal(nan, float32(nan)))
	require.False(t, equal(complex(nan, 1), complex(nan, 2)))
	require.False(t, equal([]any{nan, 1}, []any{nan, 2}))
	require.False(t, equal(ringOf(nan, 1), ringOf(nan, 2)))
}
