package classfile

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Access flags of classes, fields and methods.
const (
	accPublic    = 0x0001
	accPrivate   = 0x0002
	accProtected = 0x0004
	accStatic    = 0x0008
	accFinal     = 0x0010
	accSync      = 0x0020
	accVolatile  = 0x0040
	accTransient = 0x0080
	accNative    = 0x0100
	accInterface = 0x0200
	accAbstract  = 0x0400
	accStrict    = 0x0800
	accSynthetic = 0x1000
	accEnum      = 0x4000
)

// class is a class file, as far as it is of interest here. Names have dots.
type class struct {
	name       string
	signature  string // empty where it is not generic
	access     uint16
	super      string
	interfaces []string
	fields     []member
	methods    []member
	parameters []string // the names of its type parameters
	// annotated has the libraries whose annotations the class file names.
	annotated []string
}

// annotations are the packages of annotations by which a class has its own say in how it is written.
var annotations = []string{"com/fasterxml/jackson/", "tools/jackson/", "com/esotericsoftware/kryo/"}

// member is a field or a method.
type member struct {
	access     uint16
	name       string
	descriptor string // as class files write types: "Ljava/util/List;"
	signature  string // with type arguments; empty where there are none
	constant   int64  // ConstantValue of a long
	hasCode    bool
	returns    [2]string // the class and the field that a method returns and does no more
	// assigns has the classes and fields that a constructor assigns, and calls the methods and constructors that it
	// calls. There may be others among them, which the bytes of the code look like.
	assigns [][2]string
	calls   []call
}

// call is one of a method, or of a constructor, which is called "<init>".
type call struct {
	class, name, descriptor string
	isStatic                bool
}

const magic = 0xcafebabe

// Tags of the constant pool.
const (
	tagUTF8   = 1
	tagLong   = 5
	tagDouble = 6
	tagClass  = 7
	tagField  = 9
	tagMethod = 10
	tagOfFace = 11 // a method of an interface
	tagName   = 12
)

// sizes has how many bytes follow the other tags.
var sizes = map[byte]int{3: 4, 4: 4, 8: 2, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}

// reader walks over a class file. Its first error stays.
type reader struct {
	data []byte
	at   int
	err  error
	// The constant pool, by index.
	texts   map[uint16]string
	longs   map[uint16]int64
	classes map[uint16]uint16 // to the text of the name
	// fields has the class and the name of references to fields, names the text of what they are called.
	fields  map[uint16][2]uint16
	methods map[uint16][2]uint16 // as fields
	names   map[uint16]uint16
	types   map[uint16]uint16 // as names, of their descriptors
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %s", r.at, fmt.Sprintf(format, args...))
	}
}

// take returns the next n bytes, or zeros where there are not so many.
func (r *reader) take(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.data)-r.at) {
		r.fail("expected %d more bytes, %d left", n, len(r.data)-r.at)
	}
	if r.err != nil {
		return make([]byte, min(max(n, 0), 8))
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) u1() byte   { return r.take(1)[0] }
func (r *reader) u2() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) u4() uint32 { return binary.BigEndian.Uint32(r.take(4)) }

// parse reads a class file.
func parse(data []byte) (*class, error) {
	r := &reader{
		data: data, texts: map[uint16]string{}, longs: map[uint16]int64{}, classes: map[uint16]uint16{},
		fields: map[uint16][2]uint16{}, methods: map[uint16][2]uint16{}, names: map[uint16]uint16{}, types: map[uint16]uint16{},
	}
	if r.u4() != magic || r.err != nil {
		return nil, fmt.Errorf("expected a class file, which begins with cafebabe, got %.8x", data)
	}
	r.take(4) // the version
	r.pool()
	c := &class{access: r.u2(), name: r.className(), super: r.className()}
	for n := r.u2(); n > 0 && r.err == nil; n-- {
		c.interfaces = append(c.interfaces, r.className())
	}
	c.fields = r.members()
	c.methods = r.members()
	r.attributes(func(name string, content *reader) {
		switch name {
		case "InnerClasses": // which has the flags that the source gives a class inside another
			content.inner(c)
		case "Signature":
			c.signature = content.text()
			c.parameters = parametersOf(c.signature)
		}
	})
	for _, prefix := range annotations {
		if slices.ContainsFunc(slices.Collect(maps.Values(r.texts)), func(text string) bool { return strings.HasPrefix(text, "L"+prefix) }) {
			c.annotated = append(c.annotated, strings.ReplaceAll(strings.TrimSuffix(prefix, "/"), "/", "."))
		}
	}
	if r.err != nil {
		return nil, fmt.Errorf("a broken class file: %w", r.err)
	}
	return c, nil
}

func (r *reader) pool() {
	for i, n := uint16(1), r.u2(); i < n && r.err == nil; i++ {
		switch tag := r.u1(); tag {
		case tagUTF8:
			r.texts[i] = string(r.take(int(r.u2())))
		case tagLong, tagDouble:
			r.longs[i] = int64(binary.BigEndian.Uint64(r.take(8)))
			i++ // they take two places
		case tagClass:
			r.classes[i] = r.u2()
		case tagField:
			r.fields[i] = [2]uint16{r.u2(), r.u2()}
		case tagMethod, tagOfFace:
			r.methods[i] = [2]uint16{r.u2(), r.u2()}
		case tagName:
			r.names[i], r.types[i] = r.u2(), r.u2()
		default:
			size, known := sizes[tag]
			if !known {
				r.fail("a constant of type %d", tag)
			}
			r.take(size)
		}
	}
}

func (r *reader) text() string { return r.texts[r.u2()] }

// className reads the index of a class; it answers "" for none.
func (r *reader) className() string {
	return strings.ReplaceAll(r.texts[r.classes[r.u2()]], "/", ".")
}

func (r *reader) members() (all []member) {
	for n := r.u2(); n > 0 && r.err == nil; n-- {
		m := member{access: r.u2(), name: r.text(), descriptor: r.text()}
		r.attributes(func(name string, content *reader) {
			switch name {
			case "Signature":
				m.signature = content.text()
			case "ConstantValue":
				m.constant = r.longs[content.u2()]
			case "Code":
				m.hasCode = true
				content.code(&m)
			}
		})
		all = append(all, m)
	}
	return all
}

// code reads the code of a method.
func (r *reader) code(m *member) {
	const (
		loadThis, firstReturn, lastReturn                           = 0x2a, 0xac, 0xb0
		getField, putField                                          = 0xb4, 0xb5
		invokeVirtual, invokeSpecial, invokeStatic, invokeInterface = 0xb6, 0xb7, 0xb8, 0xb9
	)
	r.take(4) // the sizes of its stack and its variables
	code := r.take(int(r.u4()))
	reference := func(all map[uint16][2]uint16, at int) (class, name, descriptor string) {
		of := all[binary.BigEndian.Uint16(code[at:])]
		return strings.ReplaceAll(r.texts[r.classes[of[0]]], "/", "."), r.texts[r.names[of[1]]], r.texts[r.types[of[1]]]
	}
	if len(code) == 5 && code[0] == loadThis && code[1] == getField && code[4] >= firstReturn && code[4] <= lastReturn {
		class, name, _ := reference(r.fields, 2)
		m.returns = [2]string{class, name}
	}
	for i := 0; m.name == "<init>" && i+2 < len(code); i++ {
		switch code[i] {
		case putField:
			class, name, _ := reference(r.fields, i+1)
			m.assigns = append(m.assigns, [2]string{class, name})
		case invokeVirtual, invokeSpecial, invokeStatic, invokeInterface:
			class, name, descriptor := reference(r.methods, i+1)
			m.calls = append(m.calls, call{class, name, descriptor, code[i] == invokeStatic})
		}
	}
}

// attributes gives each attribute to read, with a reader of its bytes.
func (r *reader) attributes(read func(name string, content *reader)) {
	for n := r.u2(); n > 0 && r.err == nil; n-- {
		name := r.text()
		content := *r
		content.data, content.at = r.take(int(r.u4())), 0
		if r.err != nil {
			return
		}
		read(name, &content)
		r.err = content.err
	}
}

// inner takes the access flags of c from its own entry.
func (r *reader) inner(c *class) {
	for n := r.u2(); n > 0 && r.err == nil; n-- {
		name := r.className()
		r.take(4)
		if access := r.u2(); name == c.name {
			c.access = access
		}
	}
}
