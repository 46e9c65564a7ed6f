package codec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"sync"
	"unicode/utf16"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// JSON writes plain JSON without type information, as Redisson's
// TypedJsonJacksonCodec does for a class of the same fields: fields sorted by
// name, nulls left out, characters outside the BMP as \uXXXX pairs, doubles as
// Java writes them. Types that marshal themselves keep their own JSON.
type JSON[T any] struct {
	// ReadBy is the Redisson that is to read the values. Its Jackson may refuse texts of more than 5,000,000
	// characters, and other sizes: so does Encode then, and where it is zero for every release, as does NewJackson.
	ReadBy wire.Release
}

var plainBindings sync.Map // plainKey to func() (bound[T], error)

type plainKey struct {
	of     reflect.Type
	readBy wire.Release
}

func (j JSON[T]) bound() (bound[T], error) {
	key := plainKey{reflect.TypeFor[T](), j.ReadBy}
	made, ok := plainBindings.Load(key)
	if !ok {
		made, _ = plainBindings.LoadOrStore(key, sync.OnceValues(func() (bound[T], error) {
			b, err := bind[T](NameTypedJSON, jsonFormat{codec: NameTypedJSON, release: j.ReadBy}, nil)
			if err == nil {
				b.registry.release = j.ReadBy
			}
			return b, err
		}))
	}
	return made.(func() (bound[T], error))()
}

// Encode fails with a *TypeError or *ValueError for what is no JSON, and for what no Jackson of ReadBy reads.
func (j JSON[T]) Encode(value T) ([]byte, error) {
	b, err := j.bound()
	if err != nil {
		return nil, err
	}
	return b.encode(value)
}

// Decode reads one JSON document, as encoding/json does; unknown fields are
// passed over. In an any an integer comes as an int32, an int64 or a *big.Int, the first that
// holds it, as it does in Java. It fails on NaN and the infinities, which Java writes as strings, and with a *ValueError
// for a T that can hold a struct with the option json=no.
func (j JSON[T]) Decode(data []byte) (T, error) {
	var value T
	if b, err := j.bound(); err == nil && b.annotated != "" {
		return value, &ValueError{NameTypedJSON, b.annotated}
	}
	if err := unmarshal(data, reflect.ValueOf(&value)); err != nil {
		return value, fmt.Errorf("codec: expected JSON for %T, got %.40q: %w", value, data, err)
	}
	return value, nil
}

// Jackson writes JSON with the type information of Redisson's JsonJacksonCodec:
// "@class" in objects and maps, ["java.lang.Long",42], ["java.util.ArrayList",[…]].
// That codec writes all fields, and besides what methods named isActive return: Class tells how to say so.
// Make one with NewJackson.
type Jackson[T any] struct{ bound[T] }

// NewJackson returns the codec for T. Structs without a java tag need a Class.
// It fails with a *TypeError. A UUID that is not in an any is read in either of its
// forms, and not written: see NewJacksonAt.
func NewJackson[T any](classes ...Class) (Jackson[T], error) {
	b, err := bind[T](NameJSON, jsonFormat{codec: NameJSON}, classes)
	return Jackson[T]{b}, err
}

// NewJacksonAt is NewJackson for values that a release of Redisson reads: from 4.2.0 on a
// field of class UUID, or a List<UUID>, is written with that class, and before without it.
// Neither side reads the form of the other. A text of more than 5,000,000 characters is refused from 3.21.1 on, whose
// Jackson does not read it, and one of more than 20,000,000 from 3.23.5 on; so are from 3.21.1 on numbers of more than
// 1,000 digits, keys of more than 50,000 characters, and what is nested deeper than 1,000. No release means all of them.
func NewJacksonAt[T any](r wire.Release, classes ...Class) (Jackson[T], error) {
	j, err := NewJackson[T](classes...)
	if err != nil {
		return j, err
	}
	j.registry.writesUUIDs, j.registry.release = true, r
	j.format = jsonFormat{codec: NameJSON, bareUUIDs: !r.AtLeast(wire.Release{Major: 4, Minor: 2}), release: r}
	return j, nil
}

// Encode fails with a *TypeError or *ValueError for what Java cannot hold.
func (j Jackson[T]) Encode(value T) ([]byte, error) { return j.encode(value) }

// Decode reads what Java wrote for T; fields unknown to a struct are passed
// over. It fails with a *FormatError, *ClassError or *ValueError. Into an
// interface, []byte comes back as a base64 string, as it does in Java.
func (j Jackson[T]) Decode(data []byte) (T, error) { return j.decode(data) }

const classKey = "@class"

// jsonFormat is NameJSON or NameJSON3 with type information, NameTypedJSON or
// NameTypedJSON3 without.
type jsonFormat struct {
	codec Name
	// bareUUIDs says that a UUID has no class where it is declared.
	bareUUIDs bool
	release   wire.Release // see registry
}

// typed reports whether a codec writes JSON with classes in it, jackson3 whether it does
// as Jackson 3 does.
func (n Name) typed() bool {
	return n == NameJSON || n == NameJSON3
}
func (n Name) jackson3() bool { return n == NameJSON3 || n == NameTypedJSON3 }

func (f jsonFormat) typed() bool { return f.codec.typed() }

func (f jsonFormat) encode(value any) ([]byte, error) {
	declared := objectType
	switch value.(type) {
	case int64:
		if f.codec.jackson3() {
			declared = longType
		}
	case []byte:
		declared = bytesType
	case float64:
		declared = doubleType
	}
	data := f.append(nil, value, declared)
	if wrong := limitsOf(f.codec, f.release).tooDeep(data); wrong != "" {
		return nil, &ValueError{f.codec, wrong}
	}
	return data, nil
}

var (
	objectType = &javaType{kind: kindAny}
	bytesType  = &javaType{kind: kindBytes}
	doubleType = &javaType{kind: kindDouble}
	longType   = &javaType{kind: kindLong}
)

// append writes a value of a declared type. Jackson leaves the class out where
// the declared one is final, but for Long, of which only Jackson 3 does so.
func (f jsonFormat) append(dst []byte, value any, declared *javaType) []byte {
	switch value := value.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return f.string(dst, value)
	case bool:
		return strconv.AppendBool(dst, value)
	case int32:
		return strconv.AppendInt(dst, int64(value), 10)
	case int64:
		number := strconv.FormatInt(value, 10)
		if declared.kind == kindLong && (!declared.boxed || f.codec.jackson3()) {
			return append(dst, number...)
		}
		return f.wrap(dst, javaLangLong, func(dst []byte) []byte { return append(dst, number...) })
	case float64:
		return f.double(dst, value, declared)
	case []byte:
		if declared.kind == kindBytes {
			return appendBase64(dst, value)
		}
		return f.wrap(dst, bytesName, func(dst []byte) []byte { return appendBase64(dst, value) })
	case []any:
		return f.wrap(dst, arrayListName, func(dst []byte) []byte { return f.list(dst, value, boxed(declared)) })
	case *elements:
		switch {
		case !value.isArray():
			return f.wrap(dst, value.class, func(dst []byte) []byte { return f.list(dst, value.all, boxed(declared)) })
		case !f.codec.wrapsArray(value.elem):
			return f.list(dst, value.all, value.elem)
		}
		return f.wrap(dst, value.class, func(dst []byte) []byte { return f.list(dst, value.all, value.elem) })
	case *dictionary:
		m := f.open(dst, value.class)
		for i, key := range value.keys {
			m.member(jsonKey(key), value.values[i], boxed(declared))
		}
		return m.close()
	case *object:
		name := value.class.name
		if declared.kind == kindObject && declared.isFinal() {
			name = ""
		}
		class, isDeclared := value.class, value.class.isDeclaredBy(declared)
		if isDeclared {
			class = declared.class // of several that stand for a generic class
		}
		o := f.open(dst, name)
		extras, _ := value.class.extras(f.codec)
		for i, field := range class.fields {
			for len(extras) > 0 && extras[0].name < field.name {
				o.extra(extras[0], value)
				extras = extras[1:]
			}
			o.member(field.name, value.fields[i], field.toJackson(isDeclared))
		}
		for _, e := range extras {
			o.extra(e, value)
		}
		return o.close()
	case json.RawMessage:
		return append(dst, value...)
	case Date, Decimal, *big.Int, UUID, int8, int16, float32, uint16, constant:
		return f.scalar(dst, value, declared)
	}
	panic(fmt.Sprintf("codec: %T is no value of Java", value))
}

func (f jsonFormat) list(dst []byte, all []any, declared *javaType) []byte {
	dst = append(dst, '[')
	for i, element := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.append(dst, element, declared)
	}
	return append(dst, ']')
}

// wrapsArray reports whether an array that is declared has its class: unless that of its
// elements is final.
func (n Name) wrapsArray(elem *javaType) bool {
	return !elem.isFinal() || elem.kind == kindLong && elem.boxed && !n.jackson3()
}

// jsonKeys are the kinds that Jackson writes as the name of a member, as their text.
var jsonKeys = map[kind]bool{kindString: true, kindInt: true, kindLong: true, kindShort: true, kindByte: true, kindUUID: true, kindEnum: true}

func jsonKey(key any) string {
	if c, is := key.(constant); is {
		return c.name
	}
	return fmt.Sprint(key)
}

func (f jsonFormat) wrap(dst []byte, class string, content func([]byte) []byte) []byte {
	if !f.typed() {
		return content(dst)
	}
	dst = append(appendJSONString(append(dst, '['), class), ',')
	return append(content(dst), ']')
}

// double writes NaN and the infinities as strings, where Object is declared with
// their class, as Jackson does since 2.10 (Redisson 3.13.0).
func (f jsonFormat) double(dst []byte, d float64, declared *javaType) []byte {
	text := javaDouble(d)
	if !math.IsNaN(d) && !math.IsInf(d, 0) {
		return append(dst, text...)
	}
	if declared.kind == kindDouble {
		return appendJSONString(dst, text)
	}
	return f.wrap(dst, javaLangDouble, func(dst []byte) []byte { return appendJSONString(dst, text) })
}

// boxed returns the type of the elements of a list or map, which in Java is
// never a primitive.
func boxed(j *javaType) *javaType {
	elem := *elementType(j)
	elem.boxed = true
	return &elem
}

type jsonObject struct {
	format jsonFormat
	dst    []byte
	some   bool
}

func (f jsonFormat) open(dst []byte, class string) *jsonObject {
	o := &jsonObject{format: f, dst: append(dst, '{')}
	if f.typed() && class != "" {
		o.member(classKey, class, objectType)
	}
	return o
}

// member leaves null out, but for TypedJsonJackson3Codec.
func (o *jsonObject) member(name string, value any, declared *javaType) {
	if value == nil && o.format.codec != NameTypedJSON3 {
		return
	}
	if o.some {
		o.dst = append(o.dst, ',')
	}
	o.some = true
	o.dst = append(o.format.string(o.dst, name), ':')
	o.dst = o.format.append(o.dst, value, declared)
}

func (o *jsonObject) close() []byte { return append(o.dst, '}') }

func appendBase64(dst, data []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), data), '"')
}

// string writes a text; Jackson 3 does not escape what is outside the BMP.
func (f jsonFormat) string(dst []byte, s string) []byte {
	return appendJSONText(dst, s, !f.codec.jackson3())
}

// appendJSONString writes a text as Jackson 2 does.
func appendJSONString(dst []byte, s string) []byte { return appendJSONText(dst, s, true) }

// appendJSONText escapes what Jackson escapes, in capital hex digits.
func appendJSONText(dst []byte, s string, pairs bool) []byte {
	const short = `btn fr` // of the characters 8 to 13
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r >= 8 && r <= 13 && r != 11:
			dst = append(dst, '\\', short[r-8])
		case r < 0x20:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		case r > 0xffff && pairs:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04X\u%04X`, high, low)
		default:
			dst = append(dst, string(r)...)
		}
	}
	return append(dst, '"')
}
