package java

import (
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
)

// conversion puts trees into Go values. Its budget bounds references, which can make a small input a huge value.
type conversion struct {
	g            *registry
	most, budget int
}

func (c *conversion) refuse(format string, args ...any) error {
	return &ValueError{c.g.codec, fmt.Sprintf(format, args...)}
}

// into stores a value in dst, of the declared type t; nil if nothing is declared.
func (c *conversion) into(dst reflect.Value, value any, t *typ) error {
	if c.budget--; c.budget < 0 {
		return c.exhausted()
	}
	switch value := value.(type) {
	case nil:
		dst.SetZero()
		return nil
	case itself:
		return c.refuse("the value holds a %s that contains itself; Go types here cannot", value.class)
	case json.RawMessage:
		if err := json.Unmarshal(value, dst.Addr().Interface()); err != nil {
			return c.refuse("expected JSON for %v, got %.40q: %v", dst.Type(), value, err)
		}
		return nil
	}
	switch {
	case dst.Type() == objectType:
		dst.Set(reflect.ValueOf(Object{value}))
		return nil
	case dst.Kind() == reflect.Interface:
		return c.intoAny(dst, value)
	case dst.Kind() == reflect.Pointer && dst.Type() != reflect.TypeFor[*big.Int]():
		dst.Set(reflect.New(dst.Type().Elem()))
		return c.into(dst.Elem(), value, t)
	}
	switch value := value.(type) {
	case *record:
		return c.object(dst, value)
	case constant:
		known := c.g.byName[value.class]
		switch {
		case known == nil || known.kind != enumKind:
			return &ClassError{c.g.codec, value.class}
		case known.goType != dst.Type():
			return c.mismatch(dst, value)
		case !slices.Contains(known.enum.constants, value.name):
			return c.refuse("the value holds the constant %.80q of %s; add it to the Constants of its Class", value.name, value.class)
		}
		dst.SetString(value.name)
		return nil
	case list:
		isOtherSet := t != nil && !value.isArray() && isSet(value.class) && !isSet(t.class) && t.class != "java.util.Collection"
		if t != nil && value.isArray() != (t.kind == arrayKind) || isOtherSet {
			return c.mismatch(dst, value)
		}
		return c.elements(dst, value, t)
	case dictionary:
		return c.mapping(dst, value, t)
	}
	v := reflect.ValueOf(value)
	isOwn := scalarOfGo[dst.Type()] != nil || scalarOfGo[v.Type()] != nil
	switch {
	case v.Type() == dst.Type():
		dst.Set(v)
	case v.Kind() == dst.Kind() && (!isOwn || v.Kind() == reflect.Array) && v.CanConvert(dst.Type()) && c.g.given[dst.Type()].Name == "":
		dst.Set(v.Convert(dst.Type()))
	default:
		return c.mismatch(dst, value)
	}
	if data, is := value.([]byte); is {
		c.budget -= len(data)
		dst.SetBytes(slices.Clone(data))
	}
	return nil
}

func (c *conversion) exhausted() error {
	return c.refuse("references make the value larger than %d elements", c.most)
}

func (c *conversion) mismatch(dst reflect.Value, value any) error {
	return c.refuse("the value is a %s, expected %v", className(value), dst.Type())
}

// intoAny stores a value as its Go type.
func (c *conversion) intoAny(dst reflect.Value, value any) error {
	of := reflect.TypeOf(value)
	switch value := value.(type) {
	case *record, constant:
		known := c.g.byName[className(value)]
		if o, is := value.(*record); is && known == nil {
			dst.Set(reflect.ValueOf(Object{o}))
			return nil
		} else if known == nil {
			return &ClassError{c.g.codec, className(value)}
		}
		of = known.goType
	case list:
		switch {
		case value.isArray():
			return c.refuse("the value is an array, %s; declare a slice with the tag `java:\"array\"`", value.class)
		case isSet(value.class):
			of = reflect.TypeFor[Set]()
		default:
			of = reflect.TypeFor[[]any]()
		}
	case dictionary:
		of = reflect.TypeFor[map[any]any]()
	}
	held := reflect.New(of).Elem()
	if err := c.into(held, value, nil); err != nil {
		return err
	}
	if m, is := held.Interface().(map[any]any); is {
		held = reflect.ValueOf(byText(m))
	}
	dst.Set(held)
	return nil
}

func (c *conversion) elements(dst reflect.Value, l list, t *typ) error {
	if dst.Kind() != reflect.Slice || dst.Type().Elem().Kind() == reflect.Uint8 {
		return c.mismatch(dst, l)
	}
	if len(l.all) > c.budget {
		return c.exhausted()
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(l.all), len(l.all)))
	_, elem := t.parts(listKind, arrayKind)
	for i, value := range l.all {
		if err := c.into(dst.Index(i), value, elem); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func (c *conversion) mapping(dst reflect.Value, d dictionary, t *typ) error {
	if dst.Kind() != reflect.Map {
		return c.mismatch(dst, d)
	}
	dst.Set(reflect.MakeMap(dst.Type()))
	keys, elements := t.parts(mapKind)
	for i := 0; i+1 < len(d.all); i += 2 {
		key, element := reflect.New(dst.Type().Key()).Elem(), reflect.New(dst.Type().Elem()).Elem()
		if err := c.into(key, d.all[i], keys); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
		if d.all[i] == nil || !key.Comparable() {
			return c.refuse("the value holds a %s with a key that Go maps cannot have", d.class)
		}
		if err := c.into(element, d.all[i+1], elements); err != nil {
			return fmt.Errorf("the value of a key: %w", err)
		}
		dst.SetMapIndex(key, element)
	}
	if dst.Len() < len(d.all)/2 {
		return c.refuse("the value holds a %s with two keys that are equal in Go", d.class)
	}
	return nil
}

// object puts the fields of an object into a struct.
func (c *conversion) object(dst reflect.Value, o *record) error {
	known := c.g.types[dst.Type()]
	if o.typ != nil && o.typ.goType == dst.Type() {
		known = o.typ
	}
	switch {
	case known == nil || known.kind != objectKind || known.class != o.class:
		if c.g.byName[o.class] == nil {
			return &ClassError{c.g.codec, o.class}
		}
		return c.mismatch(dst, o)
	case len(o.data) > 0:
		return c.refuse("the value holds a %s, whose writeObject method writes data that a struct cannot hold", o.class)
	}
	matched := len(o.fields) == 0 || len(known.object.fields) == 0
	for i, f := range o.fields {
		at := i // the same type read them
		if o.typ != known {
			at = known.object.index(f)
		}
		if at < 0 {
			continue // the struct lacks it
		}
		matched = true
		own := known.object.fields[at]
		if err := c.into(dst.FieldByIndex(own.index), f.value, own.typ); err != nil {
			return fmt.Errorf("field %s of %s: %w", f.name, o.class, err)
		}
	}
	if !matched {
		return c.refuse("the value holds a %s, but %v has other fields; give it json tags with Java's names", o.class, dst.Type())
	}
	return nil
}

// byText returns a map[string]any if all keys are texts.
func byText(m map[any]any) any {
	texts := make(map[string]any, len(m))
	for key, value := range m {
		text, is := key.(string)
		if !is {
			return m
		}
		texts[text] = value
	}
	return texts
}
