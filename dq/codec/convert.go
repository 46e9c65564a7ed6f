package codec

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"unicode/utf8"
)

// A value of Java is held as nil, string, int32, int64, bool, float64, int8, int16,
// uint16 (a char), float32, []byte, []any (a list), *elements, *dictionary,
// *object, constant, optional, a scalar of this package, *big.Int, time.Time or
// time.Duration; in plain JSON it may be json.RawMessage, and where it was read and
// has no place here, foreign.

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
		value, err := g.anyToJava(v, depth)
		if o, is := value.(*object); is && err == nil {
			if untold := g.untold(o.class, j); untold != "" {
				return nil, &ValueError{g.codec, untold}
			}
		}
		return value, err
	}
	if j.kind == kindOther {
		return g.rawJSON(v)
	}
	if j.kind == kindOptional && g.codec != NameKryo5 {
		return nil, &ValueError{g.codec, "a java.util.Optional, which only Kryo5 writes: it is not Serializable, and Jackson takes it with a module alone"}
	}
	if j.kind == kindOptional {
		content, err := g.toJava(v, j.elem, depth+1)
		return optional{content}, err
	}
	declaredAny := v.Kind() == reflect.Interface
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil, nil
		}
		v = v.Elem()
	}
	if declaredAny && scalars[v.Type()].kind != j.kind {
		return nil, &ValueError{g.codec, fmt.Sprintf("a %v, where the tag of the field says %s", v.Type(), j.className())}
	}
	switch j.kind {
	case kindString:
		if !utf8.ValidString(v.String()) {
			return nil, &ValueError{g.codec, fmt.Sprintf("the string %.40q is not UTF-8, so no Java string; use []byte", v.String())}
		}
		if wrong := g.limits().exceeded(v.String()); wrong != "" {
			return nil, &ValueError{g.codec, wrong}
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
	case kindBytes, kindList, kindMap:
	case kindUUID:
		if g.codec == NameJSON && !g.writesUUIDs {
			return nil, &TypeError{g.codec, v.Type(), "Redisson writes a declared UUID with its class from 4.2.0 on and without before, and reads no other form: make the codec with NewJacksonAt"}
		}
		return g.scalarToJava(v, j)
	default:
		return g.scalarToJava(v, j)
	}
	if v.IsNil() {
		return nil, nil
	}
	switch j.kind {
	case kindBytes:
		return v.Bytes(), nil
	case kindList:
		return g.listToJava(v, j, depth)
	default:
		return g.mapToJava(v, j, depth)
	}
}

func (g *registry) listToJava(v reflect.Value, j *javaType, depth int) (any, error) {
	list := make([]any, v.Len())
	for i := range list {
		element, err := g.toJava(v.Index(i), j.elem, depth+1)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i, err)
		}
		list[i] = element
	}
	if j.sorted {
		list = sortedAs(list, v)
	}
	value := j.listValue(list)
	if array, is := value.(*elements); is && array.elem != nil && array.elem.kind == kindObject {
		var err error
		if array.without, err = g.without(array.elem.class); err != nil {
			return nil, err
		}
	}
	return value, nil
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
	if v.Type() == heldType {
		held, _ := v.Interface().(Collection)
		return g.heldToJava(held, depth)
	}
	typ, ok := g.types[v.Type()]
	if !ok {
		// Types met only now are looked at each time: the registry is shared.
		scratch := emptyRegistry(g.codec, g.given)
		var err error
		if typ, err = scratch.typeOf(v.Type()); err != nil {
			return nil, err
		}
	}
	if typ.kind == kindUUID {
		return g.scalarToJava(v, typ) // with its class in every form
	}
	return g.toJava(v, typ, depth)
}

func (g *registry) mapToJava(v reflect.Value, j *javaType, depth int) (any, error) {
	d := &dictionary{class: hashMapName}
	if j.list != nil {
		d.class = j.list.class
	}
	if j.sorted {
		d.class = treeMapName
	}
	hasNaN := false
	for entries := v.MapRange(); entries.Next(); {
		key, err := g.keyToJava(entries.Key(), j.key, depth+1)
		if err != nil {
			return nil, fmt.Errorf("a key: %w", err)
		}
		if name, is := key.(string); is {
			if wrong := g.limits().exceededBy(name); wrong != "" {
				return nil, &ValueError{g.codec, wrong}
			}
		}
		if isNaN(key) {
			if hasNaN {
				return nil, &ValueError{g.codec, "a map with several keys that are NaN, which Java takes for one"}
			}
			hasNaN = true
		}
		value, err := g.toJava(entries.Value(), j.elem, depth+1)
		if err != nil {
			return nil, fmt.Errorf("key %.80q: %w", fmt.Sprint(key), err)
		}
		d.add(key, value)
	}
	d.sort()
	return d, nil
}

func isNaN(value any) bool {
	wide, _ := value.(float64)
	narrow, _ := value.(float32)
	return math.IsNaN(wide + float64(narrow))
}

// keyToJava is toJava for a key, which in JSON is text whatever it is.
func (g *registry) keyToJava(v reflect.Value, j *javaType, depth int) (any, error) {
	if j.kind == kindUUID && v.Kind() == reflect.Array {
		return g.scalarToJava(v, j)
	}
	return g.toJava(v, j, depth)
}

func (g *registry) objectToJava(v reflect.Value, c *class, depth int) (any, error) {
	if err := g.checkSupers(c); err != nil {
		return nil, err
	}
	if lacking := c.lacking(); lacking != nil {
		return nil, &TypeError{g.codec, lacking.goType, fmt.Sprintf("it leaves out the field %q of %s, in which Java would read null; take lacks=%[1]s out of its java tag where that is right, which never is so for Kryo5", lacking.lacks[0], lacking.name)}
	}
	if g.isJSON() {
		if _, problem := c.extras(g.codec); problem != "" {
			return nil, &ValueError{g.codec, problem}
		}
	}
	without, err := g.without(c)
	if err != nil {
		return nil, err
	}
	o := &object{class: c, fields: make([]any, len(c.fields)), without: without}
	var origin Origin
	if c.origin != nil {
		origin, _ = v.FieldByIndex(c.origin).Interface().(Origin)
	}
	for i, f := range c.fields {
		part := v.FieldByIndex(f.index)
		if g.isJSON() && (f.omitZero && part.IsZero() || f.omitEmpty && isEmpty(part)) {
			continue
		}
		if slices.Contains(without, f.of) {
			if !part.IsZero() {
				return nil, fmt.Errorf("field %s: %w", f.name, g.errAbsent(c, f))
			}
			continue
		}
		value, err := g.toJava(part, f.typ, depth+1)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		if lost := origin.lost(i, c); lost != "" && value != nil && g.writesHierarchy() {
			return nil, &ValueError{g.codec, fmt.Sprintf("field %s: a %s, which is read and not written here; a new Origin makes a plain collection of it", f.name, lost)}
		}
		o.fields[i] = origin.restore(value, i, c)
		if err := g.plant(o.fields[i]); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
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
	if wrong := g.limits().exceeded(json.RawMessage(data)); wrong != "" {
		return nil, &ValueError{g.codec, wrong}
	}
	return json.RawMessage(data), nil
}

// integer returns an integer as Jackson types one that it knows nothing about.
func integer(n int64) any {
	if n >= math.MinInt32 && n <= math.MaxInt32 {
		return int32(n)
	}
	return n
}
