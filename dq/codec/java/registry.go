package java

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// registry maps Go types to Java types, and class names to Go types. It is read-only once made.
type registry struct {
	codec  string
	plain  bool // JSON without classes, so that structs need no names
	given  map[reflect.Type]Class
	types  map[reflect.Type]*typ
	byName map[string]*typ // structs and enums
}

// bound is a codec: the Java types for T, and the form of the bytes.
type bound[T any] struct {
	g    *registry
	root *typ
	form
}

// form writes values of a declared type as bytes, and reads bytes as a tree.
type form interface {
	encode(g *registry, v reflect.Value, t *typ) ([]byte, error)
	decode(g *registry, data []byte, t *typ) (any, error)
}

func bind[T any](codec string, f form, classes []Class) (bound[T], error) {
	json, isJSON := f.(JSONForm)
	g := &registry{codec, isJSON && json.Plain, map[reflect.Type]Class{}, map[reflect.Type]*typ{}, map[string]*typ{}}
	err := g.addAll(reflect.TypeFor[T](), classes)
	return bound[T]{g, g.types[reflect.TypeFor[T]()], f}, err
}

// Check fails for a zero value, which can neither encode nor decode.
func (b bound[T]) Check() error {
	if b.g == nil {
		return errors.New("codec: got a zero value: make it with its constructor, such as java.NewKryo5")
	}
	return nil
}

// Encode fails with a *TypeError or *ValueError for a value that Java cannot hold, or that the codec does not write.
func (b bound[T]) Encode(value T) ([]byte, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	return b.encode(b.g, reflect.ValueOf(&value).Elem(), b.root)
}

// Decode fails with a *FormatError, *ClassError or *ValueError.
func (b bound[T]) Decode(data []byte) (value T, err error) {
	if err := b.Check(); err != nil {
		return value, err
	}
	tree, err := b.decode(b.g, data, b.root)
	if err != nil {
		return value, err
	}
	c := conversion{b.g, most(len(data)), most(len(data))}
	err = c.into(reflect.ValueOf(&value).Elem(), tree, b.root)
	return value, err
}

func (g *registry) addAll(root reflect.Type, classes []Class) error {
	all := make([]reflect.Type, 0, len(classes)+1)
	for _, c := range classes {
		t := reflect.TypeOf(c.Of)
		if t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct && t.Kind() != reflect.String {
			return g.refuse(t, fmt.Sprintf("Class %q: Of must be a struct, or a string type for an enum", c.Name))
		}
		g.given[t] = c
		all = append(all, t)
	}
	for _, t := range append(all, root) {
		j, err := g.typeOf(t)
		if err != nil {
			return err
		}
		other := g.byName[j.class]
		if other != nil && t.Kind() != reflect.Pointer && other.goType != t && (j.object == nil || !j.object.generic) {
			return g.refuse(t, fmt.Sprintf("the class %s is already %v", j.class, other.goType))
		}
	}
	return nil
}

func (g *registry) refuse(t reflect.Type, reason string) error {
	return &TypeError{g.codec, t, reason}
}

// typeOf returns the Java type for a Go type.
func (g *registry) typeOf(t reflect.Type) (*typ, error) {
	if known := g.types[t]; known != nil {
		return known, nil
	}
	j := &typ{goType: t}
	g.types[t] = j // before its parts, which may refer to it
	if err := g.describe(t, j); err != nil {
		delete(g.types, t)
		return nil, err
	}
	return j, nil
}

// register makes a struct or enum known by its class. Of several for a generic class, one without arguments wins, or the first.
func (g *registry) register(j *typ) {
	other := g.byName[j.class]
	if j.class != "" && (other == nil || other.object != nil && other.object.generic && j.object != nil && !j.object.generic) {
		g.byName[j.class] = j
	}
}

var kinds = func() map[reflect.Kind]kind {
	all := map[reflect.Kind]kind{}
	for k := boolKind; k <= doubleKind; k++ {
		all[primitives[k].goType.Kind()] = k
	}
	return all
}()

const noJavaType = "it has no certain Java type; use bool, int32 (Integer), int64 (Long), float64 (Double), string, []byte, slices, maps, structs, any, or the types of this package"

func (g *registry) describe(t reflect.Type, j *typ) (err error) {
	given, isGiven := g.given[t]
	switch s := scalarOfGo[t]; {
	case g.plain && t != objectType && (s == nil || !s.inJSON) && (s != nil || marshalsItself(t) || t.Kind() == reflect.Uint16):
		j.kind = jsonKind // a uint16 is a number, as encoding/json has it
	case s != nil:
		j.kind, j.scalar, j.class = scalarKind, s, s.class
	case kinds[t.Kind()] != anyKind:
		j.kind = kinds[t.Kind()]
	case t.Kind() == reflect.String && isGiven:
		if given.Name == "" || len(given.Constants) == 0 {
			return g.refuse(t, "the Class of a string type is an enum; give it a Name and all Constants in their order")
		}
		if given.Bodies == given.Final && (g.codec == "kryo5" || g.codec == "json") {
			return g.refuse(t, fmt.Sprintf("Java writes the enum %s in another way if a constant has a body, as in %s { ... }; set Bodies in its Class then, else Final", given.Name, given.Constants[0]))
		}
		j.kind, j.class, j.enum = enumKind, given.Name, &enum{given.Constants, given.Bodies}
		g.register(j)
	case t.Kind() == reflect.String:
		j.kind, j.class = stringKind, stringClass
	case t.Kind() == reflect.Array && t.Len() == len(UUID{}) && t.Elem().Kind() == reflect.Uint8:
		j.kind, j.scalar, j.class = scalarKind, scalarOfClass[uuidClass], uuidClass
	case t.Kind() == reflect.Interface && t.NumMethod() == 0, t == objectType:
		j.class = objectClass
	case t.Kind() == reflect.Pointer && !slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface}, t.Elem().Kind()):
		inner, err := g.typeOf(t.Elem())
		if err != nil {
			return err
		}
		*j = *inner
		j.goType, j.boxed = t, true
		if p := primitives[j.kind]; p.code != "" {
			j.class = p.class
		}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		j.kind, j.class = bytesKind, bytesClass
	case t.Kind() == reflect.Slice:
		j.kind, j.class, j.value = listKind, "java.util.List", "java.util.ArrayList"
		if t == reflect.TypeFor[Set]() {
			j.class, j.value = "java.util.Set", "java.util.HashSet"
		}
		j.elem, err = g.typeOf(t.Elem())
	case t.Kind() == reflect.Map:
		j.kind, j.class, j.value = mapKind, "java.util.Map", "java.util.HashMap"
		if j.key, err = g.typeOf(t.Key()); err == nil && j.key.kind == jsonKind {
			*j = typ{kind: jsonKind, goType: t}
		} else if err == nil {
			j.elem, err = g.typeOf(t.Elem())
		}
	case t.Kind() == reflect.Struct:
		return g.describeStruct(t, j)
	case g.plain:
		j.kind = jsonKind
	default:
		return g.refuse(t, noJavaType)
	}
	return err
}

// marshalsItself reports whether a type has its own JSON.
func marshalsItself(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

func (g *registry) describeStruct(t reflect.Type, j *typ) error {
	j.kind, j.object = objectKind, &class{}
	if err := g.nameStruct(t, j.object); err != nil {
		return err
	}
	j.class = j.object.name
	g.register(j)
	if err := g.addFields(t, j.object, j.object, nil); err != nil {
		return err
	}
	// A class and its super class can have fields of one name: the subclass's is first.
	slices.SortFunc(j.object.fields, func(a, b field) int { return cmp.Or(strings.Compare(a.name, b.name), len(a.index)-len(b.index)) })
	return nil
}

// nameStruct reads the tag of a struct's blank field.
func (g *registry) nameStruct(t reflect.Type, c *class) error {
	given := g.given[t]
	var tag string
	for i := range t.NumField() {
		if f := t.Field(i); f.Name == "_" {
			tag = f.Tag.Get("java")
		}
	}
	name, options, _ := strings.Cut(tag, ",")
	c.name, c.record, c.final = cmp.Or(given.Name, name), given.Record, given.Final
	c.generic = given.Name == "" && strings.Contains(t.Name(), "[") && !strings.Contains(t.Name(), "interface {}")
	nested := c.generic && strings.Count(strings.ReplaceAll(t.Name(), "[]uint8", ""), "[") > 1
	if given.SerialVersionUID != 0 {
		c.uid = &given.SerialVersionUID
	}
	for option := range strings.SplitSeq(options, ",") {
		switch key, value, _ := strings.Cut(option, "="); key {
		case "":
		case "record":
			c.record = true
		case "final":
			c.final = true
		case "of":
			c.generic, nested = true, nested || strings.Contains(value, "<")
		case "serialVersionUID":
			uid, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return g.refuse(t, fmt.Sprintf("serialVersionUID in its tag: expected a 64-bit integer, got %q", value))
			}
			if c.uid == nil {
				c.uid = &uid
			}
		default:
			return g.refuse(t, fmt.Sprintf("its java tag has the unknown option %q; use serialVersionUID=<integer>, of=<type arguments>, final or record", option))
		}
	}
	if g.codec == "kryo5" && c.generic && (nested || c.record) {
		return g.refuse(t, "Kryo5 writes a generic record, or a type argument that has arguments itself, in a form that is not known here; use JSON, or let Java write it")
	}
	if c.final = c.final || c.record; c.record && c.uid == nil {
		c.uid = new(int64)
	}
	if c.name == "" && !g.plain {
		return g.refuse(t, "its Java class is unknown; add a field `_ struct{} `java:\"package.Name\"``, or pass a Class to the constructor")
	}
	return nil
}

// addFields adds the fields of the struct t, which lies at path in the struct of c; of is the class that declares them.
func (g *registry) addFields(t reflect.Type, c, of *class, path []int) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		index := append(slices.Clone(path), i)
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Pointer:
			return g.refuse(t, fmt.Sprintf("it embeds the pointer %v; embed the struct itself for a super class", f.Type))
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct && scalarOfGo[f.Type] == nil:
			super := &class{}
			if err := g.nameStruct(f.Type, super); err != nil {
				return err
			}
			if of.super != nil && !g.plain {
				return g.refuse(t, "it embeds two structs; a Java class has one super class")
			}
			of.super = super
			if err := g.addFields(f.Type, c, super, index); err != nil {
				return err
			}
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		j, err := g.fieldType(f)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		c.fields = append(c.fields, field{cmp.Or(name, f.Name), index, j, of, omitted(options)})
	}
	return nil
}

// omitted returns the rule by which JSON leaves a field out.
func omitted(options string) func(reflect.Value) bool {
	switch {
	case strings.Contains(options, "omitzero"):
		return reflect.Value.IsZero
	case strings.Contains(options, "omitempty"):
		return func(v reflect.Value) bool {
			if slices.Contains([]reflect.Kind{reflect.Slice, reflect.Map, reflect.Array}, v.Kind()) {
				return v.Len() == 0
			}
			return v.Kind() != reflect.Struct && v.IsZero()
		}
	}
	return func(reflect.Value) bool { return false }
}

// collections has the tags of slices and maps, and the class to write for each. Both are in java.util.
var collections = map[string]string{
	"Collection": "ArrayList", "ArrayList": "ArrayList", "LinkedList": "LinkedList", "Set": "HashSet", "HashSet": "HashSet",
	"LinkedHashSet": "LinkedHashSet", "TreeSet": "TreeSet", "HashMap": "HashMap", "LinkedHashMap": "LinkedHashMap", "TreeMap": "TreeMap",
}

// fieldType is typeOf with the java tag of a field applied.
func (g *registry) fieldType(f reflect.StructField) (*typ, error) {
	inner, err := g.typeOf(f.Type)
	tag := f.Tag.Get("java")
	if err != nil || tag == "" {
		return inner, err
	}
	j := *inner
	written, isCollection := collections[tag]
	switch {
	case isCollection && (j.kind == listKind || j.kind == mapKind) && (j.kind == mapKind) == strings.HasSuffix(tag, "Map"):
		j.class, j.value = "java.util."+tag, "java.util."+written
	case tag == "array" && j.kind == listKind:
		j.kind, j.class = arrayKind, "["+j.elem.inArray()
		j.value = j.class
	case tag == "Optional" && f.Type.Kind() == reflect.Pointer:
		return &typ{kind: optionalKind, goType: f.Type, class: optionalClass, elem: inner}, nil
	case j.kind == anyKind && scalarOfClass[tag] != nil:
		return kryoTypes[tag], nil
	case j.kind == anyKind && strings.ContainsAny(tag, ".["):
		var final bool
		if j.class, final = strings.CutSuffix(tag, ",final"); final && g.codec == "kryo5" {
			return nil, g.refuse(f.Type, fmt.Sprintf("the field is a %s, which has no Go type, and whose end Kryo5 does not mark", j.class))
		}
	case primitives[j.kind].class == "java.lang."+tag:
		j.boxed, j.class = true, primitives[j.kind].class
	default:
		return nil, g.refuse(f.Type, fmt.Sprintf("the tag java:%q is unknown, or does not fit the type", tag))
	}
	return &j, nil
}

// Set is the value of an any that holds a java.util.Set.
type Set []any

// constant returns the enum of a constant's own class: demo.Mood of demo.Mood$1, or of demo.Mood$OK as Kotlin has it.
func (g *registry) constant(class string) *typ {
	at := max(strings.LastIndexByte(class, '$'), 0)
	t, own := g.byName[class[:at]], class[at:]
	if t == nil || t.enum == nil || strings.Trim(own[1:], "0123456789") != "" && !slices.Contains(t.enum.constants, own[1:]) {
		return nil
	}
	return t
}
