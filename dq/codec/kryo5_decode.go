package codec

import (
	"encoding/binary"
	"math"
)

func (kryoFormat) decode(data []byte, g *registry, _ *javaType) (any, error) {
	k := kryoReader{reader: reader{codec: NameKryo5, data: data}, registry: g}
	value := k.classAndObject()
	return value, k.end()
}

type kryoReader struct {
	reader
	registry *registry
	names    []string
}

// kryoType is a class as the bytes name it.
type kryoType struct {
	kind  kind
	class *class
	null  bool
}

func (r *kryoReader) class() kryoType {
	id := r.varint()
	switch id {
	case kryoNull:
		return kryoType{null: true}
	case kryoInteger:
		return kryoType{kind: kindInt}
	case kryoString:
		return kryoType{kind: kindString}
	case kryoBoolean:
		return kryoType{kind: kindBool}
	case kryoLong:
		return kryoType{kind: kindLong}
	case kryoDouble:
		return kryoType{kind: kindDouble}
	case kryoNamed:
		return r.named()
	}
	r.fail("class id %d, expected one of Integer, String, Boolean, Long, Double or a name", id)
	return kryoType{null: true}
}

func (r *kryoReader) named() kryoType {
	index := r.varint()
	if index == uint64(len(r.names)) {
		r.names = append(r.names, r.text())
	}
	if index >= uint64(len(r.names)) {
		r.fail("class name number %d, but only %d came", index, len(r.names))
	}
	if r.err != nil {
		return kryoType{null: true}
	}
	name := r.names[index]
	switch name {
	case bytesName:
		return kryoType{kind: kindBytes}
	case arrayListName, "java.util.LinkedList", "java.util.Arrays$ArrayList":
		return kryoType{kind: kindList}
	case hashMapName, "java.util.LinkedHashMap":
		return kryoType{kind: kindMap}
	}
	if class := r.registry.byName[name]; class != nil {
		return kryoType{kind: kindObject, class: class}
	}
	r.err = &ClassError{r.codec, name}
	return kryoType{null: true}
}

func (r *kryoReader) varint() uint64 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return uint64(uint32(n))
		}
	}
	r.fail("a number of more than 5 bytes")
	return 0
}

func (r *kryoReader) long() int64 {
	var n uint64
	for shift := 0; shift < 56; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(n>>1) ^ -int64(n&1)
		}
	}
	n |= uint64(r.byte()) << 56
	return int64(n>>1) ^ -int64(n&1)
}

func (r *kryoReader) flagged() (flag bool, n int) {
	first := r.byte()
	n = int(first & 0x3f)
	if first&0x40 != 0 {
		n |= int(r.varint()) << 6
	}
	return first&0x80 != 0, int(int32(n))
}

// text returns "" for null too, which only stringOrNull tells apart.
func (r *kryoReader) text() string {
	s, _ := r.stringOrNull().(string)
	return s
}

func (r *kryoReader) stringOrNull() any {
	if r.err != nil {
		return nil
	}
	if r.left() > 0 && r.data[r.at]&0x80 == 0 {
		return r.ascii()
	}
	_, n := r.flagged()
	if n == 0 {
		return nil
	}
	return r.readUnits(r.count(n - 1))
}

// ascii reads to the byte that has its top bit set.
func (r *kryoReader) ascii() string {
	for i, b := range r.data[r.at:] {
		if b&0x80 != 0 {
			text := append([]byte{}, r.take(i+1)...)
			text[i] = b & 0x7f
			return string(text)
		}
	}
	r.fail("a text without an end")
	return ""
}

func (r *kryoReader) classAndObject() any {
	t := r.class()
	if t.null || r.err != nil {
		return nil
	}
	return r.object(t)
}

// object reads a value of a known class, which is not null.
func (r *kryoReader) object(t kryoType) any {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch t.kind {
	case kindString:
		return r.stringOrNull()
	case kindInt:
		n := uint32(r.varint())
		return int32(n>>1) ^ -int32(n&1)
	case kindLong:
		return r.long()
	case kindBool:
		return r.byte() != 0
	case kindDouble:
		if b := r.take(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		return nil
	case kindBytes:
		if n := int(r.varint()); n > 0 {
			return append([]byte{}, r.take(n-1)...)
		}
		return nil
	case kindList:
		return r.list()
	case kindMap:
		return r.mapping(objectType)
	}
	if len(t.class.fields) == 0 {
		r.spend(1)
	}
	o := &object{class: t.class, fields: make([]any, len(t.class.fields))}
	for i, f := range t.class.fields {
		o.fields[i] = r.field(f.typ)
	}
	return o
}

func (r *kryoReader) orNull(t kryoType) any {
	switch t.kind {
	case kindString, kindBytes, kindList, kindMap:
		return r.object(t)
	}
	if r.byte() == 0 {
		return nil
	}
	return r.object(t)
}

func (r *kryoReader) field(j *javaType) any {
	if j.isFinal() {
		t := kryoType{kind: j.kind}
		if j.boxed {
			return r.orNull(t)
		}
		return r.object(t)
	}
	t := r.class()
	switch {
	case t.null || r.err != nil:
		return nil
	case j.kind == kindList && t.kind == kindList && j.elem.isFinal():
		return r.listOf(j.elem)
	case j.kind == kindMap && t.kind == kindMap:
		return r.mapping(j.elem)
	}
	return r.object(t)
}

func (r *kryoReader) elements(n int, read func() any) any {
	list := make([]any, 0, min(r.count(n), maxAhead))
	for len(list) < n && r.err == nil {
		list = append(list, read())
	}
	return list
}

func (r *kryoReader) listOf(elem *javaType) any {
	hasNull, n := r.flagged()
	if n == 0 {
		return nil
	}
	t := kryoType{kind: elem.kind}
	return r.elements(n-1, func() any {
		if hasNull {
			return r.orNull(t)
		}
		return r.object(t)
	})
}

func (r *kryoReader) list() any {
	same, n := r.flagged()
	if n == 0 {
		return nil
	}
	if !same || n == 1 {
		return r.elements(n-1, r.classAndObject)
	}
	t := r.class()
	if t.null {
		return r.nulls(n - 1)
	}
	hasNull := r.byte() != 0
	return r.elements(n-1, func() any {
		if hasNull {
			return r.orNull(t)
		}
		return r.object(t)
	})
}

// nulls reads a list of nothing but null, which takes no bytes.
func (r *kryoReader) nulls(n int) any {
	r.spend(min(n, maxShared+1))
	if r.err != nil {
		return nil
	}
	return make([]any, n)
}

func (r *kryoReader) mapping(elem *javaType) any {
	n := int(int32(r.varint()))
	if n == 0 {
		return nil
	}
	generic := elem != objectType
	m := make(map[string]any, min(r.count(n-1), maxAhead))
	for i := 0; i < n-1 && r.err == nil; i++ {
		var key any
		if generic {
			key = r.stringOrNull()
		} else {
			key = r.classAndObject()
		}
		name, ok := key.(string)
		if !ok {
			r.fail("a map key that is %T, expected a string", key)
			break
		}
		if generic && elem.isFinal() {
			m[name] = r.orNull(kryoType{kind: elem.kind})
		} else {
			m[name] = r.classAndObject()
		}
	}
	return m
}
