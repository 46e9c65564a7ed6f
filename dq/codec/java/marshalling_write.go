package java

import (
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
)

// riverWriter writes the river protocol of JBoss Marshalling. References count instances and classes backwards.
type riverWriter struct {
	*streamWriter
	instances int
	known     map[string]int // names and constants
	classes   map[string]int
}

func newRiverWriter(w *streamWriter) streamForm {
	w.buf = []byte{riverVersion}
	return &riverWriter{w, 0, map[string]int{}, map[string]int{}}
}

func (r *riverWriter) null()    { r.byte(riverNull) }
func (r *riverWriter) endList() {}

// sized writes code, code+1 or code+2 by the size of the length; code-1 is empty. The greatest length of a form is 0 there.
func (r *riverWriter) sized(code byte, n int) {
	switch {
	case n == 0:
		r.byte(code - 1)
	case n <= 1<<8:
		r.byte(code, byte(n))
	case n <= 1<<16:
		r.byte(code + 1)
		r.int16(n)
	default:
		r.byte(code + 2)
		r.int32(n)
	}
}

// repeat writes a reference to number first of count: back in 8 or 16 bits, or absolute in 32.
func (r *riverWriter) repeat(first, count int, near, nearish, far byte) {
	switch back := first - count; {
	case back >= -1<<8:
		r.byte(near, byte(back))
	case back >= -1<<16:
		r.byte(nearish)
		r.int16(back)
	default:
		r.byte(far)
		r.int32(first)
	}
}

func (r *riverWriter) text(s string) {
	r.sized(riverString+1, unitsIn(s))
	r.byte(r.units(s)...)
	if s != "" {
		r.instances++
	}
}

// refer writes a reference to the earlier value of a key, or gives the key the next number.
func (r *riverWriter) refer(key string) bool {
	first, known := r.known[key]
	if known {
		r.repeat(first, r.instances, riverRepeatNear, riverRepeatNearish, riverRepeat)
	} else {
		r.known[key] = r.instances
	}
	return known
}

// name writes the name of a class or a field. Java interns them.
func (r *riverWriter) name(s string) {
	if !r.refer(s) {
		r.text(s)
	}
}

func (r *riverWriter) plainText(s string) {
	r.int32(unitsIn(s))
	r.byte(r.units(s)...)
}

func riverPrimitive(t *typ) byte {
	return byte(strings.Index(riverPrimitives, primitives[t.kind].code))
}

func (r *riverWriter) box(t *typ, v reflect.Value) {
	switch {
	case t.kind != boolKind:
		r.byte(riverByte - 1 + riverPrimitive(t))
		r.primitive(t, v)
	case v.Bool():
		r.byte(riverTrue)
	default:
		r.byte(riverFalse)
	}
}

func (r *riverWriter) bytes(data []byte) {
	r.sized(riverArray+1, len(data))
	r.byte(riverPrimBool + 1)
	r.byte(data...)
	r.instances++
}

func (r *riverWriter) list(n int) {
	r.sized(riverCollection+1, n)
	r.byte(riverArrayList)
	r.instances++
}

func (r *riverWriter) constant(t *typ, name string) {
	if r.refer("constant " + t.class + " " + name) {
		return
	}
	r.byte(riverNew)
	if !r.again(t.class) {
		r.byte(riverEnumClass)
		r.plainText(t.class)
	}
	r.plainText(name)
	r.instances++
}

// again writes a reference to a class if it was written before, else counts it.
func (r *riverWriter) again(class string) bool {
	first, known := r.classes[class]
	if known {
		r.repeat(first, len(r.classes), riverClassNear, riverClassNearish, riverClassFar)
	} else {
		r.classes[class] = len(r.classes)
	}
	return known
}

func (r *riverWriter) object(c *class) {
	r.byte(riverNew)
	r.class(c, c)
	r.instances++
}

func (r *riverWriter) class(of, level *class) {
	if level == nil {
		r.byte(riverObject)
		return
	}
	if r.again(level.name) {
		return
	}
	r.byte(riverSerializable)
	r.name(level.name)
	r.int64(*level.uid)
	fields := r.fieldsOf(of, level)
	r.int32(len(fields))
	for _, f := range fields {
		r.name(f.name)
		code := byte(riverObject)
		if f.typ.isPrimitive() {
			code = riverPrimBool + riverPrimitive(f.typ)
		}
		r.byte(code, 0)
	}
	r.class(of, level.super)
}

// streamWriter writes plain values for Marshalling and Serialization: texts, numbers, booleans, byte[], enums, ArrayLists, and
// objects with such fields. It refuses others.
type streamWriter struct {
	writer
	form     streamForm
	isSerial bool
}

// streamForm is the difference between the two protocols.
type streamForm interface {
	null()
	text(s string)
	box(t *typ, v reflect.Value)
	bytes(data []byte)
	list(n int)
	endList()
	constant(t *typ, name string)
	object(c *class)
}

func (s streamCodec) encode(g *registry, v reflect.Value, t *typ) ([]byte, error) {
	w := &streamWriter{writer: newWriter(g), isSerial: s.isSerial}
	w.form = s.write(w)
	w.value(v, t)
	return w.result()
}

func (w *streamWriter) int16(n int)           { w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(n)) }
func (w *streamWriter) int32(n int)           { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(n)) }
func (w *streamWriter) int64(n int64)         { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(n)) }
func (w *streamWriter) units(s string) []byte { return appendUnits(nil, s, true) }

func (w *streamWriter) value(v reflect.Value, declared *typ) {
	w.enter()
	defer w.leave()
	v, t, ok := w.actual(v, declared)
	switch {
	case !ok:
	case declared.kind == optionalKind:
		w.refuse("got a java.util.Optional, which is not java.io.Serializable")
	case !v.IsValid():
		w.form.null()
	case primitives[t.kind].code != "":
		w.form.box(t, v)
	case t.kind == stringKind:
		w.form.text(v.String())
	case t.kind == bytesKind:
		w.form.bytes(v.Bytes())
	case t.kind == enumKind:
		w.ordinal(t, v)
		w.form.constant(t, v.String())
	case t.kind == listKind && t.value == "java.util.ArrayList":
		w.form.list(v.Len())
		for i := range v.Len() {
			w.value(v.Index(i), t.elem)
		}
		w.form.endList()
	case t.kind == objectKind:
		w.object(v, t.object)
	default:
		w.refuse("got a %s, which is not a plain value; use Kryo5 or JSON, or let Java write it", t.name())
	}
}

// object writes the fields of each class of an object, the top of the hierarchy first.
func (w *streamWriter) object(v reflect.Value, c *class) {
	var levels []*class
	for level := c; level != nil; level = level.super {
		if level.uid == nil {
			w.refuse("the serialVersionUID of %s is unknown; add `,serialVersionUID=<integer>` to its java tag, or set it in its Class", level.name)
			return
		}
		levels = append(levels, level)
	}
	if c.record && !w.isSerial {
		w.refuse("got the record %s, which MarshallingCodec does not read", c.name)
	}
	w.form.object(c)
	for _, level := range slices.Backward(levels) {
		for _, f := range w.fieldsOf(c, level) {
			if part := v.FieldByIndex(f.index); f.typ.isPrimitive() {
				w.primitive(f.typ, part)
			} else {
				w.value(part, f.typ)
			}
		}
	}
}

// fieldsOf returns the fields of one class in the hierarchy of c, in the order on the wire.
func (w *streamWriter) fieldsOf(c, level *class) (all []field) {
	for _, primitive := range []bool{true, false} {
		for _, f := range c.fields {
			if f.of.name == level.name && (f.typ.isPrimitive() || !w.isSerial) == primitive {
				all = append(all, f)
			}
		}
	}
	return all
}

func (w *streamWriter) primitive(t *typ, v reflect.Value) { w.fixed(binary.BigEndian, t, v) }
