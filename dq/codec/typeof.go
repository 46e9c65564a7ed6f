package codec

import (
	"fmt"
	"reflect"
)

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

// describe fills in j, the Java type for t.
func (g *registry) describe(t reflect.Type, j *javaType) (err error) {
	known, isScalar := scalars[t]
	if t.Kind() == reflect.Pointer { // which has the methods, but is none of the scalars
		known, isScalar = scalars[t.Elem()]
		isScalar = isScalar && g.codec.writesScalar(known.kind)
	}
	if g.plain() && ownJSON(t) && (!isScalar || g.codec == NameTypedJSON) {
		j.kind = kindOther
		return nil
	}
	if done, err := g.describeScalar(t, j); done || err != nil {
		return err
	}
	switch t.Kind() {
	case reflect.String:
		j.kind = kindString
		if given, isEnum := g.given[t]; isEnum && (!g.plain() || given.NoJSON || given.NoJackson3 && g.codec.jackson3()) {
			return g.describeEnum(t, given, j)
		}
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
		return g.describePointer(t, j)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			j.kind = kindBytes
			return nil
		}
		j.kind = kindList
		if t == reflect.TypeFor[Set]() && !g.plain() {
			j.list = collections["HashSet"]
		}
		j.elem, err = g.typeOf(t.Elem())
	case reflect.Map:
		return g.describeMap(t, j)
	case reflect.Struct:
		j.kind = kindObject
		j.class = &class{goType: t}
		err = g.describeClass(j.class)
	default:
		return g.refuse(t, j, "no Java type is certain; use int32 (Integer), int64 (Long), float64 (Double), string, bool, []byte, slices, maps, structs, or the types of the package comment")
	}
	return err
}

// describeScalar takes the Go types that only the codecs with classes of their own
// have, and reports whether t is one.
func (g *registry) describeScalar(t reflect.Type, j *javaType) (bool, error) {
	known, is := scalars[t]
	switch t.Kind() {
	case reflect.Int8:
		known.kind, is = kindByte, true
	case reflect.Int16:
		known.kind, is = kindShort, true
	case reflect.Uint16:
		known.kind, is = kindChar, true
	case reflect.Float32:
		known.kind, is = kindFloat, true
	case reflect.Array:
		if t.Len() == len(UUID{}) && t.Elem().Kind() == reflect.Uint8 {
			known.kind, is = kindUUID, true
		}
	}
	if !is || g.codec == NameTypedJSON {
		return false, nil
	}
	if g.isJSON() && !g.codec.writesScalar(known.kind) && (known.kind != kindUUID || g.codec != NameJSON) {
		return true, &TypeError{g.codec, t, "how Java writes it as JSON depends on the release, on Jackson's modules and its settings; hold it as a string or an int64 on both sides"}
	}
	j.kind = known.kind
	return true, nil
}

func (g *registry) describeMap(t reflect.Type, j *javaType) (err error) {
	if j.key, err = g.typeOf(t.Key()); err != nil {
		return err
	}
	if g.isJSON() && !jsonKeys[j.key.kind] {
		return g.refuse(t, j, "a map whose keys are neither text, integers, UUIDs nor constants of an enum")
	}
	j.kind = kindMap
	switch j.key.kind {
	case kindObject, kindList, kindMap, kindBytes, kindOptional:
		return g.refuse(t, j, "a map whose keys are neither text, numbers, constants of an enum nor other scalars")
	}
	j.elem, err = g.typeOf(t.Elem())
	return err
}

func (g *registry) describePointer(t reflect.Type, j *javaType) error {
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
	return nil
}

func (g *registry) describeEnum(t reflect.Type, given Class, j *javaType) error {
	if given.Name == "" || len(given.Constants) == 0 {
		return &TypeError{g.codec, t, "a Class of a string type is an enum; give it a Name and all Constants in their order"}
	}
	if other, ok := g.enums[given.Name]; ok && other.goType != t {
		return &TypeError{g.codec, t, fmt.Sprintf("enum %s is already %v", given.Name, other.goType)}
	}
	j.kind = kindEnum
	j.enum = &enum{name: given.Name, goType: t, constants: given.Constants, noJackson3: given.NoJackson3, noJSON: given.NoJSON}
	g.enums[given.Name] = j.enum
	return nil
}

// refuse leaves plain JSON to encoding/json, which knows more types.
func (g *registry) refuse(t reflect.Type, j *javaType, reason string) error {
	if g.plain() {
		j.kind = kindOther
		return nil
	}
	return &TypeError{g.codec, t, reason}
}
