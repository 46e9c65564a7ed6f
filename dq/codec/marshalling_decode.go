package codec

import "math"

func (riverFormat) decode(data []byte, g *registry, _ *javaType) (any, error) {
	r := riverReader{reader: reader{codec: NameMarshalling, data: data}, registry: g, lacking: map[string]superClass{}}
	if version := r.byte(); r.err == nil && version != riverVersion {
		r.at = 0
		r.fail("expected version 4 of the river protocol, got 0x%02x", version)
	}
	value := r.value()
	if err := r.end(); err != nil {
		return nil, err
	}
	g.learn(r.lacking)
	return value, nil
}

type riverReader struct {
	reader
	registry  *registry
	instances []any
	classes   []*serialClass        // nil while one is read
	lacking   map[string]superClass // see assemble
}

func (r *riverReader) assign(value any) int {
	r.instances = append(r.instances, value)
	return len(r.instances) - 1
}

// index reads which of count things a reference means: back in 8 or 16 bits, or
// absolute in 32. It answers false for one that is not there.
func (r *riverReader) index(code, near, nearish byte, count int) (int, bool) {
	var n int
	switch code {
	case near:
		n = count + int(r.byte()) - riverNearLimit
	case nearish:
		n = count + int(r.uint16()) - riverNearishLimit
	default:
		n = int(r.int32())
	}
	if n < 0 || n >= count {
		r.fail("a reference to number %d of %d", n, count)
	}
	return n, r.err == nil
}

func (r *riverReader) repeat(code byte) any {
	n, ok := r.index(code, riverRepeatNear, riverRepeatNearish, len(r.instances))
	if !ok {
		return nil
	}
	if _, cyclic := r.instances[n].(pending); cyclic {
		r.fail("an object that holds itself, which is not read")
		return nil
	}
	return r.instances[n]
}

// size reads the length after a code of three: 0 stands for the greatest.
func (r *riverReader) size(form byte) int {
	switch form {
	case 0:
		return (int(r.byte())+riverSmall-1)%riverSmall + 1
	case 1:
		return (int(r.uint16())+riverMedium-1)%riverMedium + 1
	}
	return int(r.int32())
}

func (r *riverReader) value() any {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch code := r.byte(); code {
	case riverNull:
		return nil
	case riverRepeatFar, riverRepeatNear, riverRepeatNearish:
		return r.repeat(code)
	case riverInteger:
		return r.int32()
	case riverLong:
		return r.int64()
	case riverDouble:
		return r.float64()
	case riverTrue, riverFalse:
		return code == riverTrue
	case riverStringEmpty:
		return ""
	case riverString, riverString + 1, riverString + 2:
		return r.text(r.size(code - riverString))
	case riverArrayEmpty:
		return r.array(0)
	case riverArray, riverArray + 1, riverArray + 2:
		return r.array(r.size(code - riverArray))
	case riverCollEmpty:
		return r.list(0)
	case riverColl, riverColl + 1, riverColl + 2:
		return r.list(r.size(code - riverColl))
	case riverNew:
		return r.object()
	default:
		r.fail("code 0x%02x, which is none of the values read here", code)
		return nil
	}
}

func (r *riverReader) text(n int) any {
	s := r.readUnits(r.count(n))
	r.assign(s)
	return s
}

func (r *riverReader) array(n int) any {
	if element := r.byte(); r.err == nil && element != riverPrimByte {
		r.fail("an array of elements 0x%02x, expected bytes", element)
	}
	data := append([]byte{}, r.take(n)...)
	r.assign(data)
	return data
}

func (r *riverReader) list(n int) any {
	if class := r.byte(); r.err == nil && class != riverArrayList && class != riverLinkedList {
		r.fail("a collection 0x%02x, expected ArrayList or LinkedList", class)
	}
	instance := r.assign(pending{})
	list := make([]any, 0, min(r.count(n), maxAhead))
	for len(list) < n && r.err == nil {
		list = append(list, r.value())
	}
	r.instances[instance] = list
	return list
}

func (r *riverReader) name() string {
	s, ok := r.value().(string)
	if !ok {
		r.fail("expected a name")
	}
	return s
}

// class reads a class description; nil stands for java.lang.Object.
func (r *riverReader) class() *serialClass {
	if !r.enter() {
		return nil
	}
	defer r.leave()
	switch code := r.byte(); code {
	case riverObjectClass:
		return nil
	case riverClassFar, riverClassNear, riverClassNearish:
		n, ok := r.index(code, riverClassNear, riverClassNearish, len(r.classes))
		if ok && r.classes[n] == nil {
			r.fail("a class that describes itself")
		}
		if r.err != nil {
			return nil
		}
		return r.classes[n]
	case riverSerializable, riverWriteObject:
		return r.newClass(code == riverWriteObject)
	default:
		r.fail("code 0x%02x, expected a serializable class", code)
		return nil
	}
}

func (r *riverReader) newClass(writes bool) *serialClass {
	index := len(r.classes)
	r.classes = append(r.classes, nil)
	c := &serialClass{name: r.name(), uid: r.int64(), flags: scSerializable}
	if writes {
		c.flags |= scWriteMethod
	}
	for range r.count(int(r.int32())) {
		f := serialField{name: r.name()}
		f.code = r.fieldType()
		if r.byte() != 0 {
			r.fail("field %.80q is not shared, which is not read", f.name)
		}
		if r.err != nil {
			return nil
		}
		c.fields = append(c.fields, f)
	}
	c.super = r.class()
	r.classes[index] = c
	return c
}

// fieldType reads the type of a field; 'L' stands for every class.
func (r *riverReader) fieldType() byte {
	switch code := r.byte(); code {
	case riverPrimBool, riverPrimByte, riverPrimShort, riverPrimInt, riverPrimLong, riverPrimChar, riverPrimFloat, riverPrimDouble:
		return "ZBSIJCFD"[code-riverPrimBool]
	case riverObjectClass:
		return 'L'
	default:
		r.fail("a field of type 0x%02x", code)
		return 0
	}
}

func (r *riverReader) object() any {
	c := r.class()
	instance := r.assign(pending{})
	if r.err != nil {
		return nil
	}
	if c == nil {
		r.fail("an object without a class")
		return nil
	}
	chain := r.hierarchy(c)
	var value any
	skip := func(int, string, any) {}
	switch c.name {
	case hashMapName, "java.util.LinkedHashMap":
		r.members(chain, skip, func(*serialClass) { value = r.mapping() })
	default:
		known := r.registry.byName[c.name]
		if known == nil {
			r.err = &ClassError{r.codec, c.name}
			return nil
		}
		a := assemble(known, chain, r.lacking)
		r.members(chain, a.set, func(of *serialClass) { r.fail("class %s writes data of its own, which is not read", of.name) })
		value = a.finish()
	}
	if r.err != nil {
		return nil
	}
	r.instances[instance] = value
	return value
}

// members reads the fields of an object, the topmost class first, and gives each
// to set with the number of its class in chain; own reads what a class with a
// writeObject method wrote after them.
func (r *riverReader) members(chain []*serialClass, set func(class int, name string, value any), own func(*serialClass)) {
	for i := len(chain) - 1; i >= 0; i-- {
		for _, f := range chain[i].fields {
			set(i, f.name, r.field(f.code))
		}
		if chain[i].flags&scWriteMethod == 0 || r.err != nil {
			continue
		}
		if r.left() > 0 && r.data[r.at] != riverEndBlock {
			own(chain[i])
		}
		if end := r.byte(); end != riverEndBlock {
			r.fail("0x%02x, expected the end of the data of class %s", end, chain[i].name)
		}
	}
}

func (r *riverReader) field(code byte) any {
	switch code {
	case 'Z':
		return r.byte() != 0
	case 'B':
		return int32(int8(r.byte()))
	case 'S':
		return int32(int16(r.uint16()))
	case 'C':
		return string(rune(r.uint16()))
	case 'I':
		return r.int32()
	case 'J':
		return r.int64()
	case 'F':
		return float64(math.Float32frombits(uint32(r.int32())))
	case 'D':
		return r.float64()
	}
	return r.value()
}

func (r *riverReader) mapping() any {
	code, size := r.byte(), r.byte()
	if r.err == nil && (code != riverBlockSmall || size != riverHashMapBlock) {
		r.fail("0x%02x%02x, expected a block of %d bytes", code, size, riverHashMapBlock)
	}
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
