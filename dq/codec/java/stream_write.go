package java

import (
	"encoding/binary"
	"reflect"
	"slices"
)

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
