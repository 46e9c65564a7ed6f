package codec

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"unicode/utf8"
)

// A value of Java is held as nil, string, int32, int64, bool, float64, []byte,
// []any (a list), map[string]any, *object, or, in plain JSON, json.RawMessage.

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func ownJSON(t reflect.Type) bool {
	return t.Implements(jsonMarshaler) || t.Implements(textMarshaler) ||
		t.Kind() != reflect.Pointer && (reflect.PointerTo(t).Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(textMarshaler))
}

// toJava converts a Go value. j is its declared type.
func (g *registry) toJava(v reflect.Value, j *javaType, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &ValueError{g.codec, fmt.Sprintf("the value is nested deeper than %d; does it hold itself?", maxDepth)}
	}
	if j.kind == kindAny {
		return g.anyToJava(v, depth)
	}
	if j.kind == kindOther {
		return g.rawJSON(v)
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	switch j.kind {
	case kindString:
		if !utf8.ValidString(v.String()) {
			return nil, &ValueError{g.codec, fmt.Sprintf("the string %.40q is not UTF-8, so no Java string; use []byte", v.String())}
		}
		return v.String(), nil
	case kindInt:
		return int32(v.Int()), nil
	case kindLong:
		return v.Int(), nil
	case kindBool:
		return v.Bool(), nil
	case kindDouble:
		return v.Float(), nil
	case kindObject:
		return g.objectToJava(v, j.class, depth)
	}
	if v.IsNil() {
		return nil, nil
	}
	switch j.kind {
	case kindBytes:
		return v.Bytes(), nil
	case kindList:
		list := make([]any, v.Len())
		for i := range list {
			element, err := g.toJava(v.Index(i), j.elem, depth+1)
			if err != nil {
				return nil, err
			}
			list[i] = element
		}
		return list, nil
	default:
		return g.mapToJava(v, j, depth)
	}
}

func (g *registry) anyToJava(v reflect.Value, depth int) (any, error) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil, nil
	}
	typ, ok := g.types[v.Type()]
	if !ok {
		// Types met only now are looked at each time: the registry is shared.
		scratch := &registry{codec: g.codec, given: g.given, types: map[reflect.Type]*javaType{}, byName: map[string]*class{}}
		var err error
		if typ, err = scratch.typeOf(v.Type()); err != nil {
			return nil, err
		}
	}
	return g.toJava(v, typ, depth+1)
}

func (g *registry) mapToJava(v reflect.Value, j *javaType, depth int) (any, error) {
	m := make(map[string]any, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key := entries.Key().String()
		if !utf8.ValidString(key) {
			return nil, &ValueError{g.codec, fmt.Sprintf("the map key %.40q is not UTF-8, so no Java string", key)}
		}
		value, err := g.toJava(entries.Value(), j.elem, depth+1)
		if err != nil {
			return nil, err
		}
		m[key] = value
	}
	return m, nil
}

func (g *registry) objectToJava(v reflect.Value, c *class, depth int) (any, error) {
	if err := g.checkSupers(c); err != nil {
		return nil, err
	}
	o := &object{class: c, fields: make([]any, len(c.fields))}
	for i, f := range c.fields {
		part := v.FieldByIndex(f.index)
		if g.isJSON() && (f.omitZero && part.IsZero() || f.omitEmpty && isEmpty(part)) {
			continue
		}
		value, err := g.toJava(part, f.typ, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		o.fields[i] = value
	}
	return o, nil
}

// isEmpty is what encoding/json takes for empty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (g *registry) rawJSON(v reflect.Value) (any, error) {
	if v.CanAddr() {
		v = v.Addr() // for methods of the pointer
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		return nil, &ValueError{g.codec, err.Error()}
	}
	if string(data) == "null" {
		return nil, nil
	}
	return json.RawMessage(data), nil
}

// converter carries values of Java to Go, within bounds: references in the bytes
// can make a small input a huge value.
type converter struct {
	codec  Name
	budget int
}

func (c *converter) mismatch(value any, want reflect.Type) error {
	if o, ok := value.(*object); ok {
		return &ValueError{c.codec, fmt.Sprintf("the value is an object of %s, expected %v", o.class.name, want)}
	}
	return &ValueError{c.codec, fmt.Sprintf("the value is %T, expected %v", value, want)}
}

// toGo stores value in dst, which is settable. null leaves the zero value.
func (c *converter) toGo(value any, dst reflect.Value) error {
	if c.budget--; c.budget < 0 {
		return &ValueError{c.codec, "references multiply the value beyond its bounds"}
	}
	if value == nil {
		dst.SetZero()
		return nil
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return c.toGo(value, dst.Elem())
	case reflect.Interface:
		return c.toAny(value, dst)
	}
	switch value := value.(type) {
	case string:
		if dst.Kind() == reflect.String {
			dst.SetString(value)
			return nil
		}
		if dst.Kind() == reflect.Slice && c.codec == NameJSON {
			return c.base64(value, dst)
		}
	case bool:
		if dst.Kind() == reflect.Bool {
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
	case []any:
		if dst.Kind() == reflect.Slice && dst.Type().Elem().Kind() != reflect.Uint8 {
			return c.list(value, dst)
		}
	case map[string]any:
		if dst.Kind() == reflect.Map {
			return c.mapping(value, dst)
		}
	case *object:
		if dst.Type() == value.class.goType {
			return c.object(value, dst)
		}
	}
	return c.mismatch(value, dst.Type())
}

func (c *converter) number(n int64, dst reflect.Value) error {
	switch dst.Kind() {
	case reflect.Int32, reflect.Int64:
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

func (c *converter) list(list []any, dst reflect.Value) error {
	dst.Set(reflect.MakeSlice(dst.Type(), 0, 0))
	for _, value := range list {
		element := reflect.New(dst.Type().Elem()).Elem()
		if err := c.toGo(value, element); err != nil {
			return err
		}
		dst.Set(reflect.Append(dst, element))
	}
	return nil
}

func (c *converter) mapping(m map[string]any, dst reflect.Value) error {
	dst.Set(reflect.MakeMap(dst.Type()))
	for key, value := range m {
		element := reflect.New(dst.Type().Elem()).Elem()
		if err := c.toGo(value, element); err != nil {
			return err
		}
		dst.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), element)
	}
	return nil
}

func (c *converter) object(o *object, dst reflect.Value) error {
	for i, f := range o.class.fields {
		if err := c.toGo(o.fields[i], dst.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return nil
}

// toAny stores value as the Go type that stands for its Java type.
func (c *converter) toAny(value any, dst reflect.Value) error {
	var typ reflect.Type
	switch value := value.(type) {
	case []any, map[string]any, []byte:
		typ = reflect.TypeOf(value)
	case *object:
		typ = value.class.goType
	default:
		dst.Set(reflect.ValueOf(value))
		return nil
	}
	held := reflect.New(typ).Elem()
	if err := c.toGo(value, held); err != nil {
		return err
	}
	dst.Set(held)
	return nil
}

// integer returns an integer as Jackson types one that it knows nothing about.
func integer(n int64) any {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		return int32(n)
	}
	return n
}
