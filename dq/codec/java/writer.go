package java

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// writer is the common part of the writers. It keeps its first error.
type writer struct {
	problem
	registry *registry
	buf      []byte
	depth    int
}

func newWriter(g *registry) writer { return writer{problem: problem{codec: g.codec}, registry: g} }

func (w *writer) result() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.buf, nil
}

func (w *writer) checkText(s string) {
	if !utf8.ValidString(s) {
		w.refuse("the text %.40q is not UTF-8, so a String of Java cannot hold it; use []byte here and byte[] in Java", s)
	}
}

// ordinal returns the number of a constant of an enum.
func (w *writer) ordinal(t *typ, v reflect.Value) int {
	number := slices.Index(t.enum.constants, v.String())
	if number < 0 {
		w.refuse("expected a constant of the enum %s, one of %q, got %q", t.class, t.enum.constants, v.String())
	}
	return max(number, 0)
}

func (w *writer) byte(b ...byte) { w.buf = append(w.buf, b...) }

// fixed writes a primitive in its own size. Every NaN is Java's.
func (w *writer) fixed(order binary.ByteOrder, t *typ, v reflect.Value) {
	if v.CanFloat() && math.IsNaN(v.Float()) {
		v = reflect.ValueOf(math.Float64frombits(0x7ff8 << 48))
	}
	w.buf, _ = binary.Append(w.buf, order, v.Convert(primitives[t.kind].goType).Interface())
}

// enter counts a level of nesting. The caller defers leave.
func (w *writer) enter() {
	if w.depth++; w.depth > maxDepth {
		w.refuse("the value is nested deeper than %d; does it hold itself?", maxDepth)
	}
}

func (w *writer) leave() { w.depth-- }

// actual returns the value in an interface or behind a pointer, and its type; an invalid value for null. t is the declared
// type. It returns false after an error.
func (w *writer) actual(v reflect.Value, t *typ) (reflect.Value, *typ, bool) {
	isAny := v.Kind() == reflect.Interface
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return reflect.Value{}, nil, w.err == nil
		}
		v = v.Elem()
	}
	if (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.IsNil() {
		return reflect.Value{}, nil, w.err == nil
	}
	if v.Type() == objectType {
		w.refuse("got an Object, which is only read; use codec.PreserveBytes to write a value in the bytes that it had")
	}
	if v.Kind() == reflect.String {
		w.checkText(v.String())
	}
	if !isAny || w.err != nil || t != nil && t.kind == jsonKind {
		return v, t, w.err == nil
	}
	g := w.registry
	held := g.types[v.Type()]
	if held == nil {
		scratch := &registry{g.codec, g.plain, g.given, map[reflect.Type]*typ{}, map[string]*typ{}} // g is shared
		if held, w.err = scratch.typeOf(v.Type()); w.err != nil {
			return v, nil, false
		}
	}
	if t != nil && (strings.HasPrefix(t.class, "java.util.") || strings.HasPrefix(t.class, "[")) && t.kind == anyKind && t.class != held.class && t.class != held.value {
		w.refuse("got a %s for a field of %s; let Java write it", cmp.Or(held.value, held.name()), t.class)
	}
	return v, held, w.err == nil
}

// inOrder returns the keys of a map in the order in which Java iterates over one that was filled entry by entry, so that
// Java's remove and contains find it: a HashMap by bucket, a TreeMap by key. Keys of one bucket, and of a LinkedHashMap, are
// sorted.
func inOrder(m reflect.Value, t *typ) ([]reflect.Value, error) {
	keys := m.MapKeys()
	buckets := map[reflect.Value]uint32{}
	capacity := 16
	for len(keys) > capacity/4*3 {
		capacity *= 2
	}
	units := map[reflect.Value][]uint16{}
	for _, key := range keys {
		k := key
		if k.Kind() == reflect.Interface {
			k = k.Elem()
		}
		var hash uint32
		switch {
		case k.IsValid() && k.Kind() == reflect.String && scalarOfGo[k.Type()] == nil && t.key.kind != enumKind:
			units[key] = utf16.Encode([]rune(k.String()))
			for _, unit := range units[key] {
				hash = 31*hash + uint32(unit)
			}
		case k.IsValid() && k.CanInt() && scalarOfGo[k.Type()] == nil:
			hash = uint32(k.Int())
			if k.Kind() == reflect.Int64 {
				hash = uint32(k.Int() ^ int64(uint64(k.Int())>>32))
			}
		case t.value == "java.util.TreeMap":
			return nil, fmt.Errorf("got a java.util.TreeMap with keys of %v; the order of texts and integers only is known", m.Type().Key())
		}
		if t.value == "java.util.HashMap" {
			buckets[key] = (hash ^ hash>>16) & uint32(capacity-1)
		}
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		order := cmp.Or(cmp.Compare(buckets[a], buckets[b]), slices.Compare(units[a], units[b]))
		if a.CanInt() && b.CanInt() {
			order = cmp.Or(order, cmp.Compare(a.Int(), b.Int()))
		}
		return cmp.Or(order, cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return keys, nil
}

// unitsIn returns the length of s as Java counts it, in UTF-16 units.
func unitsIn(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// appendUnits appends s with each UTF-16 unit encoded as UTF-8. Modified UTF-8 writes zero as C0 80; Kryo keeps it.
func appendUnits(dst []byte, s string, modified bool) []byte {
	for _, r := range s {
		switch {
		case r == 0 && modified:
			dst = append(dst, 0xc0, 0x80)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			for _, half := range []rune{high, low} {
				dst = append(dst, 0xe0|byte(half>>12), 0x80|byte(half>>6)&0x3f, 0x80|byte(half)&0x3f)
			}
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
