package codec

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Class names the Java class that a Go struct stands for.
//
// The struct can say so itself, in a blank field:
//
//	type Order struct {
//		_     struct{} `java:"demo.Order,serialVersionUID=1"`
//		ID    int32    `json:"id"`
//		Name  string   `json:"name"`
//		Total *int64   `json:"total"` // a Long; int64 would be a long
//	}
//
// An embedded struct stands for the super class. It is named as every struct is,
// and can embed the next one in turn:
//
//	type Rush struct { // class Rush extends Order
//		_     struct{} `java:"demo.Rush,serialVersionUID=2"`
//		Order
//		Hours int32    `json:"hours"`
//	}
//
// Marshalling and Serialization write the fields of each class apart. Java reads
// null for an inherited field that comes as one of the subclass, so they refuse to
// encode a struct that embeds none for a super class with fields, or that has such
// a field itself. They know the super class from Super or, since a codec remembers
// what Java wrote, from the first object of the class that it decoded; before that
// they cannot tell. A super class without fields may be left out.
//
// Of a super class that is not java.io.Serializable these two hold no field. The option serializable=no
// of the tag of its struct, which `codec gen` writes where class files show it, has them leave it out, and
// refuse values in its fields that are not zero; without the option, a codec that has decoded an object of Java without the
// super class does the same. serializable=yes says that it is, whatever older values show.
//
// A struct that leaves out a field can say so by the option lacks=NAME of its tag, once for
// each, as generated code does. It is not written then, since Java would read null there, and
// Kryo5, which names no fields, does not read it.
//
// Jackson writes what a method such as isActive returns as a property besides the fields. The option
// is=PROPERTY:FIELD says which field it returns, as in `java:"demo.Order,is=active:isActive"`; is=PROPERTY that it
// returns something else: the codecs of JSON then do not write the class. Where the property has the name of its field,
// as with Lombok, there is nothing to say.
//
// A codec of JSON refuses the type of its values where a field has no form there, such as a Currency; a class that is
// given besides, when a value of it comes.
//
// The option json=no says that Jackson goes by annotations, such as @JsonProperty, or that a field holds an enum of which
// it does: each codec of JSON then neither writes nor reads objects of the class and of those that extend it, and JSON
// none of a type that can hold them.
type Class struct {
	// Of is any value of the struct type, or of the string type that stands for an
	// enum: its values are the names of the constants.
	Of any
	// Name is the class's full name, such as "demo.Order", or "demo.Shop$Color" for a
	// class inside another. Empty takes the one of the struct's tag.
	Name string
	// Constants are all constants of an enum in the order of their declaration, of
	// which Kryo5 writes the number. No struct has any. Kryo5 writes an enum of which a
	// constant has a body of its own in another way, which is not read here.
	Constants []string
	// NoJackson3 says of an enum that it has a toString method of its own, by which Jackson 3 writes and reads the
	// constants: its codecs then refuse them.
	NoJackson3 bool
	// NoJSON says of an enum that it has annotations of Jackson, which may give its constants other names: codecs of JSON
	// then refuse them. JSON takes no Class, so that a struct with such a field needs the option json=no.
	NoJSON bool
	// SerialVersionUID is what the class declares; `serialver` of the JDK tells it
	// for a class that declares none. Marshalling and Serialization cannot write
	// an object without it. 0 takes the one of the struct's tag.
	SerialVersionUID int64
	// Record says that the class is a Java record, of which Kryo5 writes lists and maps
	// in another way, and whose SerialVersionUID is 0 unless it declares one. The tag
	// says so by the option record: `java:"demo.Point,record"`.
	Record bool
	// Final says that the class is declared final, as Lombok's @Value does: Kryo5 and
	// JSON then do not name it where a field declares it. So is each record. The tag says
	// so by the option final: `java:"demo.Point,final"`.
	Final bool
	// Super is the full name of a super class that has fields, for a struct that may
	// not embed one for it, such as generated code. Marshalling and Serialization
	// then refuse to encode it; the other codecs have no need to. Empty takes the one
	// of the struct's tag, as in `java:"demo.Rush,super=demo.Order"`.
	Super string
}

type class struct {
	name   string
	uid    *int64
	goType reflect.Type
	fields []field // those of super classes too, sorted by name
	super  *class  // nil where no struct is embedded for it
	origin []int   // where its struct has an Origin; nil for nowhere
	// declaredSuper is Class.Super.
	declaredSuper string
	record        bool
	final         bool // it has no subclasses, which is declared
	generic       bool // it has type parameters, so that several Go types stand for it
	// lacks are the fields of Java's class that the struct leaves out, as its tag says.
	lacks []string
	flags []JavaFlag
	// serializable is the option of the tag, "yes" or "no"; "" where it does not say.
	serializable string
	// noJackson3 says that Jackson 3 writes other members than the fields.
	noJackson3 bool
	// noJSON is the class, this one or in plain JSON one above it, for which Jackson goes by annotations, or "".
	noJSON   string
	defaults []string // see JavaClass
	opaque   bool
}

// object is an instance of a class: the values of its fields, in order.
type object struct {
	class  *class
	fields []any
	// without are the super classes that are not written: see absent.
	without []*class
}

// lacking returns c or the super class of it whose struct leaves out a field, or nil.
func (c *class) lacking() *class {
	for ; c != nil && len(c.lacks) == 0; c = c.super {
	}
	return c
}

// registry knows the Java types of Go types, and classes by name. After it was
// made, only what it learns changes: supers and absent.
type registry struct {
	codec  Name
	given  map[reflect.Type]Class
	types  map[reflect.Type]*javaType
	byName map[string]*class
	enums  map[string]*enum
	// refused are classes that the codec has no form for, by name.
	refused map[string]error
	supers  sync.Map // superClass by class name: see learn
	absent  sync.Map // bool by inheritance: see learn
	// learned counts the changes of absent.
	learned atomic.Int64
	// keepsOrder says that the order of a map is kept: by an Origin, or in an any.
	keepsOrder bool
	// writesUUIDs says that it is known which form a declared UUID has in the JSON of Jackson 2.
	writesUUIDs bool
	// release is the one that is to read the JSON of Jackson 2; zero where that is not known.
	release wire.Release
	// keepsRecords has objects of classes that are not known come as records, and
	// constants of enums, for Describe.
	keepsRecords bool
	// keepsInstances has values to which several references lead come as instances.
	keepsInstances bool
	// model has the classes of a Recoder, which wants values exactly as Java holds them; nil
	// for the codecs of Go types.
	model *model
}

// class returns the class of a name, or nil.
func (g *registry) class(name string) *class {
	if c := g.byName[name]; c != nil || g.model == nil {
		return c
	}
	return g.model.class(name)
}

// enum returns the enum of a name, or nil.
func (g *registry) enum(name string) *enum {
	if e := g.enums[name]; e != nil || g.model == nil {
		return e
	}
	return g.model.enum(name)
}

// unknown is the error about a class that is not known.
func (g *registry) unknown(name string) error {
	if g.model != nil {
		return &ValueError{g.codec, "the value holds " + name + ": " + g.model.problem(name)}
	}
	if err := g.refused[name]; err != nil {
		return fmt.Errorf("the value holds the Java class %.80q, and this codec takes none of it: %w", name, err)
	}
	return &ClassError{g.codec, name}
}

// limits returns those of the Jackson that is to read what is written.
func (g *registry) limits() jsonLimits { return limitsOf(g.codec, g.release) }

// isExact reports whether a value must come as the very class of collection that Java had.
func (g *registry) isExact() bool { return g.model != nil }

// newRegistry looks at root, which may be nil, and at classes.
func newRegistry(codec Name, root reflect.Type, classes []Class) (*registry, error) {
	g := emptyRegistry(codec, map[reflect.Type]Class{})
	roots := []reflect.Type{root}
	for _, c := range classes {
		t := reflect.TypeOf(c.Of)
		if t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct && t.Kind() != reflect.String {
			return nil, &TypeError{codec, t, fmt.Sprintf("Class %q: Of must be a struct, or of a string type for an enum", c.Name)}
		}
		g.given[t] = c
		roots = append(roots, t)
	}
	for _, t := range roots {
		if t == nil {
			continue
		}
		before := g.described()
		j, err := g.typeOf(t)
		switch {
		case err != nil && t != root:
			if err = fmt.Errorf("the Class of %v: %w", t, err); !g.isJSON() || !fitOthers(classes) {
				return nil, err
			}
			g.types, g.byName, g.enums = before.types, before.byName, before.enums
			g.refuseClass(t, err)
			continue
		case err != nil:
			return nil, err
		}
		if t == root && j.kind == kindObject && codec.typed() && j.class.nests(codec, false) != "" {
			return nil, &TypeError{codec, t, "the value is " + j.class.nests(codec, false)}
		}
	}
	for _, j := range g.types {
		g.keepsOrder = g.keepsOrder || j.kind == kindAny
	}
	return g, nil
}

// described returns what is described so far: what is described later may refer to a type that cannot be.
func (g *registry) described() *registry {
	return &registry{types: maps.Clone(g.types), byName: maps.Clone(g.byName), enums: maps.Clone(g.enums)}
}

// fitOthers reports whether classes are given as they should be, so that nothing is wrong with them but that JSON has no
// form for a field: a list of all classes, as `codec gen` writes it, is for the values that it has one for.
func fitOthers(classes []Class) bool {
	_, err := newRegistry(NameKryo5, nil, classes)
	return err == nil
}

// refuseClass has values of the class that t stands for be refused when one comes.
func (g *registry) refuseClass(t reflect.Type, err error) {
	c := &class{goType: t}
	if t.Kind() == reflect.Struct && g.nameClass(c) == nil {
		g.refused[c.name] = err
	}
}

func emptyRegistry(codec Name, given map[reflect.Type]Class) *registry {
	return &registry{codec: codec, given: given, types: map[reflect.Type]*javaType{}, byName: map[string]*class{}, enums: map[string]*enum{}, refused: map[string]error{}}
}

// isJSON reports whether fields follow the rules of encoding/json for omitting.
func (g *registry) isJSON() bool { return g.codec.typed() || g.plain() }

// plain reports whether values carry no class names, so that none are needed.
func (g *registry) plain() bool { return g.codec == NameTypedJSON || g.codec == NameTypedJSON3 }

func (g *registry) describeClass(c *class) error {
	if err := g.nameClass(c); err != nil {
		return err
	}
	c.generic = isGeneric(c.goType)
	if err := g.addFields(c, c, c.goType, nil, byDeclaration); err != nil {
		return err
	}
	if err := g.register(c); err != nil {
		return err
	}
	return g.sortFields(c)
}

func (g *registry) nameClass(c *class) error {
	if err := g.readTag(c); err != nil {
		return err
	}
	given := g.given[c.goType]
	c.name = cmp.Or(given.Name, c.name)
	c.declaredSuper = cmp.Or(given.Super, c.declaredSuper)
	c.record = c.record || given.Record
	c.final = c.final || given.Final || c.record
	if given.SerialVersionUID != 0 || c.record && c.uid == nil {
		c.uid = &given.SerialVersionUID
	}
	if c.name == "" {
		if g.plain() {
			return nil
		}
		return &TypeError{g.codec, c.goType, "its Java class is not known; for a class of your Java services add a field `_ struct{} `java:\"package.Name\"`` or give the constructor a Class"}
	}
	return nil
}

// register has the class found by its name; of several that stand for a generic class,
// the first that was given to the constructor, or else the first.
func (g *registry) register(c *class) error {
	other, taken := g.byName[c.name]
	switch {
	case c.name == "":
		return nil
	case taken && other.goType != c.goType && (!c.generic || !other.generic):
		return &TypeError{g.codec, c.goType, fmt.Sprintf("class %s is already %v; of a generic class tag the fields of its type parameter `java:\"T\"`", c.name, other.goType)}
	case !taken || g.isGiven(c) && !g.isGiven(other):
		g.byName[c.name] = c
	}
	return nil
}

func (g *registry) isGiven(c *class) bool {
	_, given := g.given[c.goType]
	return given
}

// readTag reads the tag of the struct's own blank field; reflect's FieldByName
// would find that of an embedded struct too.
func (g *registry) readTag(c *class) error {
	var tag string
	for i := range c.goType.NumField() {
		if f := c.goType.Field(i); f.Name == "_" {
			tag = f.Tag.Get("java")
			break
		}
	}
	options := strings.Split(tag, ",")
	c.name = options[0]
	for _, option := range options[1:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "serialVersionUID":
			uid, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return &TypeError{g.codec, c.goType, fmt.Sprintf("serialVersionUID %q in its tag is no 64-bit integer", value)}
			}
			c.uid = &uid
		case "super":
			c.declaredSuper = value
		case "lacks":
			c.lacks = append(c.lacks, value)
		case "is":
			property, field, _ := strings.Cut(value, ":")
			c.flags = append(c.flags, JavaFlag{property, field})
		case "jackson3":
			c.noJackson3 = c.noJackson3 || value == "no"
		case "json":
			if value == "no" {
				c.noJSON = cmp.Or(c.name, c.goType.String())
			}
		case "serializable":
			if value != "yes" && value != "no" {
				return &TypeError{g.codec, c.goType, fmt.Sprintf("serializable=%s in its java tag; expected yes or no", value)}
			}
			c.serializable = value
		case "record":
			c.record = true
		case "final":
			c.final = true
		default:
			return &TypeError{g.codec, c.goType, fmt.Sprintf("option %q in its java tag; known are serialVersionUID=<integer>, super=<package.Name>, lacks=<field>, is=<property>:<field>, jackson3=no, json=no, serializable=no, final and record", option)}
		}
	}
	return nil
}
