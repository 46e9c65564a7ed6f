package codec

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
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
// they cannot tell. A super class without fields may be left out. One that is not
// java.io.Serializable must be: these two codecs hold none of its fields.
type Class struct {
	// Of is any value of the struct type.
	Of any
	// Name is the class's full name, such as "demo.Order". Empty takes the one of
	// the struct's tag.
	Name string
	// SerialVersionUID is what the class declares; `serialver` of the JDK tells it
	// for a class that declares none. Marshalling and Serialization cannot write
	// an object without it. 0 takes the one of the struct's tag.
	SerialVersionUID int64
	// Super is the full name of a super class that has fields, for a struct that may
	// not embed one for it, such as generated code. Marshalling and Serialization
	// then refuse to encode it; the other codecs have no need to. Empty takes the one
	// of the struct's tag, as in `java:"demo.Rush,super=demo.Order"`.
	Super string
}

type kind uint8

const (
	kindAny kind = iota // java.lang.Object
	kindString
	kindInt
	kindLong
	kindBool
	kindDouble
	kindBytes
	kindList
	kindMap
	kindObject
	kindOther // no Java type: whatever encoding/json makes of it
)

// javaType is a declared type of Java.
type javaType struct {
	kind  kind
	boxed bool      // Integer rather than int
	elem  *javaType // of kindList and kindMap
	class *class    // of kindObject
}

type class struct {
	name   string
	uid    *int64
	goType reflect.Type
	fields []field // those of super classes too, sorted by name
	super  *class  // nil where no struct is embedded for it
	// declaredSuper is Class.Super.
	declaredSuper string
}

// object is an instance of a class: the values of its fields, in order.
type object struct {
	class  *class
	fields []any
}

// registry knows the Java types of Go types, and classes by name. After it was
// made, only supers changes.
type registry struct {
	codec  Name
	given  map[reflect.Type]Class
	types  map[reflect.Type]*javaType
	byName map[string]*class
	supers sync.Map // superClass by class name: see learn
}

// newRegistry looks at root, which may be nil, and at classes.
func newRegistry(codec Name, root reflect.Type, classes []Class) (*registry, error) {
	g := &registry{codec: codec, given: map[reflect.Type]Class{}, types: map[reflect.Type]*javaType{}, byName: map[string]*class{}}
	for _, c := range classes {
		t := reflect.TypeOf(c.Of)
		if t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct {
			return nil, &TypeError{codec, t, fmt.Sprintf("Class %q: Of must be a struct", c.Name)}
		}
		g.given[t] = c
	}
	roots := []reflect.Type{root}
	for t := range g.given {
		roots = append(roots, t)
	}
	for _, t := range roots {
		if t == nil {
			continue
		}
		if _, err := g.typeOf(t); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// isJSON reports whether fields follow the rules of encoding/json for omitting.
func (g *registry) isJSON() bool { return g.codec == NameJSON || g.plain() }

// plain reports whether values carry no class names, so that none are needed.
func (g *registry) plain() bool { return g.codec == NameTypedJSON }

// typeOf returns the Java type for a Go type.
func (g *registry) typeOf(t reflect.Type) (*javaType, error) {
	if known, ok := g.types[t]; ok {
		return known, nil
	}
	j := &javaType{}
	g.types[t] = j // before its parts, which may refer to it
	if err := g.describe(t, j); err != nil {
		delete(g.types, t)
		return nil, err
	}
	return j, nil
}

func (g *registry) describe(t reflect.Type, j *javaType) (err error) {
	if g.plain() && ownJSON(t) {
		j.kind = kindOther
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		j.kind = kindString
	case reflect.Int32:
		j.kind = kindInt
	case reflect.Int64:
		j.kind = kindLong
	case reflect.Bool:
		j.kind = kindBool
	case reflect.Float64:
		j.kind = kindDouble
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return g.refuse(t, j, "an interface with methods; use any")
		}
	case reflect.Pointer:
		switch t.Elem().Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
			return g.refuse(t, j, "a pointer to what has a nil of its own; Java has one null only")
		}
		inner, err := g.typeOf(t.Elem())
		if err != nil {
			return err
		}
		*j = *inner
		j.boxed = true
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			j.kind = kindBytes
			return nil
		}
		j.kind = kindList
		j.elem, err = g.typeOf(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return g.refuse(t, j, "a map whose keys are not strings")
		}
		j.kind = kindMap
		j.elem, err = g.typeOf(t.Elem())
	case reflect.Struct:
		j.kind = kindObject
		j.class = &class{goType: t}
		err = g.describeClass(j.class)
	default:
		return g.refuse(t, j, "no Java type is certain; use int32 (Integer), int64 (Long), float64 (Double), string, bool, []byte, slices, maps, structs")
	}
	return err
}

// refuse leaves plain JSON to encoding/json, which knows more types.
func (g *registry) refuse(t reflect.Type, j *javaType, reason string) error {
	if g.plain() {
		j.kind = kindOther
		return nil
	}
	return &TypeError{g.codec, t, reason}
}

func (g *registry) describeClass(c *class) error {
	if err := g.nameClass(c); err != nil {
		return err
	}
	if err := g.addFields(c, c, c.goType, nil); err != nil {
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
	if given.SerialVersionUID != 0 {
		c.uid = &given.SerialVersionUID
	}
	if c.name == "" {
		if g.plain() {
			return nil
		}
		return &TypeError{g.codec, c.goType, "its Java class is not known; add a field `_ struct{} `java:\"package.Name\"`` or give the constructor a Class"}
	}
	if other, ok := g.byName[c.name]; ok && other.goType != c.goType {
		return &TypeError{g.codec, c.goType, fmt.Sprintf("class %s is already %v", c.name, other.goType)}
	}
	g.byName[c.name] = c
	return nil
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
		default:
			return &TypeError{g.codec, c.goType, fmt.Sprintf("option %q in its java tag; known are serialVersionUID=<integer> and super=<package.Name>", option)}
		}
	}
	return nil
}
