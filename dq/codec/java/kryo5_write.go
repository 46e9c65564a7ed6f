package java

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"time"
)

func (kryoForm) encode(g *registry, v reflect.Value, t *typ) ([]byte, error) {
	w := kryoWriter{newWriter(g), map[string]int{}}
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
	if id := primitives[t.kind].kryo; id != 0 {
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
	if !known {
		w.ascii(name, math.MaxInt)
	}
}

// named writes a class and a value of it, or null. declared is the declared type, or nil.
func (w *kryoWriter) named(v reflect.Value, t, declared *typ) {
	v, t, ok := w.actual(v, t)
	switch {
	case !ok:
	case !v.IsValid():
		w.byte(kryoNull)
	case !w.namesElements(t, declared):
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
	switch known := t.known(arguments); {
	case t.kind == optionalKind:
		w.byte(1)
		w.named(v, t.elem, nil)
	case t.isPrimitive():
		w.value(v, t, nil)
	case t.isFinal():
		w.orNull(v, t, true, known)
	default:
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
		_, elem := declared.parts(listKind)
		w.list(v, t, elem)
	case arrayKind:
		w.varint(uint64(v.Len()) + 1)
		for i := range v.Len() {
			w.declared(v.Index(i), t.elem, false)
		}
	case mapKind:
		w.mapping(v, t, declared)
	case objectKind:
		for _, f := range t.object.fields {
			w.declared(v.FieldByIndex(f.index), f.typ, !t.object.record)
			if w.err != nil {
				w.err = fmt.Errorf("field %s of %s: %w", f.name, t.object.name, w.err)
				break
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
		w.byte(map[bool]byte{true: 1}[hasNull])
	}
	for i := range n {
		w.orNull(v.Index(i), one, hasNull, elem)
	}
}

func (w *kryoWriter) mapping(v reflect.Value, t, declared *typ) {
	key, elem := declared.parts(mapKind)
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

func (w *kryoWriter) text(s string) { w.ascii(s, shortText) }

// ascii writes a text. One of ASCII, up to a length, has no length: its last byte is marked.
func (w *kryoWriter) ascii(s string, longest int) {
	n := unitsIn(s)
	if n == len(s) && n >= 2 && n <= longest {
		w.buf = append(w.buf, s...)
		w.buf[len(w.buf)-1] |= 0x80
		return
	}
	w.flagged(true, n+1)
	w.buf = appendUnits(w.buf, s, false)
}

func (w *kryoWriter) scalar(v reflect.Value, s *scalar) {
	le := binary.LittleEndian
	if s.layout != "" {
		m, err := parseMoment(v.String(), s.layout)
		if err != nil {
			w.refuse("a %s: %v", s.class, err)
		}
		w.moment(m, s.layout)
		return
	}
	switch value := v.Interface().(type) {
	case Date:
		w.varlong(uint64(value))
	case Timestamp:
		w.varlong(uint64(value.UnixMilli()))
		if !time.UnixMilli(value.UnixMilli()).Equal(value.Time) {
			w.refuse("got a java.sql.Timestamp finer than milliseconds, which Kryo5Codec does not keep, or far away; truncate it")
		}
	case big.Int:
		w.bigNumber(&value)
	case Decimal:
		unscaled, scale, err := value.parts()
		if err != nil {
			w.refuse("%v", err)
			return
		}
		w.bigNumber(unscaled)
		w.zigzag(scale)
	case time.Time:
		if _, err := instantOf(value.Unix(), int64(value.Nanosecond())); err != nil {
			w.refuse("got %v", err)
		}
		w.varlong(uint64(value.Unix()))
		w.varint(uint64(value.Nanosecond()))
	case time.Duration:
		seconds, nanos := durationParts(value)
		w.buf = le.AppendUint64(w.buf, uint64(seconds))
		w.varint(uint64(nanos))
	case URI, Currency, Locale:
		w.refuse("got a %s, which is not a plain value: Java reads only some texts of it; use a string in both services, or let Java write it", s.class)
	default: // a UUID or another array of 16 bytes
		var id UUID
		reflect.Copy(reflect.ValueOf(&id).Elem(), v)
		w.buf = le.AppendUint64(w.buf, binary.BigEndian.Uint64(id[:8]))
		w.buf = le.AppendUint64(w.buf, binary.BigEndian.Uint64(id[8:]))
	}
}

func (w *kryoWriter) moment(m moment, layout string) {
	for _, part := range layout {
		switch part {
		case 't':
			w.time(byte(m.hour), byte(m.minute), byte(m.second), m.nano)
		case 'o':
			switch {
			case strings.HasSuffix(layout, "z"):
			case m.offset%900 == 0:
				w.byte(byte(m.offset / 900))
			default:
				w.byte(127)
				w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(m.offset))
			}
		case 'z':
			w.text(m.zone)
			if at := m; at.inZone() != nil {
				w.refuse("got a java.time.ZonedDateTime: %v", at.inZone())
			} else if at.offset != m.offset {
				w.refuse("got a java.time.ZonedDateTime with another offset than its zone %s gives, which Kryo5Codec does not keep", m.zone)
			}
		default:
			for _, n := range m.numbers(part) {
				if part == 'p' || n == &m.year {
					w.varint(uint64(uint32(*n)))
				} else {
					w.byte(byte(*n))
				}
			}
		}
	}
}

// time writes a LocalTime: its last part that is not zero is marked.
func (w *kryoWriter) time(hour, minute, second byte, nano int32) {
	switch {
	case nano != 0:
		w.byte(hour, minute, second)
		w.varint(uint64(nano))
	case second != 0:
		w.byte(hour, minute, ^second)
	case minute != 0:
		w.byte(hour, ^minute)
	default:
		w.byte(^hour)
	}
}

func (w *kryoWriter) bigNumber(n *big.Int) {
	data := integerBytes(n)
	w.varint(uint64(len(data)) + 1)
	w.buf = append(w.buf, data...)
}
