package java

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Codes of the object serialization stream protocol, version 5.
const (
	tcNull           = 0x70
	tcReference      = 0x71
	tcClassDesc      = 0x72
	tcObject         = 0x73
	tcString         = 0x74
	tcArray          = 0x75
	tcClass          = 0x76
	tcBlockData      = 0x77
	tcEndBlockData   = 0x78
	tcBlockDataLong  = 0x7a
	tcLongString     = 0x7c
	tcProxyClassDesc = 0x7d
	tcEnum           = 0x7e
	hasBlockData     = 0x08
	baseHandle       = 0x7e0000
	streamMagic      = "\xac\xed\x00\x05"
)

// readSerialization reads what java.io.ObjectOutputStream writes.
func readSerialization(data []byte) (any, error) {
	r := &serialReader{stream{reader: reader{problem: problem{codec: "serialization"}, data: data}}}
	r.protocol = r
	if string(r.take(len(streamMagic))) != streamMagic {
		r.at = 0
		r.fail("expected the stream header aced0005")
	}
	value := r.value()
	return value, r.end()
}

// serialReader has the descriptions of classes among its instances.
type serialReader struct{ stream }

func (r *serialReader) refer() any {
	n := int(r.int32()) - baseHandle
	if n < 0 || n >= len(r.instances) {
		r.fail("expected one of %[2]d handles, got %[1]d", n, len(r.instances))
		return nil
	}
	return r.instances[n]
}

func (r *serialReader) value() any {
	if !r.enter() {
		return nil
	}
	defer func() { r.depth-- }()
	switch code := r.byte(); code {
	case tcNull:
		return nil
	case tcReference:
		value := r.refer()
		if _, isClass := value.(*streamClass); isClass {
			r.fail("expected a value, got a reference to a class")
		}
		return value
	case tcString:
		return r.hold(r.textOf(int(r.uint16())))
	case tcLongString:
		n := r.int64()
		return r.hold(r.textOf(int(min(max(n, 0), math.MaxInt32))))
	case tcObject:
		return r.objectOf(r.class())
	case tcArray:
		return r.array(r.class())
	case tcEnum:
		return r.constant(r.class())
	case tcClass:
		c := r.class()
		if c == nil {
			return nil
		}
		return r.hold(&record{class: "java.lang.Class of " + c.name})
	default:
		r.fail("expected a value, got type code 0x%02x", code)
		return nil
	}
}

func (r *serialReader) constant(c *streamClass) any {
	if c == nil {
		r.fail("an enum without a class")
		return nil
	}
	return r.held(c.name, func() any {
		name, _ := r.value().(string)
		return constant{c.name, name}
	})
}

// class reads the description of a class, or nil.
func (r *serialReader) class() *streamClass {
	if !r.enter() {
		return nil
	}
	defer func() { r.depth-- }()
	switch code := r.byte(); code {
	case tcNull:
		return nil
	case tcReference:
		c, is := r.refer().(*streamClass)
		if !is {
			r.fail("expected a class, got a reference to a value")
		}
		return c
	case tcClassDesc:
		c := &streamClass{name: r.textOf(int(r.uint16()))}
		r.int64() // its serialVersionUID
		r.hold(c)
		c.flags = r.byte()
		for range r.count(int(r.uint16())) {
			f := streamField{code: r.byte(), name: r.textOf(int(r.uint16()))}
			if f.code == 'L' || f.code == '[' {
				r.value() // its type
			}
			c.fields = append(c.fields, f)
			if r.err != nil {
				return nil
			}
		}
		return r.endClass(c)
	case tcProxyClassDesc:
		c := &streamClass{name: "java.lang.reflect.Proxy", flags: isSerializable}
		r.hold(c)
		for range r.count(int(r.int32())) {
			r.textOf(int(r.uint16()))
		}
		return r.endClass(c)
	default:
		r.fail("expected a class, got type code 0x%02x", code)
		return nil
	}
}

func (r *serialReader) endClass(c *streamClass) *streamClass {
	r.content(&record{}) // annotations, which Redisson's streams do not have
	super := r.class()
	for above := super; above != nil; above = above.super {
		if above == c {
			r.fail("a class that extends itself")
			return nil
		}
	}
	c.super = super
	return c
}

func (r *serialReader) array(c *streamClass) any {
	if c == nil || len(c.name) < 2 || c.name[0] != '[' {
		r.fail("an array without a class of arrays")
		return nil
	}
	return r.held(c.name, func() any {
		n := r.count(int(r.int32()))
		if c.name == bytesClass {
			return append([]byte{}, r.take(n)...)
		}
		return list{c.name, r.values(n, func() any { return r.field(streamField{code: c.name[1]}) })}
	})
}

func (r *serialReader) objectOf(c *streamClass) any {
	if c == nil {
		r.fail("an object without a class")
		return nil
	}
	if c.flags&isExternalizable != 0 && c.flags&hasBlockData == 0 {
		r.refuse("class %.80q writes its data without a length, as before JDK 1.2", c.name)
	}
	return r.held(c.name, func() any { return r.object(c) })
}

func (r *serialReader) endsBlocks() bool { return r.skip(tcEndBlockData) }

func (r *serialReader) blockSize() (int, bool) {
	switch {
	case r.skip(tcBlockData):
		return int(r.byte()), true
	case r.skip(tcBlockDataLong):
		return int(r.int32()), true
	}
	return 0, false
}

// serialWriter writes the stream protocol of java.io.ObjectOutputStream.
type serialWriter struct {
	*streamWriter
	handles map[string]int // of classes, signatures and cached instances
	next    int
}

func newSerialWriter(w *streamWriter) streamForm {
	w.buf = []byte(streamMagic)
	return &serialWriter{w, map[string]int{}, 0}
}

// refer writes a reference to the earlier value of a key, if there is one.
func (s *serialWriter) refer(key string) bool {
	handle, known := s.handles[key]
	if known {
		s.byte(tcReference)
		s.int32(baseHandle + handle)
	}
	return known
}

func (s *serialWriter) assign(key string) {
	if key != "" {
		s.handles[key] = s.next
	}
	s.next++
}

func (s *serialWriter) null() { s.byte(tcNull) }

func (s *serialWriter) utf(text string) {
	units := s.units(text)
	s.int16(len(units))
	s.byte(units...)
}

func (s *serialWriter) text(text string) {
	units := s.units(text)
	if len(units) > 0xffff {
		s.byte(tcLongString)
		s.int64(int64(len(units)))
	} else {
		s.byte(tcString)
		s.int16(len(units))
	}
	s.byte(units...)
	s.assign("")
}

// describe writes the description of a class. A field is the code or signature of its type, and its name.
func (s *serialWriter) describe(name string, uid int64, flags byte, fields [][2]string, super func()) {
	if s.refer("class " + name) {
		return
	}
	s.byte(tcClassDesc)
	s.utf(name)
	s.int64(uid)
	s.assign("class " + name)
	s.byte(flags)
	s.int16(len(fields))
	for _, f := range fields {
		s.byte(f[0][0])
		s.utf(f[1])
		if len(f[0]) > 1 && !s.refer("type "+f[0]) {
			s.byte(tcString)
			s.utf(f[0])
			s.assign("type " + f[0])
		}
	}
	s.byte(tcEndBlockData)
	super()
}

func (s *serialWriter) box(t *typ, v reflect.Value) {
	class, key := primitives[t.kind], ""
	if isCached := t.kind == boolKind || v.CanInt() && v.Int() >= -128 && v.Int() <= 127 || v.CanUint() && v.Uint() <= 127; isCached {
		key = fmt.Sprint(class.class, " ", v) // Java caches the object
		if s.refer(key) {
			return
		}
	}
	super := func() { s.describe("java.lang.Number", -0x79_53_6a_e2_f4_6b_1f_75, isSerializable, nil, s.null) }
	if t.kind == boolKind || t.kind == charKind {
		super = s.null
	}
	s.byte(tcObject)
	s.describe(class.class, class.uid, isSerializable, [][2]string{{class.code, "value"}}, super)
	s.assign(key)
	s.primitive(t, v)
}

func (s *serialWriter) bytes(data []byte) {
	s.byte(tcArray)
	s.describe(bytesClass, -0x53_0c_e8_07_f9_f7_ab_20, isSerializable, nil, s.null)
	s.assign("")
	s.int32(len(data))
	s.byte(data...)
}

func (s *serialWriter) list(n int) {
	s.byte(tcObject)
	s.describe("java.util.ArrayList", 0x7881d21d99c7619d, isSerializable|hasWriteMethod, [][2]string{{"I", "size"}}, s.null)
	s.assign("")
	s.int32(n)
	s.byte(tcBlockData, 4)
	s.int32(n)
}

func (s *serialWriter) endList() { s.byte(tcEndBlockData) }

func (s *serialWriter) constant(t *typ, name string) {
	if key := "constant " + t.class + " " + name; !s.refer(key) {
		s.byte(tcEnum)
		s.describe(t.class, 0, isSerializable|isEnum, nil, func() { s.describe("java.lang.Enum", 0, isSerializable|isEnum, nil, s.null) })
		s.assign(key)
		s.text(name)
	}
}

func (s *serialWriter) object(c *class) {
	s.byte(tcObject)
	s.class(c, c)
	s.assign("")
}

func (s *serialWriter) class(of, level *class) {
	if level == nil {
		s.null()
		return
	}
	var fields [][2]string
	for _, f := range s.fieldsOf(of, level) {
		fields = append(fields, [2]string{strings.ReplaceAll(f.typ.inArray(), ".", "/"), f.name})
	}
	s.describe(level.name, *level.uid, isSerializable, fields, func() { s.class(of, level.super) })
}
