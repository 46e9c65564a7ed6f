package java

import (
	"reflect"
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
