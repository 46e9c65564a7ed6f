package java

import "math"

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
