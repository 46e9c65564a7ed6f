package java

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

func (kryoForm) encode(g *registry, v reflect.Value, t *typ) ([]byte, error) {
	w := kryoWriter{writer{registry: g}, map[string]int{}}
	w.named(v, t, nil)
	return w.result()
}

// kryoWriter writes one value. The name of a class is written once, its number each time.
type kryoWriter struct {
	writer
	names map[string]int
}

// class writes the class of a value.
func (w *kryoWriter) class(t *typ) {
	if id := kryoIDs[t.kind]; id != 0 {
		w.byte(id)
		return
	}
	name := cmp.Or(t.value, t.class)
	if t.object != nil && t.object.generic {
		w.refuse("got %v for the generic class %s but no field declares its type arguments; use a Go type with fields of any", t.goType, name)
	}
	w.byte(kryoNamed)
	index, known := w.names[name]
	if !known {
		index = len(w.names)
		w.names[name] = index
	}
	w.varint(uint64(index))
	if known {
		return
	}
	if len(name) > shortText && isASCII(name) {
		w.shortText(name)
	} else {
		w.text(name)
	}
}

// named writes a class and a value of it, or null. declared is the declared type, or nil.
func (w *kryoWriter) named(v reflect.Value, t, declared *typ) {
	v, t, ok := w.actual(v, t)
	switch {
	case !ok:
	case !v.IsValid():
		w.byte(kryoNull)
	default:
		if declared != nil && declared.kind == objectKind && t.object != nil && declared.object.generic {
			own := *t
			own.object = &class{name: t.object.name, fields: t.object.fields, record: t.object.record}
			t = &own
		}
		w.class(t)
		w.value(v, t, declared)
	}
}

// declared writes a value of the declared type t.
func (w *kryoWriter) declared(v reflect.Value, t *typ, arguments bool) {
	known := t
	if !arguments {
		known = nil
	}
	switch {
	case t.kind == optionalKind:
		w.byte(1)
		w.named(v, t.elem, nil)
	case t.isPrimitive():
		w.value(v, t, nil)
	case t.isFinal():
		w.orNull(v, t, true, known)
	default:
		if t.kind == objectKind && (arguments || !t.object.generic) {
			known = t
		}
		w.named(v, t, known)
	}
}

// orNull writes a value of a class t that the reader knows.
func (w *kryoWriter) orNull(v reflect.Value, t *typ, mayBeNull bool, declared *typ) {
	inner, own, ok := w.actual(v, t)
	switch {
	case !ok:
	case inner.IsValid():
		if mayBeNull && !t.hasOwnNull() {
			w.byte(1)
		}
		w.value(inner, own, declared)
	case t.kind == stringKind || t.class == "java.util.Currency":
		w.byte(0x80)
	default:
		w.byte(kryoNull)
	}
}

// value writes a value without its class.
func (w *kryoWriter) value(v reflect.Value, t, declared *typ) {
	w.enter()
	defer w.leave()
	if w.err != nil {
		return
	}
	switch t.kind {
	case boolKind, byteKind, shortKind, charKind, floatKind, doubleKind:
		w.fixed(binary.LittleEndian, t, v)
	case intKind:
		w.zigzag(int32(v.Int()))
	case longKind:
		w.varlong(uint64(v.Int()<<1 ^ v.Int()>>63))
	case stringKind:
		w.text(v.String())
	case bytesKind:
		w.varint(uint64(v.Len()) + 1)
		w.buf = append(w.buf, v.Bytes()...)
	case enumKind:
		w.varint(uint64(w.ordinal(t, v)) + 1)
	case listKind:
		w.list(v, t, declared.as(listKind).element())
	case arrayKind:
		w.varint(uint64(v.Len()) + 1)
		for i := range v.Len() {
			w.declared(v.Index(i), t.elem, false)
		}
	case mapKind:
		w.mapping(v, t, declared)
	case objectKind:
		for _, f := range t.object.fields {
			before := w.err
			w.declared(v.FieldByIndex(f.index), f.typ, !t.object.record)
			if before == nil && w.err != nil {
				w.err = fmt.Errorf("field %s of %s: %w", f.name, t.object.name, w.err)
			}
		}
	default:
		w.scalar(v, t.scalar)
	}
}

// list writes a collection. The class of its elements is left out if declared and final, and written once if all have it.
func (w *kryoWriter) list(v reflect.Value, t, elem *typ) {
	n, hasNull, same := v.Len(), false, true
	var one *typ
	for i := range n {
		element, of, ok := w.actual(v.Index(i), t.elem)
		switch {
		case !ok:
			return
		case !element.IsValid():
			hasNull = true
		case one == nil:
			one = of
		case one != of && (one.kind != of.kind || cmp.Or(one.value, one.class) != cmp.Or(of.value, of.class)):
			same = false
		}
	}
	declared := elem != nil && elem.isFinal()
	switch {
	case n == 0:
		w.byte(1)
	case declared:
		w.flagged(hasNull, n+1)
	default:
		w.flagged(same, n+1)
	}
	if isSorted(t.value) {
		w.byte(kryoNull) // the comparator
	}
	switch {
	case n == 0 || w.err != nil:
		return
	case declared:
		one = elem
	case !same:
		for i := range n {
			w.named(v.Index(i), t.elem, elem)
		}
		return
	case one == nil:
		w.byte(kryoNull)
		return
	default:
		w.class(one)
		w.bool(hasNull)
	}
	for i := range n {
		w.orNull(v.Index(i), one, hasNull, elem)
	}
}

func (w *kryoWriter) mapping(v reflect.Value, t, declared *typ) {
	key, elem := declared.as(mapKind).keys(), declared.as(mapKind).element()
	w.varint(uint64(v.Len()) + 1)
	if isSorted(t.value) {
		w.byte(kryoNull) // the comparator
	}
	keys, err := inOrder(v, t)
	if err != nil {
		w.refuse("%v", err)
	}
	part := func(v reflect.Value, t, declared *typ) {
		if declared != nil && declared.isFinal() {
			w.orNull(v, t, true, declared)
		} else {
			w.named(v, t, declared)
		}
	}
	for _, k := range keys {
		part(k, t.key, key)
		part(v.MapIndex(k), t.elem, elem)
	}
}

func (w *kryoWriter) varint(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func (w *kryoWriter) zigzag(n int32) { w.varint(uint64(uint32(n<<1 ^ n>>31))) }

// varlong writes 9 bytes at most: the ninth has eight bits.
func (w *kryoWriter) varlong(u uint64) {
	for range 8 {
		if u < 0x80 {
			break
		}
		w.buf = append(w.buf, byte(u)|0x80)
		u >>= 7
	}
	w.buf = append(w.buf, byte(u))
}

// flagged writes n with a flag in the first byte, next to 6 bits of n.
func (w *kryoWriter) flagged(flag bool, n int) {
	first := byte(n) & 0x3f
	if flag {
		first |= 0x80
	}
	if n>>6 == 0 {
		w.buf = append(w.buf, first)
		return
	}
	w.buf = append(w.buf, first|0x40)
	w.varint(uint64(n >> 6))
}

func (w *kryoWriter) shortText(s string) {
	w.buf = append(w.buf, s...)
	w.buf[len(w.buf)-1] |= 0x80
}

func (w *kryoWriter) text(s string) {
	n := unitsIn(s)
	if n == len(s) && n >= 2 && n <= shortText {
		w.shortText(s)
		return
	}
	w.flagged(true, n+1)
	w.buf = appendUnits(w.buf, s, false)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
