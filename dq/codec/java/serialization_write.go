package java

import (
	"fmt"
	"reflect"
	"strings"
)

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
