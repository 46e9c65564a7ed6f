package codec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
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
	fields []field // sorted by name
}

type field struct {
	name      string
	typ       *javaType
	index     []int
	omitEmpty bool
	omitZero  bool
}

// object is an instance of a class: the values of its fields, in order.
type object struct {
	class  *class
	fields []any
}

// registry knows the Java types of Go types, and classes by name. It does not
// change after it was made.
type registry struct {
	codec  Name
	given  map[reflect.Type]Class
	types  map[reflect.Type]*javaType
	byName map[string]*class
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

// isJSON tells whether fields follow the rules of encoding/json for omitting.
func (g *registry) isJSON() bool { return g.codec == NameJSON || g.plain() }

// plain tells whether values carry no class names, so that none are needed.
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
	if err := g.addFields(c, c.goType, nil); err != nil {
		return err
	}
	slices.SortFunc(c.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for i := 1; i < len(c.fields); i++ {
		if c.fields[i].name == c.fields[i-1].name {
			return &TypeError{g.codec, c.goType, fmt.Sprintf("two fields named %q", c.fields[i].name)}
		}
	}
	return nil
}

func (g *registry) nameClass(c *class) error {
	given := g.given[c.goType]
	if blank, ok := c.goType.FieldByName("_"); ok {
		name, option, _ := strings.Cut(blank.Tag.Get("java"), ",")
		c.name = name
		if text, ok := strings.CutPrefix(option, "serialVersionUID="); ok {
			uid, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return &TypeError{g.codec, c.goType, fmt.Sprintf("serialVersionUID %q in its tag is no 64-bit integer", text)}
			}
			c.uid = &uid
		} else if option != "" {
			return &TypeError{g.codec, c.goType, fmt.Sprintf("option %q in its java tag; known is serialVersionUID=<integer>", option)}
		}
	}
	if given.Name != "" {
		c.name = given.Name
	}
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

func (g *registry) addFields(c *class, t reflect.Type, path []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		index := append(slices.Clone(path), i)
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && !ownJSON(f.Type) && g.plain():
			if err := g.addFields(c, f.Type, index); err != nil {
				return err
			}
			continue
		case tag == "-":
			continue
		case f.Anonymous && name == "" && !g.plain():
			return &TypeError{g.codec, t, fmt.Sprintf("the embedded field %s: how Java orders inherited fields is not settled; name it in a json tag", f.Name)}
		case !f.IsExported():
			continue
		}
		if name == "" {
			name = f.Name
		}
		typ, err := g.fieldType(f)
		if err != nil {
			return err
		}
		has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
		if has("string") {
			return &TypeError{g.codec, t, fmt.Sprintf("the json option \"string\" of field %s; declare it a string", f.Name)}
		}
		c.fields = append(c.fields, field{name: name, typ: typ, index: index, omitEmpty: has("omitempty"), omitZero: has("omitzero")})
	}
	return nil
}

var boxes = map[string]kind{"Integer": kindInt, "Long": kindLong, "Boolean": kindBool, "Double": kindDouble}

// fieldType is typeOf, and for a scalar with the tag `java:"Long"` its box.
func (g *registry) fieldType(f reflect.StructField) (*javaType, error) {
	typ, err := g.typeOf(f.Type)
	if err != nil {
		var inner *TypeError
		if errors.As(err, &inner) {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		return nil, err
	}
	box := f.Tag.Get("java")
	if box == "" {
		return typ, nil
	}
	if boxes[box] != typ.kind || typ.kind == kindAny {
		return nil, &TypeError{g.codec, f.Type, fmt.Sprintf("field %s: the tag java:%q wants another Go type", f.Name, box)}
	}
	return &javaType{kind: typ.kind, boxed: true}, nil
}
