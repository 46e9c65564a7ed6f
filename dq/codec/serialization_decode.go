package codec

import (
	"math"
)

func (serialFormat) decode(data []byte, g *registry, _ *javaType) (any, error) {
	r := serialReader{reader: reader{codec: NameSerialization, data: data}, registry: g, lacking: map[string]superClass{}}
	if magic := r.take(len(streamMagic)); r.err == nil && string(magic) != streamMagic {
		r.at = 0
		r.fail("expected the stream header aced0005, got %x", magic)
	}
	value := r.value()
	if err := r.end(); err != nil {
		return nil, err
	}
	g.learn(r.lacking)
	return value, nil
}

type serialReader struct {
	reader
	registry *registry
	handles  []any
	lacking  map[string]superClass // see assemble
}

// pending holds the handle of an object that is not read to its end. A reference
// to it would be a cycle.
type pending struct{}

func (r *serialReader) assign(value any) int {
	r.handles = append(r.handles, value)
	return len(r.handles) - 1
}

func (r *serialReader) refer() any {
	n := int(r.int32()) - baseHandle
	if n < 0 || n >= len(r.handles) {
		r.fail("a reference to handle %d of %d", n, len(r.handles))
		return nil
	}
	if _, cyclic := r.handles[n].(pending); cyclic {
		r.fail("an object that holds itself, which is not read")
		return nil
	}
	return r.handles[n]
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
		value := r.refer()
		if _, isClass := value.(*serialClass); isClass {
			r.fail("a class, expected a value")
			return nil
		}
		return value
	case tcString:
		return r.text(int(r.uint16()))
	case tcLongString:
		return r.text(r.long())
	case tcObject:
		return r.object()
	case tcArray:
		return r.array()
	default:
		r.fail("type code 0x%02x, expected null, a reference, a string, an object or an array", code)
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
	r.assign(s)
	return s
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
		c, ok := r.refer().(*serialClass)
		if !ok {
			r.fail("a reference to something else, expected a class")
		}
		return c
	case tcClassDesc:
		return r.newClass()
	default:
		r.fail("type code 0x%02x, expected a class description", code)
		return nil
	}
}

func (r *serialReader) newClass() *serialClass {
	c := &serialClass{name: r.utf(), uid: r.int64()}
	handle := r.assign(pending{})
	c.flags = r.byte()
	if c.flags&^scWriteMethod != scSerializable && r.err == nil {
		r.fail("class %.80q with flags 0x%02x: an enum, a record or an Externalizable, which are not read", c.name, c.flags)
	}
	for range r.count(int(r.uint16())) {
		f := serialField{code: r.byte(), name: r.utf()}
		if f.code == 'L' || f.code == '[' {
			f.signature, _ = r.value().(string)
		}
		if r.err != nil {
			return nil
		}
		c.fields = append(c.fields, f)
	}
	if end := r.byte(); end != tcEndBlockData {
		r.fail("class %.80q with annotations, which are not read", c.name)
	}
	c.super = r.class()
	r.handles[handle] = c
	return c
}

func (r *serialReader) array() any {
	c := r.class()
	handle := r.assign(pending{})
	if r.err == nil && (c == nil || c.name != bytesName) {
		return r.unknown(c)
	}
	data := append([]byte{}, r.take(int(r.int32()))...)
	if r.err != nil {
		return nil
	}
	r.handles[handle] = data
	return data
}

func (r *serialReader) unknown(c *serialClass) any {
	if c == nil {
		r.fail("an object without a class")
	} else if r.err == nil {
		r.err = &ClassError{r.codec, c.name}
	}
	return nil
}

func (r *serialReader) object() any {
	c := r.class()
	handle := r.assign(pending{})
	if r.err != nil {
		return nil
	}
	if c == nil {
		return r.unknown(c)
	}
	chain := r.hierarchy(c)
	var value any
	skip := func(int, string, any) {}
	switch c.name {
	case javaLangInteger, javaLangLong, javaLangDouble, javaLangBoolean:
		r.members(chain, func(_ int, name string, field any) {
			if name == "value" {
				value = field
			}
		}, nil)
	case arrayListName, "java.util.LinkedList":
		r.members(chain, skip, func(*serialClass) { value = r.list() })
	case hashMapName, "java.util.LinkedHashMap":
		r.members(chain, skip, func(*serialClass) { value = r.mapping() })
	default:
		known := r.registry.byName[c.name]
		if known == nil {
			return r.unknown(c)
		}
		a := assemble(known, chain, r.lacking)
		r.members(chain, a.set, func(of *serialClass) { r.fail("class %s writes data of its own, which is not read", of.name) })
		value = a.finish()
	}
	if r.err != nil {
		return nil
	}
	r.handles[handle] = value
	return value
}

// hierarchy returns a class and its super classes. References can make it longer
// than the bytes that wrote it.
func (r *reader) hierarchy(c *serialClass) []*serialClass {
	var chain []*serialClass
	for ; c != nil; c = c.super {
		chain = append(chain, c)
	}
	if len(chain) > maxDepth {
		r.fail("a class with %d super classes", len(chain)-1)
		return nil
	}
	return chain
}

// members reads the fields of an object, the topmost class first, and gives each
// to set with the number of its class in chain; own reads what a class with a
// writeObject method wrote after them.
func (r *serialReader) members(chain []*serialClass, set func(class int, name string, value any), own func(*serialClass)) {
	for i := len(chain) - 1; i >= 0; i-- {
		for _, f := range chain[i].fields {
			set(i, f.name, r.field(f))
		}
		if chain[i].flags&scWriteMethod == 0 || r.err != nil {
			continue
		}
		if r.left() > 0 && r.data[r.at] != tcEndBlockData && own != nil {
			own(chain[i])
		}
		if end := r.byte(); end != tcEndBlockData {
			r.fail("0x%02x, expected the end of the data of class %s", end, chain[i].name)
		}
	}
}

func (r *serialReader) field(f serialField) any {
	switch f.code {
	case 'I':
		return r.int32()
	case 'J':
		return r.int64()
	case 'D':
		return r.float64()
	case 'Z':
		return r.byte() != 0
	case 'F':
		return float64(math.Float32frombits(uint32(r.int32())))
	case 'B':
		return int32(int8(r.byte()))
	case 'S':
		return int32(int16(r.uint16()))
	case 'C':
		return string(rune(r.uint16()))
	case 'L', '[':
		return r.value()
	}
	r.fail("field %.80q of type %q", f.name, f.code)
	return nil
}

func (r *serialReader) block(want byte) {
	code, size := r.byte(), r.byte()
	if r.err == nil && (code != tcBlockData || size != want) {
		r.fail("0x%02x%02x, expected a block of %d bytes", code, size, want)
	}
}

func (r *serialReader) list() any {
	r.block(4)
	n := r.count(int(r.int32()))
	list := make([]any, 0, min(n, maxAhead))
	for len(list) < n && r.err == nil {
		list = append(list, r.value())
	}
	return list
}

func (r *serialReader) mapping() any {
	r.block(8)
	r.int32()
	n := r.count(int(r.int32()))
	m := make(map[string]any, min(n, maxAhead))
	for i := 0; i < n && r.err == nil; i++ {
		key, ok := r.value().(string)
		if !ok {
			r.fail("a map key that is no string")
		}
		m[key] = r.value()
	}
	return m
}
