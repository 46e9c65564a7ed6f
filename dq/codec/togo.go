package codec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
)

// foreign is a value that was read and has no place in Go. It is an error only
// where a field wants it.
type foreign struct {
	class  string
	reason string // empty: the class is not known
}

func (f foreign) err(codec Name) error {
	if f.reason == "" {
		return &ClassError{codec, f.class}
	}
	return &ValueError{codec, fmt.Sprintf("the value holds a %s %s", f.class, f.reason)}
}

// converter carries values of Java to Go, within bounds: references in the bytes
// can make a small input a huge value.
type converter struct {
	codec    Name
	registry *registry
	budget   int
}

func (c *converter) mismatch(value any, want reflect.Type) error {
	what := fmt.Sprintf("%T", value)
	switch value := value.(type) {
	case *object:
		what = "an object of " + value.class.name
	case constant:
		what = fmt.Sprintf("the constant %s of the enum %s, for which a string type and its Class stand", value.name, value.of.name)
	case *elements:
		what = "a " + value.class
	case *dictionary:
		what = "a " + value.class
	case optional:
		what = "a java.util.Optional; take a pointer and the tag `java:\"Optional\"`"
	default:
		if known, ok := scalarOf(value); ok {
			what = "a " + known.class
		}
	}
	return &ValueError{c.codec, fmt.Sprintf("the value is %s, expected %v", what, want)}
}

// toGo stores value in dst, which is settable and declared as j; j is nil where
// nothing is declared. null leaves the zero value.
func (c *converter) toGo(value any, dst reflect.Value, j *javaType) error {
	if c.budget--; c.budget < 0 {
		return &ValueError{c.codec, "references multiply the value beyond its bounds"}
	}
	if content, is := value.(optional); is && j != nil && j.kind == kindOptional {
		value = content.value
	}
	switch f := value.(type) {
	case nil:
		dst.SetZero()
		return nil
	case foreign:
		return f.err(c.codec)
	case json.RawMessage:
		if err := unmarshal(f, dst.Addr()); err != nil {
			return &ValueError{c.codec, fmt.Sprintf("expected JSON for %v, got %.40q: %v", dst.Type(), f, err)}
		}
		return nil
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return c.toGo(value, dst.Elem(), j)
	case reflect.Interface:
		return c.toAny(value, dst)
	}
	switch value := value.(type) {
	case string:
		if dst.Kind() == reflect.String && !c.isScalar(dst.Type()) && (j == nil || j.kind != kindEnum) {
			dst.SetString(value)
			return nil
		}
		if dst.Kind() == reflect.Slice && c.codec.typed() {
			return c.base64(value, dst)
		}
	case bool:
		if dst.Kind() == reflect.Bool && !c.isScalar(dst.Type()) {
			dst.SetBool(value)
			return nil
		}
	case int32:
		return c.number(int64(value), dst)
	case int64:
		return c.number(value, dst)
	case float64:
		if dst.Kind() == reflect.Float64 {
			dst.SetFloat(value)
			return nil
		}
	case []byte:
		if dst.Kind() == reflect.Slice && dst.Type().Elem().Kind() == reflect.Uint8 {
			c.budget -= len(value)
			dst.SetBytes(append([]byte{}, value...))
			return nil
		}
	case []any, *elements:
		if dst.Kind() == reflect.Slice && dst.Type().Elem().Kind() != reflect.Uint8 {
			return c.list(value, dst, j)
		}
	case *dictionary:
		if dst.Kind() == reflect.Map {
			return c.mapping(value, dst, j)
		}
	case *object:
		if o := c.instance(value, dst.Type()); o != nil {
			return c.object(o, dst)
		}
	case constant:
		if dst.Type() == value.of.goType {
			dst.SetString(value.name)
			return nil
		}
	default:
		if c.scalar(value, dst) {
			return nil
		}
	}
	return c.mismatch(value, dst.Type())
}

// scalar reports whether value could be stored in dst.
func (c *converter) scalar(value any, dst reflect.Value) bool {
	if n, is := value.(*big.Int); is {
		value = *n
	}
	v := reflect.ValueOf(value)
	switch {
	case v.Type() == dst.Type():
		dst.Set(v)
		return true
	case v.Kind() != dst.Kind() || c.isScalar(dst.Type()):
		return false
	}
	switch value.(type) {
	case int8, int16, uint16, float32, UUID:
		if v.CanConvert(dst.Type()) {
			dst.Set(v.Convert(dst.Type()))
			return true
		}
	}
	return false
}

// isScalar reports whether a type stands for a class of its own, which to plain JSON of Jackson 2 are texts, numbers and
// booleans as any.
func (c *converter) isScalar(t reflect.Type) bool {
	return scalars[t].class != "" && c.codec != NameTypedJSON
}

func (c *converter) number(n int64, dst reflect.Value) error {
	switch dst.Kind() {
	case reflect.Int32, reflect.Int64:
		if c.isScalar(dst.Type()) {
			break // a Date or a Duration
		}
		if dst.OverflowInt(n) {
			return &ValueError{c.codec, fmt.Sprintf("%d does not fit %v", n, dst.Type())}
		}
		dst.SetInt(n)
		return nil
	case reflect.Float64:
		if n > 1<<53 || n < -1<<53 {
			return &ValueError{c.codec, fmt.Sprintf("%d does not fit %v exactly", n, dst.Type())}
		}
		dst.SetFloat(float64(n))
		return nil
	}
	return c.mismatch(n, dst.Type())
}

func (c *converter) base64(text string, dst reflect.Value) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || dst.Type().Elem().Kind() != reflect.Uint8 {
		return c.mismatch(text, dst.Type())
	}
	dst.SetBytes(data)
	return nil
}

// elementOf returns the type that j declares for its elements, or nil.
func elementOf(j *javaType) *javaType {
	if j == nil {
		return nil
	}
	return j.elem
}

func (c *converter) list(value any, dst reflect.Value, j *javaType) error {
	if wrong := checkList(value, j); wrong != "" {
		return &ValueError{c.codec, "the value is " + wrong}
	}
	all, isList := value.([]any)
	if !isList {
		all = value.(*elements).all
	}
	dst.Set(reflect.MakeSlice(dst.Type(), 0, 0))
	for i, value := range all {
		element := reflect.New(dst.Type().Elem()).Elem()
		if err := c.toGo(value, element, elementOf(j)); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		dst.Set(reflect.Append(dst, element))
	}
	return nil
}

func (c *converter) mapping(d *dictionary, dst reflect.Value, j *javaType) error {
	dst.Set(reflect.MakeMap(dst.Type()))
	var keyType *javaType
	if j != nil {
		keyType = j.key
	}
	for i := range d.keys {
		key := reflect.New(dst.Type().Key()).Elem()
		if err := c.toGo(d.keys[i], key, keyType); err != nil {
			return fmt.Errorf("a key: %w", err)
		}
		if d.keys[i] == nil || !key.Comparable() {
			return &ValueError{c.codec, fmt.Sprintf("a %s with the key %.40q, which no Go map can have", d.class, fmt.Sprint(d.keys[i]))}
		}
		element := reflect.New(dst.Type().Elem()).Elem()
		if err := c.toGo(d.values[i], element, elementOf(j)); err != nil {
			return fmt.Errorf("key %.80q: %w", fmt.Sprint(d.keys[i]), err)
		}
		dst.SetMapIndex(key, element)
	}
	if dst.Len() < len(d.keys) {
		return &ValueError{c.codec, fmt.Sprintf("a %s with %d keys, of which Go takes some for one, as it does 0.0 and -0.0; the map has %d", d.class, len(d.keys), dst.Len())}
	}
	return nil
}

// instance returns an object as one of the class that the Go type t stands for, or nil. Of
// a generic class there are several, with the same fields.
func (c *converter) instance(o *object, t reflect.Type) *object {
	if t == o.class.goType {
		return o
	}
	known := c.registry.types[t]
	if known == nil || known.kind != kindObject || known.class.name != o.class.name || !o.class.generic {
		return nil
	}
	other := &object{class: known.class, fields: make([]any, len(known.class.fields))}
	for i, f := range known.class.fields {
		for k, own := range o.class.fields {
			if own.name == f.name && len(own.index) == len(f.index) {
				other.fields[i] = o.fields[k]
			}
		}
	}
	return other
}

func (c *converter) object(o *object, dst reflect.Value) error {
	for i, f := range o.class.fields {
		if err := c.toGo(o.fields[i], dst.FieldByIndex(f.index), f.typ); err != nil {
			return fmt.Errorf("field %s of %s: %w", f.name, o.class.name, err)
		}
	}
	if o.class.origin != nil {
		dst.FieldByIndex(o.class.origin).Set(reflect.ValueOf(originOf(o)))
	}
	return nil
}

// toAny stores value as the Go type that stands for its Java type.
func (c *converter) toAny(value any, dst reflect.Value) error {
	var typ reflect.Type
	var declared *javaType
	switch value := value.(type) {
	case []any, []byte:
		typ = reflect.TypeOf(value)
	case *dictionary:
		typ = reflect.TypeFor[map[string]any]()
		if !value.named() {
			typ = reflect.TypeFor[map[any]any]()
		}
	case *elements:
		if value.isArray() {
			return &ValueError{c.codec, fmt.Sprintf("the value is an array, %s, for which no any stands; declare a slice tagged `java:\"array\"`", value.class)}
		}
		typ = reflect.TypeFor[[]any]()
		if value.isSet() {
			typ = reflect.TypeFor[Set]()
			declared = &javaType{kind: kindList, list: collections["HashSet"]}
		}
	case *object:
		typ = value.class.goType
	case constant:
		typ = value.of.goType
	case optional:
		return c.mismatch(value, dst.Type())
	default:
		dst.Set(reflect.ValueOf(value))
		return nil
	}
	held := reflect.New(typ).Elem()
	if err := c.toGo(value, held, declared); err != nil {
		return err
	}
	if kept := heldAs(value); kept != nil {
		held = reflect.ValueOf(Collection{held.Interface(), kept})
	}
	dst.Set(held)
	return nil
}
