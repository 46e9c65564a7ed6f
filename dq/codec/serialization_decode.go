package codec

import "math"

func (serialFormat) decode(data []byte, g *registry, _ *javaType) (any, error) {
	return decodeObjects(newSerialReader(data, g))
}

func newSerialReader(data []byte, g *registry) *serialReader {
	return &serialReader{newObjectReader(NameSerialization, data, g)}
}

func (r *serialReader) document() (any, error) {
	if magic := r.take(len(streamMagic)); r.err == nil && string(magic) != streamMagic {
		r.at = 0
		r.fail("expected the stream header aced0005, got %x", magic)
	}
	value := r.value()
	return value, r.end()
}

func (r *serialReader) again() objectStream {
	shared := r.several()
	if len(shared) == 0 {
		return nil
	}
	again := newSerialReader(r.data, r.registry)
	again.shared = shared
	return again
}

func (r *serialReader) described() (classes []*serialClass) {
	for _, handle := range r.instances {
		if c, is := handle.(*serialClass); is {
			classes = append(classes, c)
		}
	}
	return classes
}

// serialReader has the descriptions of classes among its instances.
type serialReader struct{ objectReader }

// pending holds the handle of a class that is not read to its end.
type pending struct{}

func (r *serialReader) refer() (value any, number int) {
	n := int(r.int32()) - baseHandle
	if n < 0 || n >= len(r.instances) {
		r.fail("a reference to handle %d of %d", n, len(r.instances))
		return nil, 0
	}
	return r.instances[n], n
}

func (r *serialReader) value() any {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch code := r.byte(); code {
	case tcNull:
		return nil
	case tcReference:
		value, number := r.refer()
		switch value.(type) {
		case *serialClass, pending:
			r.fail("a reference to a class, expected a value")
			return nil
		}
		r.refersTo(number)
		return value
	case tcString:
		return r.text(int(r.uint16()))
	case tcLongString:
		return r.text(r.long())
	case tcObject:
		return r.object()
	case tcArray:
		return r.array()
	case tcEnum:
		return r.enum()
	case tcClass:
		r.class()
		return r.instances[r.assign(foreign{class: javaLangClass})]
	default:
		r.fail("type code 0x%02x, expected null, a reference, a string, an object, an array, an enum or a class", code)
		return nil
	}
}

// long reads a length of 64 bits.
func (r *serialReader) long() int {
	n := r.int64()
	if n < 0 || n > math.MaxInt32 {
		r.fail("a string of %d bytes", n)
		return 0
	}
	return int(n)
}

func (r *serialReader) text(n int) any {
	s := r.readUnitBytes(n)
	return r.instances[r.assign(s)]
}

func (r *serialReader) utf() string { return r.readUnitBytes(int(r.uint16())) }

// class reads a class description, or nil for none.
func (r *serialReader) class() *serialClass {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch code := r.byte(); code {
	case tcNull:
		return nil
	case tcReference:
		referred, _ := r.refer()
		c, ok := referred.(*serialClass)
		if !ok {
			r.fail("a reference to something else, expected a class")
		}
		return c
	case tcClassDesc:
		return r.newClass()
	case tcProxyClassDesc:
		return r.newProxy()
	default:
		r.fail("type code 0x%02x, expected a class description", code)
		return nil
	}
}

func (r *serialReader) newClass() *serialClass {
	c := &serialClass{name: r.utf(), uid: r.int64()}
	handle := r.assign(pending{})
	c.flags = r.byte()
	for range r.count(int(r.uint16())) {
		f := serialField{code: r.byte(), name: r.utf()}
		if f.code == 'L' || f.code == '[' {
			f.signature, _ = r.describe(r.value).(string)
		}
		if r.err != nil {
			return nil
		}
		c.fields = append(c.fields, f)
	}
	return r.endClass(c, handle)
}

// newProxy reads the class of a java.lang.reflect.Proxy.
func (r *serialReader) newProxy() *serialClass {
	handle := r.assign(pending{})
	for range r.count(int(r.int32())) {
		r.utf()
	}
	return r.endClass(&serialClass{name: javaLangProxy, flags: scSerializable}, handle)
}

func (r *serialReader) endClass(c *serialClass, handle int) *serialClass {
	r.content(nil) // annotations, which only other streams than Redisson's have
	c.super = r.class()
	r.instances[handle] = c
	return c
}

// array reads an array of any type. That of a class which is no primitive is named
// "[L...;" or "[[...".
func (r *serialReader) array() any {
	c := r.class()
	if r.err != nil {
		return nil
	}
	if c == nil || len(c.name) < 2 || c.name[0] != '[' {
		r.fail("an array without a class of arrays")
		return nil
	}
	handle := r.assign(selfReference(c.name))
	n := r.count(int(r.int32()))
	var value any
	if c.name == bytesName {
		value = append([]byte{}, r.take(n)...)
	} else {
		element := serialField{code: c.name[1]}
		value = &elements{class: c.name, all: r.elements(n, func() any { return r.field(element) })}
	}
	return r.become(handle, value)
}

func (r *serialReader) enum() any {
	c := r.class()
	if c == nil {
		r.fail("an enum without a class")
		return nil
	}
	handle := r.assign(nil)
	name, _ := r.describe(r.value).(string)
	return r.become(handle, r.registry.enumConstant(c.name, name))
}

func (r *serialReader) object() any {
	c := r.class()
	if r.err == nil && c == nil {
		r.fail("an object without a class")
	}
	if r.err != nil {
		return nil
	}
	handle := r.assign(selfReference(c.name))
	if c.flags&scExternalizable != 0 {
		return r.resolve(handle, r.external(c))
	}
	return r.resolve(handle, r.serializable(c, r.field, r.content))
}

// external reads an object that writes all by itself, its super classes included.
func (r *serialReader) external(c *serialClass) *record {
	record := &record{chain: []*serialClass{{name: c.name}}}
	if c.flags&scBlockData == 0 {
		r.fail("class %.80q writes its data without a length, as before JDK 1.2", c.name)
	}
	r.content(record)
	return record
}

// content reads what a class wrote of its own, to its end, into record unless that
// is nil.
func (r *serialReader) content(record *record) {
	for r.err == nil {
		var item any
		switch code := r.peek(); code {
		case tcEndBlockData:
			r.byte()
			return
		case tcBlockData:
			r.byte()
			item = block(r.take(int(r.byte())))
		case tcBlockDataLong:
			r.byte()
			item = block(r.take(int(r.int32())))
		default:
			item = r.value()
		}
		if record != nil {
			record.data = append(record.data, item)
		}
	}
}

func (r *serialReader) field(f serialField) any {
	if f.code == 'L' || f.code == '[' {
		return r.value()
	}
	return r.primitive(f.code)
}
