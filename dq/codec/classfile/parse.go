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
	accPublic     = 0x0001
	accPrivate    = 0x0002
	accProtected  = 0x0004
	accStatic     = 0x0008
	accFinal      = 0x0010
	accSync       = 0x0020
	accVolatile   = 0x0040
	accTransient  = 0x0080
	accNative     = 0x0100
	accInterface  = 0x0200
	accAnnotation = 0x2000
	accAbstract   = 0x0400
	accStrict     = 0x0800
	accSynthetic  = 0x1000
	accEnum       = 0x4000
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
	pool       *reader  // with the constant pool
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
	stores     string    // the field in which a method stores its parameter and does no more, but return the object
	code       *code     // of a constructor
}

// code is that of a constructor.
type code struct {
	variables int
	bytes     []byte
	handlers  []handler
}

// handler is where code goes on after an exception between two offsets.
type handler struct{ from, to, target int }

// reference is one to a field, to a method or to a constructor, which is called "<init>".
type reference struct{ class, name, descriptor string }

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
	tagCall   = 18 // what invokedynamic calls
)

// sizes has how many bytes follow the other tags.
var sizes = map[byte]int{3: 4, 4: 4, 8: 2, 15: 3, 16: 2, 17: 4, 19: 2, 20: 2}

// reader walks over a class file. Its first error stays.
type reader struct {
	data []byte
	at   int
	err  error
	// The constant pool, by index.
	texts   map[uint16]string
	longs   map[uint16]int64
	classes map[uint16]uint16 // to the text of the name
	// references has the class of references to fields and methods, 0 for what invokedynamic calls, and their names.
	references map[uint16][2]uint16
	names      map[uint16]uint16
	types      map[uint16]uint16 // as names, of their descriptors
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
		references: map[uint16][2]uint16{}, names: map[uint16]uint16{}, types: map[uint16]uint16{},
	}
	if r.u4() != magic || r.err != nil {
		return nil, fmt.Errorf("expected a class file, which begins with cafebabe, got %.8x", data)
	}
	r.take(4) // the version
	r.constants()
	c := &class{pool: r, access: r.u2(), name: r.className(), super: r.className()}
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

func (r *reader) constants() {
	for i, n := uint16(1), r.u2(); i < n && r.err == nil; i++ {
		switch tag := r.u1(); tag {
		case tagUTF8:
			r.texts[i] = string(r.take(int(r.u2())))
		case tagLong, tagDouble:
			r.longs[i] = int64(binary.BigEndian.Uint64(r.take(8)))
			i++ // they take two places
		case tagClass:
			r.classes[i] = r.u2()
		case tagField, tagMethod, tagOfFace:
			r.references[i] = [2]uint16{r.u2(), r.u2()}
		case tagCall:
			r.take(2) // how it is found
			r.references[i] = [2]uint16{0, r.u2()}
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
	r.take(2) // the size of its stack
	made := &code{variables: int(r.u2())}
	bytes := r.take(int(r.u4()))
	if len(bytes) == 5 && bytes[0] == opLoad0 && bytes[1] == opGetField && bytes[4] >= opReturnInt && bytes[4] <= opReturnThat {
		to := r.reference(binary.BigEndian.Uint16(bytes[2:]))
		m.returns = [2]string{to.class, to.name}
	}
	m.stores = r.stored(bytes)
	if m.name != initName {
		return
	}
	made.bytes = bytes
	for n := r.u2(); n > 0 && r.err == nil; n-- {
		made.handlers = append(made.handlers, handler{int(r.u2()), int(r.u2()), int(r.u2())})
		r.take(2) // the class
	}
	m.code = made
}

// stored returns the field in which a method stores its parameter and does no more, but return the object; "" for any other.
func (r *reader) stored(code []byte) string {
	const loadParameter = "\x1b\x1f\x23\x27\x2b" // of each type
	if len(code) < 6 || code[0] != opLoad0 || strings.IndexByte(loadParameter, code[1]) < 0 || code[2] != opPutField {
		return ""
	}
	if end := string(code[5:]); end != string([]byte{opReturn}) && end != string([]byte{opLoad0, opReturnThat}) {
		return ""
	}
	return r.reference(binary.BigEndian.Uint16(code[3:])).name
}

// reference returns the field or method of an index of the constant pool.
func (r *reader) reference(index uint16) reference {
	of := r.references[index]
	return reference{strings.ReplaceAll(r.texts[r.classes[of[0]]], "/", "."), r.texts[r.names[of[1]]], r.texts[r.types[of[1]]]}
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
