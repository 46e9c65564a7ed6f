package java

import "strings"

// Codes of the river protocol of JBoss Marshalling, version 4. A string, array or collection has four consecutive codes:
// empty, or with a length of 8, 16 or 32 bits.
const (
	riverVersion       = 0x04
	riverNull          = 0x01
	riverRepeat        = 0x02
	riverNew           = 0x04
	riverNewUnshared   = 0x05
	riverClassFar      = 0x06
	riverPlainClass    = 0x07
	riverProxyClass    = 0x08
	riverSerializable  = 0x09
	riverExternal      = 0x0a
	riverEnumClass     = 0x0c
	riverArrayClass    = 0x0d
	riverObject        = 0x16
	riverPrimBool      = 0x20
	riverBlock         = 0x32
	riverEndBlock      = 0x35
	riverWriteObject   = 0x38
	riverRepeatNear    = 0x39
	riverRepeatNearish = 0x3a
	riverClassNear     = 0x3b
	riverClassNearish  = 0x3c
	riverString        = 0x3d
	riverArray         = 0x41
	riverByte          = 0x49
	riverDouble        = 0x4f
	riverTrue          = 0x50
	riverFalse         = 0x51
	riverCollection    = 0x52
	riverArrayList     = 0x5a
	riverIdentityMap   = 0x63
	riverTreeMap       = 0x67
	riverSingletonMap  = 0x68
	riverEnumSet       = 0x6a
	riverEnumMap       = 0x6c
	riverCopies        = 0x7b
	riverWrapped       = 0x7c // to 0x7f: unmodifiable
)

// riverPrimitives are the primitives in the order of their codes.
const riverPrimitives = "ZBSIJCFD"

// riverNames has the classes with a code of their own.
var riverNames = func() map[byte]string {
	names := map[byte]string{}
	for start, all := range map[byte]string{
		0x14: "java.lang.String java.lang.Class java.lang.Object java.lang.Enum [Z [B [S [I [J [C [F [D boolean byte short int long char float double void " +
			"java.lang.Boolean java.lang.Byte java.lang.Short java.lang.Integer java.lang.Long java.lang.Character java.lang.Float java.lang.Double java.lang.Void",
		riverArrayList: "ArrayList LinkedList Collections$SingletonList Collections$EmptyList HashSet LinkedHashSet TreeSet Collections$SingletonSet Collections$EmptySet " +
			"IdentityHashMap HashMap Hashtable LinkedHashMap TreeMap Collections$SingletonMap Collections$EmptyMap EnumSet",
		riverEnumMap: "EnumMap AbstractCollection AbstractSet AbstractList AbstractQueue AbstractSequentialList", 0x73: "concurrent.CopyOnWriteArrayList concurrent.CopyOnWriteArraySet Vector Stack",
		0x78: "ArrayDeque", 0x79: "Collections$ReverseComparator", riverCopies: "Collections$CopiesList",
		riverWrapped: "Collections$UnmodifiableCollection Collections$UnmodifiableList Collections$UnmodifiableMap Collections$UnmodifiableSet",
	} {
		for i, name := range strings.Fields(all) {
			if start >= riverArrayList {
				name = "java.util." + name
			}
			names[start+byte(i)] = name
		}
	}
	return names
}()

// readMarshalling reads the river protocol.
func readMarshalling(data []byte) (any, error) {
	r := &riverReader{stream: stream{reader: reader{problem: problem{codec: "marshalling"}, data: data}}}
	r.protocol = r
	if version := r.byte(); r.err == nil && version != riverVersion {
		r.at = 0
		r.fail("expected version 4 of the river protocol, got 0x%02x, as in a value of another codec such as kryo5", version)
	}
	value := r.value()
	return value, r.end()
}

type riverReader struct {
	stream
	classes []*streamClass // nil while one is read
}

// index reads a reference to one of count instances: backwards in 8 or 16 bits, or absolute in 32.
func (r *riverReader) index(code, near, nearish byte, count int) int {
	n := 0
	switch code {
	case near:
		n = count + int(r.byte()) - 1<<8
	case nearish:
		n = count + int(r.uint16()) - 1<<16
	default:
		n = int(r.int32())
	}
	if n < 0 || n >= count {
		r.fail("expected a reference to one of %[2]d, got number %[1]d", n, count)
		return -1
	}
	return n
}

// size reads the length after one of four codes; zero is the first of them. A length of 0 is the greatest one.
func (r *riverReader) size(code, zero byte) int {
	switch code - zero {
	case 0:
		return 0
	case 1:
		return (int(r.byte())+1<<8-1)%(1<<8) + 1
	case 2:
		return (int(r.uint16())+1<<16-1)%(1<<16) + 1
	}
	return int(r.int32())
}

func (r *riverReader) value() any {
	if !r.enter() {
		return nil
	}
	defer func() { r.depth-- }()
	switch code := r.byte(); {
	case code == riverNull:
		return nil
	case code == riverRepeat, code == riverRepeatNear, code == riverRepeatNearish:
		if n := r.index(code, riverRepeatNear, riverRepeatNearish, len(r.instances)); n >= 0 {
			return r.instances[n]
		}
		return nil
	case code == riverNew, code == riverNewUnshared:
		return r.objectOf(r.class())
	case code == riverString:
		return ""
	case code > riverString && code < riverArray:
		return r.hold(r.text(r.size(code, riverString)))
	case code >= riverArray && code < riverByte:
		return r.array(r.size((code-riverArray)%4, 0))
	case code >= riverByte && code <= riverDouble:
		return r.field(streamField{code: riverPrimitives[code-riverByte+1]})
	case code == riverTrue, code == riverFalse:
		return code == riverTrue
	case code >= riverCollection && code < riverArrayList:
		return r.collection(r.size((code-riverCollection)%4, 0), r.byte())
	default:
		return r.wrapper(code)
	}
}

// wrapper reads a class of java.util.Collections with a code of its own.
func (r *riverReader) wrapper(code byte) any {
	class := riverNames[code]
	switch {
	case isEmpty(class):
		return (&record{class: class}).known()
	case code == riverSingletonMap:
		return r.held(class, func() any { return dictionary{class, []any{r.value(), r.value()}} })
	case isSingleton(class):
		return r.held(class, func() any { return list{class, []any{r.value()}} })
	case code >= riverWrapped && class != "":
		return r.held(class, r.value)
	case class != "":
		return &record{class: "java.lang.Class of " + class}
	}
	r.fail("expected a value, got code 0x%02x", code)
	return nil
}

func (r *riverReader) array(n int) any {
	class := arrayOf(r.class().name)
	return r.held("array", func() any {
		switch {
		case r.err != nil:
			return nil
		case class == bytesClass:
			return append([]byte{}, r.take(n)...)
		case class == "[Z": // eight in a byte
			if n < 0 || (n+7)/8 > r.left() {
				r.count(n)
				return nil
			}
			data, all := r.take((n+7)/8), make([]any, n)
			for i := range all {
				all[i] = data[i/8]>>(i%8)&1 == 1
			}
			return list{class, all}
		}
		return list{class, r.values(n, func() any { return r.field(streamField{code: class[1]}) })}
	})
}

// collection reads n elements of a collection of the JDK, or entries of a map.
func (r *riverReader) collection(n int, code byte) any {
	class := riverNames[code]
	isMap := code >= riverIdentityMap && code <= riverTreeMap || code == riverEnumMap
	return r.held(class, func() any {
		var comparator any
		switch {
		case class == "" || code < riverArrayList:
			r.fail("expected a collection, got code 0x%02x", code)
			return nil
		case isSorted(class):
			comparator = r.value()
		case code == riverEnumSet, code == riverEnumMap:
			r.class()
		}
		count := n
		switch {
		case isMap:
			count = 2 * n
		case code == riverCopies:
			count = 1
		}
		all := r.values(count, r.value)
		switch {
		case comparator != nil || code == riverCopies || code == riverIdentityMap:
			return &record{class: class, fields: []member{{class, "comparator", comparator}, {class, "n", int32(n)}}, data: all}
		case isMap:
			return dictionary{class, all}
		}
		return list{class, all}
	})
}

func (r *riverReader) objectOf(c *streamClass) any {
	switch {
	case r.err != nil:
		return nil
	case c.name == "java.lang.Class":
		return &record{class: "java.lang.Class of " + r.class().name}
	case c.flags == isEnum:
		return r.hold(constant{c.name, r.plainText()})
	case c.flags != 0:
		return r.held(c.name, func() any { return r.object(c) })
	case c.name == "java.lang.reflect.Proxy":
		return r.held(c.name, func() any { return &record{class: c.name, data: []any{r.value()}} })
	}
	r.fail("expected a serializable class, got %.80q", c.name)
	return nil
}

func (r *riverReader) endsBlocks() bool { return r.skip(riverEndBlock) }

func (r *riverReader) blockSize() (int, bool) {
	for code := byte(riverBlock); code < riverEndBlock; code++ {
		if r.skip(code) {
			return r.size(code, riverBlock-1), true
		}
	}
	return 0, false
}

// plainText reads a text that references do not count.
func (r *riverReader) plainText() string { return r.text(int(r.int32())) }

var primitiveCodes = map[string]string{"boolean": "Z", "byte": "B", "short": "S", "char": "C", "int": "I", "long": "J", "float": "F", "double": "D"}

// arrayOf returns the class of arrays of a class.
func arrayOf(class string) string {
	switch code := primitiveCodes[class]; {
	case code != "":
		return "[" + code
	case strings.HasPrefix(class, "["):
		return "[" + class
	}
	return "[L" + class + ";"
}

// describe gives a class the next number.
func (r *riverReader) describe(name string, flags byte) *streamClass {
	c := &streamClass{name: name, flags: flags}
	r.classes = append(r.classes, c)
	return c
}

// class reads the description of a class.
func (r *riverReader) class() *streamClass {
	none := &streamClass{name: objectClass}
	if !r.enter() {
		return none
	}
	defer func() { r.depth-- }()
	code := r.byte()
	number := len(r.classes)
	switch code {
	case riverClassFar, riverClassNear, riverClassNearish:
		if n := r.index(code, riverClassNear, riverClassNearish, number); n >= 0 && r.classes[n] != nil {
			return r.classes[n]
		}
		r.fail("a class that describes itself")
		return none
	case riverPlainClass:
		return r.describe(r.plainText(), 0)
	case riverEnumClass:
		return r.describe(r.plainText(), isEnum)
	case riverExternal:
		c := r.describe(r.plainText(), isExternalizable)
		r.int64() // its serialVersionUID
		return c
	case riverArrayClass:
		return r.describe(arrayOf(r.class().name), 0) // after its element's
	case riverProxyClass:
		for range r.count(int(r.int32())) {
			r.plainText()
		}
		return r.describe("java.lang.reflect.Proxy", 0)
	case riverSerializable, riverWriteObject:
		r.classes = append(r.classes, nil)
		c := &streamClass{flags: isSerializable}
		if code == riverWriteObject {
			c.flags |= hasWriteMethod
		}
		c.name, _ = r.value().(string)
		r.int64() // its serialVersionUID
		for range r.count(int(r.int32())) {
			f := streamField{code: 'L'}
			f.name, _ = r.value().(string)
			if primitive := primitiveCodes[r.class().name]; primitive != "" {
				f.code = primitive[0]
			}
			r.byte() // unshared
			c.fields = append(c.fields, f)
		}
		super := r.class()
		switch {
		case super.flags&isSerializable != 0:
			c.super = super
		case strings.HasPrefix(super.name, "java.util.") && !strings.HasPrefix(super.name, "java.util.Abstract"):
			r.fail("class %.80q extends %s, whose data the stream does not describe", c.name, super.name)
		}
		r.classes[number] = c
		return c
	}
	if name, known := riverNames[code]; known {
		c := &streamClass{name: name}
		if name == "java.util.concurrent.CopyOnWriteArrayList" {
			c.flags = isSerializable | hasWriteMethod
		}
		return c
	}
	r.fail("expected a class, got code 0x%02x", code)
	return none
}
