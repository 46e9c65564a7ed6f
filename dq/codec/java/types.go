package java

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Class gives the Java class of a Go struct, or the enum of a Go string type. A struct can name its class in a blank field:
//
//	type Order struct {
//		_     struct{} `java:"demo.Order,serialVersionUID=1"`
//		ID    int32    `json:"id"`
//		Name  *string  `json:"name"`
//		Total *int64   `json:"total"` // a Long; int64 would be a long
//	}
//
// An embedded struct is the super class. Marshalling and Serialization write each class separately: Java reads null for an
// inherited field that the struct holds as its own.
type Class struct {
	Of        any      // a value of the struct type or string type
	Name      string   // the full name; empty uses the tag's
	Constants []string // all constants of an enum in the order of their declaration
	// Bodies says that constants of an enum have bodies, as in `OK { ... }`; Final says that none has. Java writes the two
	// differently, so Kryo5 and Jackson need one of them.
	Bodies bool
	// SerialVersionUID is required to write Marshalling and Serialization. The JDK's serialver prints it.
	SerialVersionUID int64
	Record, Final    bool // the class is declared so; or options of the tag: `java:"demo.Point,record"`
}

// kind says how values of a type are read and written.
type kind uint8

const (
	anyKind kind = iota
	boolKind
	byteKind
	shortKind
	charKind
	intKind
	longKind
	floatKind
	doubleKind
	stringKind
	bytesKind
	scalarKind
	enumKind
	listKind
	arrayKind
	mapKind
	objectKind
	optionalKind
	jsonKind // plain JSON only: any type that encoding/json accepts
)

// primitive is a primitive type of Java. Its class is the one of its boxes.
type primitive struct {
	class, code string // the code is the one in class files
	goType      reflect.Type
	kryo        byte  // Kryo's class id
	uid         int64 // the serialVersionUID of the class
}

var primitives = [jsonKind + 1]primitive{
	boolKind:   {"java.lang.Boolean", "Z", reflect.TypeFor[bool](), 5, -0x32_df_8d_7f_2a_63_05_12},
	byteKind:   {"java.lang.Byte", "B", reflect.TypeFor[int8](), 6, -7183698231559129828},
	shortKind:  {"java.lang.Short", "S", reflect.TypeFor[int16](), 8, 7515723908773894738},
	charKind:   {"java.lang.Character", "C", reflect.TypeFor[uint16](), 7, 3786198910865385080},
	intKind:    {"java.lang.Integer", "I", reflect.TypeFor[int32](), 2, 0x12e2a0a4f7818738},
	longKind:   {"java.lang.Long", "J", reflect.TypeFor[int64](), 9, 0x3b8be490cc8f23df},
	floatKind:  {"java.lang.Float", "F", reflect.TypeFor[float32](), 4, -2671257302660747028},
	doubleKind: {"java.lang.Double", "D", reflect.TypeFor[float64](), 10, -0x7f_4c_3d_b5_d6_94_04_fc},
	stringKind: {kryo: 3}, // no primitive
}

const (
	stringClass   = "java.lang.String"
	objectClass   = "java.lang.Object"
	bytesClass    = "[B"
	optionalClass = "java.util.Optional"
)

var object = &typ{class: objectClass}

// typ is the Java type of a Go type and its tag.
type typ struct {
	kind   kind
	goType reflect.Type
	boxed  bool   // of a primitive
	class  string // as declared; "" for a primitive
	value  string // of a list, set, map or array: the class to write
	elem   *typ
	key    *typ
	scalar *scalar
	enum   *enum
	object *class
}

type enum struct {
	constants []string
	bodies    bool // some constants have a class of their own
}

type class struct {
	name          string
	uid           *int64
	record, final bool
	generic       bool // several Go types represent the class, one for each use
	super         *class
	fields        []field // including inherited ones, sorted by name
}

type field struct {
	name  string
	index []int
	typ   *typ
	of    *class // that declares it
	omit  func(reflect.Value) bool
}

func (t *typ) isPrimitive() bool { return primitives[t.kind].code != "" && !t.boxed }

// name returns the declared class, for people also of a primitive.
func (t *typ) name() string { return cmp.Or(t.class, primitives[t.kind].class) }

// isFinal reports whether the declared type fixes the class of its values.
func (t *typ) isFinal() bool {
	switch t.kind {
	case anyKind, listKind, mapKind:
		return false
	case enumKind:
		return !t.enum.bodies
	case objectKind:
		return t.object.final
	case arrayKind:
		return t.elem.isFinal()
	case scalarKind:
		return t.scalar.final
	}
	return true
}

// parts returns the declared types of the keys and elements of a collection of these kinds; nil if nothing is declared.
func (t *typ) parts(of ...kind) (key, elem *typ) {
	if t == nil || !slices.Contains(of, t.kind) {
		return nil, nil
	}
	return t.key, t.elem
}

// known returns the type as Kryo knows it of a field, or of an element of an array or record: there it ignores type arguments.
func (t *typ) known(arguments bool) *typ {
	if !arguments && (t.kind == anyKind || t.kind == listKind || t.kind == mapKind || t.kind == objectKind && t.object.generic) {
		return nil
	}
	return t
}

// inArray returns the class as it appears in the name of its array class.
func (t *typ) inArray() string {
	switch {
	case t.isPrimitive():
		return primitives[t.kind].code
	case strings.HasPrefix(t.class, "["):
		return t.class
	}
	return "L" + t.class + ";"
}

// index returns the number of a field: the one of the same class if possible, else any of that name; -1 without one.
func (c *class) index(f member) int {
	at := slices.IndexFunc(c.fields, func(own field) bool { return own.name == f.name && own.of.name == f.class })
	if at < 0 {
		at = slices.IndexFunc(c.fields, func(own field) bool { return own.name == f.name })
	}
	return at
}

// TypeError reports a Go type that a codec does not support. It wraps errors.ErrUnsupported.
type TypeError struct {
	Codec  string
	Type   reflect.Type
	Reason string // the problem, and the type to use
}

func (e *TypeError) Error() string {
	if e.Type == nil {
		return fmt.Sprintf("codec %s: %s", e.Codec, e.Reason)
	}
	return fmt.Sprintf("codec %s: %v: %s", e.Codec, e.Type, e.Reason)
}

// Unwrap returns errors.ErrUnsupported.
func (e *TypeError) Unwrap() error { return errors.ErrUnsupported }

// ValueError reports a value that the codec, or the Go type to read it into, cannot represent.
type ValueError struct {
	Codec  string
	Reason string
}

func (e *ValueError) Error() string { return fmt.Sprintf("codec %s: %s", e.Codec, e.Reason) }

// ClassError reports a value of a Java class that has no Go type.
type ClassError struct {
	Codec string
	Class string
}

func (e *ClassError) Error() string {
	return fmt.Sprintf("codec %s: the value holds the Java class %.200q; pass a Class with a Go type for it to the constructor", e.Codec, e.Class)
}

// FormatError reports bytes that the codec does not write.
type FormatError struct {
	Codec     string
	Offset    int
	Truncated bool // the bytes end before the value does
	Problem   string
}

func (e *FormatError) Error() string {
	cut := ""
	if e.Truncated {
		cut = "the value is cut off: "
	}
	return fmt.Sprintf("codec %s: byte %d: %s%s", e.Codec, e.Offset, cut, e.Problem)
}

// Default returns the name of the codec that a release of Redisson uses if its configuration names no codec: kryo5, marshalling,
// fst or json.
func Default(r wire.Release) string {
	newer := func(major, minor int) bool { return r.AtLeast(wire.Release{Major: major, Minor: minor}) }
	switch {
	case newer(3, 19):
		return "kryo5"
	case newer(3, 13):
		return "marshalling"
	case newer(3, 10), newer(2, 15) && !newer(3, 0):
		return "fst"
	}
	return "json"
}

// Optional returns the names of the codecs that some releases lack.
func Optional() []string { return []string{"kryo5", "marshalling", "fst"} }

// Has reports whether a release of Redisson has the codec of a name, as the classes in its jars show. Kryo5 and Marshalling need a
// library of their own in releases before they are a default.
func Has(r wire.Release, name string) bool {
	last := wire.Release{Major: 4}
	switch name {
	case "kryo5":
		return r.AtLeast(wire.Release{Major: 3, Minor: 11, Patch: 5})
	case "marshalling":
		return r.AtLeast(wire.Release{Major: 3, Minor: 11, Patch: 3}) && last.AtLeast(r)
	case "fst":
		return last.AtLeast(r)
	}
	return true
}
