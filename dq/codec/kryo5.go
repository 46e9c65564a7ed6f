package codec

import (
	"encoding/binary"
	"fmt"
)

// Kryo5 writes what Redisson's Kryo5Codec does: Kryo 5 with classes that are not
// registered and without references. Make one with NewKryo5.
type Kryo5[T any] struct{ bound[T] }

// NewKryo5 returns the codec for T. Structs without a java tag need a Class. It
// fails with a *TypeError; one of its own reasons is a struct field that is a
// list of lists or maps, or a map of them, where the bytes depend on more of the
// Java declaration than a Go type tells.
func NewKryo5[T any](classes ...Class) (Kryo5[T], error) {
	b, err := bind[T](NameKryo5, kryoFormat{}, classes)
	if err != nil {
		return Kryo5[T]{}, err
	}
	return Kryo5[T]{b}, checkGenerics(b.registry)
}

// checkGenerics refuses fields with generics inside generics.
func checkGenerics(g *registry) error {
	for _, c := range g.byName {
		for _, f := range c.fields {
			if e := f.typ.elem; e != nil && (e.kind == kindList || e.kind == kindMap) {
				return &TypeError{NameKryo5, c.goType, fmt.Sprintf("field %s: lists or maps inside a list or map; declare the elements any", f.name)}
			}
		}
	}
	return nil
}

// Encode fails with a *TypeError or *ValueError for what Java cannot hold.
func (k Kryo5[T]) Encode(value T) ([]byte, error) { return k.encode(value) }

// Decode fails with a *FormatError, *ClassError or *ValueError.
func (k Kryo5[T]) Decode(data []byte) (T, error) { return k.decode(data) }

// Class ids on the wire: 0 is null, 1 a class by name, n+2 the registered class n.
const (
	kryoNull    = 0
	kryoNamed   = 1
	kryoInteger = 2
	kryoString  = 3
	kryoBoolean = 5
	kryoLong    = 9
	kryoDouble  = 10
)

const (
	arrayListName = "java.util.ArrayList"
	hashMapName   = "java.util.HashMap"
	bytesName     = "[B"
)

type kryoFormat struct{}

func (kryoFormat) encode(value any) ([]byte, error) {
	w := kryoWriter{names: map[string]int{}}
	w.classAndObject(value)
	return w.buf, nil
}

// kryoWriter writes one object graph. A class's name is written once in it, and
// an index before it each time.
type kryoWriter struct {
	buf   []byte
	names map[string]int
}

func kryoClass(value any) (id byte, name string) {
	switch value := value.(type) {
	case nil:
		return kryoNull, ""
	case int32:
		return kryoInteger, ""
	case string:
		return kryoString, ""
	case bool:
		return kryoBoolean, ""
	case int64:
		return kryoLong, ""
	case float64:
		return kryoDouble, ""
	case []byte:
		return kryoNamed, bytesName
	case []any:
		return kryoNamed, arrayListName
	case map[string]any:
		return kryoNamed, hashMapName
	case *object:
		return kryoNamed, value.class.name
	}
	panic(fmt.Sprintf("codec: %T is no value of Java", value))
}

func (w *kryoWriter) class(value any) {
	id, name := kryoClass(value)
	w.buf = append(w.buf, id)
	if id != kryoNamed {
		return
	}
	index, known := w.names[name]
	if !known {
		index = len(w.names)
		w.names[name] = index
	}
	w.varint(uint64(index))
	if !known {
		w.text(name)
	}
}

func (w *kryoWriter) classAndObject(value any) {
	w.class(value)
	if value != nil {
		w.object(value)
	}
}

func (w *kryoWriter) varint(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

// long writes 9 bytes at most: the ninth has eight bits.
func (w *kryoWriter) long(n int64) {
	u := uint64(n<<1 ^ n>>63)
	for range 8 {
		if u < 0x80 {
			break
		}
		w.buf = append(w.buf, byte(u)|0x80)
		u >>= 7
	}
	w.buf = append(w.buf, byte(u))
}

// flagged writes n with a flag in the first byte, which leaves 6 bits there.
func (w *kryoWriter) flagged(flag bool, n int) {
	first := byte(n) & 0x3f
	if flag {
		first |= 0x80
	}
	if n>>6 == 0 {
		w.buf = append(w.buf, first)
		return
	}
	w.buf = append(w.buf, first|0x40)
	w.varint(uint64(n >> 6))
}

func (w *kryoWriter) text(s string) {
	n := utf16Len(s)
	ascii := n == len(s)
	if ascii && n >= 2 && n <= 32 {
		w.buf = append(w.buf, s...)
		w.buf[len(w.buf)-1] |= 0x80
		return
	}
	w.flagged(true, n+1)
	w.buf = appendUnits(w.buf, s, false)
}

func (w *kryoWriter) bool(b bool) { w.buf = append(w.buf, boolByte(b)) }

// object writes a value without its class.
func (w *kryoWriter) object(value any) {
	switch value := value.(type) {
	case string:
		w.text(value)
	case int32:
		w.varint(uint64(uint32(value<<1 ^ value>>31)))
	case int64:
		w.long(value)
	case bool:
		w.bool(value)
	case float64:
		w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(javaBits(value)))
	case []byte:
		w.varint(uint64(len(value)) + 1)
		w.buf = append(w.buf, value...)
	case []any:
		w.list(value)
	case map[string]any:
		w.mapping(value, objectType)
	case *object:
		for i, f := range value.class.fields {
			w.field(value.fields[i], f.typ)
		}
	}
}

// orNull writes a value whose class the reader knows. Some serializers have a
// null of their own, the others a byte before the value.
func (w *kryoWriter) orNull(value any, k kind) {
	switch k {
	case kindString:
		if value == nil {
			w.buf = append(w.buf, 0x80)
			return
		}
	case kindBytes, kindList, kindMap:
		if value == nil {
			w.buf = append(w.buf, 0)
			return
		}
	default:
		w.bool(value != nil)
		if value == nil {
			return
		}
	}
	w.object(value)
}

// isFinal reports whether the class of a declared type is final, so that the
// reader knows it.
func (j *javaType) isFinal() bool {
	switch j.kind {
	case kindAny, kindList, kindMap, kindObject:
		return false
	}
	return true
}

func (w *kryoWriter) field(value any, j *javaType) {
	switch {
	case j.isFinal() && !j.boxed && j.kind != kindString && j.kind != kindBytes:
		w.object(value)
	case j.isFinal():
		w.orNull(value, j.kind)
	case value == nil || j.kind == kindAny || j.kind == kindObject:
		w.classAndObject(value)
	case j.kind == kindList && j.elem.isFinal():
		w.class(value)
		w.listOf(value.([]any), j.elem)
	case j.kind == kindMap:
		w.class(value)
		w.mapping(value.(map[string]any), j.elem)
	default:
		w.classAndObject(value)
	}
}

// listOf writes a list whose element class the field's generics tell.
func (w *kryoWriter) listOf(list []any, elem *javaType) {
	hasNull := hasNil(list)
	w.flagged(hasNull, len(list)+1)
	for _, element := range list {
		if hasNull {
			w.orNull(element, elem.kind)
		} else {
			w.object(element)
		}
	}
}

// list writes a list of any elements: the class once if they have only one.
func (w *kryoWriter) list(list []any) {
	if len(list) == 0 {
		w.buf = append(w.buf, 1)
		return
	}
	sample, same := sharedClass(list)
	w.flagged(same, len(list)+1)
	if !same {
		for _, element := range list {
			w.classAndObject(element)
		}
		return
	}
	w.class(sample)
	if sample == nil {
		return
	}
	hasNull := hasNil(list)
	w.bool(hasNull)
	for _, element := range list {
		if hasNull {
			w.orNull(element, kindOf(sample))
		} else {
			w.object(element)
		}
	}
}

// sharedClass returns the first element that is not null, and whether all others
// are of its class or null.
func sharedClass(list []any) (sample any, same bool) {
	var class string
	var id byte
	for _, element := range list {
		if element == nil {
			continue
		}
		nextID, next := kryoClass(element)
		if sample != nil && (next != class || nextID != id) {
			return nil, false
		}
		sample, id, class = element, nextID, next
	}
	return sample, true
}

func hasNil(list []any) bool {
	for _, element := range list {
		if element == nil {
			return true
		}
	}
	return false
}

func kindOf(value any) kind {
	switch value.(type) {
	case string:
		return kindString
	case int32:
		return kindInt
	case int64:
		return kindLong
	case bool:
		return kindBool
	case float64:
		return kindDouble
	case []byte:
		return kindBytes
	case []any:
		return kindList
	case map[string]any:
		return kindMap
	}
	return kindObject
}

func (w *kryoWriter) mapping(m map[string]any, elem *javaType) {
	w.varint(uint64(len(m)) + 1)
	// Where the field's generics tell a key class, String, they tell the value's.
	generic := elem != objectType
	for _, key := range hashMapKeys(m) {
		if generic {
			w.text(key)
		} else {
			w.classAndObject(key)
		}
		if generic && elem.isFinal() {
			w.orNull(m[key], elem.kind)
		} else {
			w.classAndObject(m[key])
		}
	}
}
