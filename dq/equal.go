package dq

import (
	"reflect"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// equal reports whether a value that was read is one that is asked for: as reflect.DeepEqual has it, but for NaN, which
// equals itself here, for a value that was read must be found again, though as the key of a map it does not; and but for
// a codec.Origin, which one that was not read has not got.
func equal(read, asked any) bool {
	return comparison{}.equal(reflect.ValueOf(read), reflect.ValueOf(asked))
}

var originType = reflect.TypeFor[codec.Origin]()

// comparison holds the pairs of references that are compared already, or are about to be:
// a value may hold itself.
type comparison map[pair]bool

type pair struct {
	v, w   uintptr
	length int
	typ    reflect.Type
}

func (c comparison) equal(v, w reflect.Value) bool {
	if !v.IsValid() || !w.IsValid() {
		return v.IsValid() == w.IsValid()
	}
	if v.Type() != w.Type() {
		return false
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		return equalFloats(v.Float(), w.Float())
	case reflect.Complex64, reflect.Complex128:
		x, y := v.Complex(), w.Complex()
		return equalFloats(real(x), real(y)) && equalFloats(imag(x), imag(y))
	case reflect.Interface:
		return c.equal(v.Elem(), w.Elem())
	case reflect.Struct:
		if v.Type() == originType && w.IsZero() {
			return true
		}
		return c.equalParts(v.NumField(), v.Field, w.Field)
	case reflect.Array:
		return c.equalParts(v.Len(), v.Index, w.Index)
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return c.equalReferences(v, w)
	case reflect.Func:
		return v.IsNil() && w.IsNil()
	default:
		return v.Equal(w)
	}
}

func equalFloats(x, y float64) bool { return x == y || x != x && y != y }

func (c comparison) equalParts(n int, v, w func(int) reflect.Value) bool {
	for i := range n {
		if !c.equal(v(i), w(i)) {
			return false
		}
	}
	return true
}

func (c comparison) equalReferences(v, w reflect.Value) bool {
	if v.IsNil() || w.IsNil() {
		return v.IsNil() && w.IsNil()
	}
	p := pair{v: v.Pointer(), w: w.Pointer(), typ: v.Type()}
	if v.Kind() != reflect.Pointer {
		if p.length = v.Len(); p.length != w.Len() {
			return false
		}
	}
	if p.v == p.w || c[p] {
		return true // if a pair is not equal, the comparison that came first says so
	}
	c[p] = true
	switch v.Kind() {
	case reflect.Pointer:
		return c.equal(v.Elem(), w.Elem())
	case reflect.Slice:
		return c.equalParts(v.Len(), v.Index, w.Index)
	}
	for entry := v.MapRange(); entry.Next(); {
		if other := w.MapIndex(entry.Key()); !other.IsValid() || !c.equal(entry.Value(), other) {
			return false
		}
	}
	return true
}
