package codec

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// Kryo5 writes what Redisson's Kryo5Codec does: Kryo 5 with classes that are not
// registered and without references. Make one with NewKryo5.
type Kryo5[T any] struct{ bound[T] }

// NewKryo5 returns the codec for T. Structs without a java tag need a Class. It
// fails with a *TypeError.
func NewKryo5[T any](classes ...Class) (Kryo5[T], error) {
	b, err := bind[T](NameKryo5, kryoFormat{}, classes)
	return Kryo5[T]{b}, err
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
	kryoFloat   = 4
	kryoBoolean = 5
	kryoByte    = 6
	kryoChar    = 7
	kryoShort   = 8
	kryoLong    = 9
	kryoDouble  = 10
)

type kryoFormat struct{}

func (kryoFormat) encode(value any) ([]byte, error) {
	w := kryoWriter{names: map[string]int{}}
	w.classAndObject(value, nil)
	return w.buf, w.err
}

// kryoWriter writes one object graph. A class's name is written once in it, and
// an index before it each time.
type kryoWriter struct {
	buf   []byte
	names map[string]int
	// bound says that the reader knows the type arguments of the object that is written.
	bound bool
	scope kryoScope
	err   error
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
	case float32:
		return kryoFloat, ""
	case int8:
		return kryoByte, ""
	case uint16:
		return kryoChar, ""
	case int16:
		return kryoShort, ""
	case []byte:
		return kryoNamed, bytesName
	case *elements:
		return kryoNamed, value.class
	case constant:
		return kryoNamed, value.of.name
	case optional:
		return kryoNamed, optionalName
	case []any:
		return kryoNamed, arrayListName
	case *dictionary:
		return kryoNamed, value.class
	case *object:
		return kryoNamed, value.class.name
	}
	if s, is := scalarOf(value); is {
		return kryoNamed, s.class
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
		w.className(name)
	}
}

// classAndObject writes a value; j is what a field declares of it, or nil.
func (w *kryoWriter) classAndObject(value any, j *javaType) {
	w.class(value)
	if value != nil {
		w.object(value, j)
	}
}

func (w *kryoWriter) varint(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }

func (w *kryoWriter) long(n int64) { w.varlong(uint64(n<<1 ^ n>>63)) }

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

// className writes the name of a class, of any length in the form of short texts.
func (w *kryoWriter) className(name string) {
	if len(name) > maxShortText && isASCII(name) {
		w.shortText(name)
		return
	}
	w.text(name)
}

// maxShortText is how long a text is at most of which the last byte tells the end.
const maxShortText = 32

func (w *kryoWriter) shortText(s string) {
	w.buf = append(w.buf, s...)
	w.buf[len(w.buf)-1] |= 0x80
}

func (w *kryoWriter) text(s string) {
	n := utf16Len(s)
	ascii := n == len(s)
	if ascii && n >= 2 && n <= maxShortText {
		w.shortText(s)
		return
	}
	w.flagged(true, n+1)
	w.buf = appendUnits(w.buf, s, false)
}

func (w *kryoWriter) bool(b bool) { w.buf = append(w.buf, boolByte(b)) }

// object writes a value without its class; j is what a field declares of its
// elements.
func (w *kryoWriter) object(value any, j *javaType) {
	switch value := value.(type) {
	case string:
		w.text(value)
	case int32:
		w.zigzag(value)
	case int64:
		w.long(value)
	case bool:
		w.bool(value)
	case []byte:
		w.varint(uint64(len(value)) + 1)
		w.buf = append(w.buf, value...)
	case []any:
		w.list(value, formPlain, j)
	case *elements:
		w.elements(value, j)
	case *dictionary:
		w.mapping(value, j)
	case constant:
		w.varint(uint64(value.ordinal()) + 1)
	case optional:
		w.classAndObject(value.value, nil)
	case *object:
		w.fields(value, j)
	default:
		w.scalar(value)
	}
}

func (w *kryoWriter) fields(o *object, j *javaType) {
	outer, class, bound := w.bound, o.class, o.class.isBoundBy(j)
	if o.class.isDeclaredBy(j) {
		class = j.class // of several that stand for a generic class
	}
	if wrong := cmp.Or(class.nests(NameKryo5, bound), w.scope.misleads(class, bound)); wrong != "" && w.err == nil {
		w.err = &ValueError{NameKryo5, wrong}
	}
	defer w.scope.enter(class, bound)()
	for i, f := range class.fields {
		w.bound = f.binding.isKnown(bound)
		if class.record {
			w.component(o.fields[i], f.typ)
		} else {
			w.field(o.fields[i], f.typ)
		}
	}
	w.bound = outer
}

// isDeclaredBy reports whether a declaration names the class, so that both sides know
// its type arguments.
func (c *class) isDeclaredBy(j *javaType) bool {
	return j != nil && j.kind == kindObject && j.class.name == c.name
}

// isBoundBy reports whether a declaration tells Kryo5 the type arguments of an object of the class. It asks for those
// of no record.
func (c *class) isBoundBy(j *javaType) bool { return c.isDeclaredBy(j) && !c.record }

// arguments returns what tells the type arguments of an object that is declared as j, or nil: of what a type parameter
// stands for Kryo5 knows no more than the class.
func (j *javaType) arguments() *javaType {
	if j.param {
		return nil
	}
	return j
}

// known returns what is known of a declared type where the type arguments of an object
// are, or are not: of a type parameter whether its argument is a final class, and nothing
// of what that is of.
func (j *javaType) known(bound bool) *javaType {
	if j != nil && j.param && (!bound || !j.isFinal()) {
		return nil
	}
	return j
}

// orNull writes a value whose class the reader knows. Some serializers have a
// null of their own, the others a byte before the value.
func (w *kryoWriter) orNull(value any, k kind, j *javaType) {
	switch {
	case value == nil && (k == kindString || k == kindCurrency):
		w.buf = append(w.buf, 0x80)
		return
	case value == nil:
		w.buf = append(w.buf, kryoNull)
		return
	case !acceptsNull(k):
		w.bool(true)
	}
	w.object(value, j)
}

func (w *kryoWriter) field(value any, j *javaType) {
	j = j.known(w.bound)
	switch {
	case j == nil:
		w.classAndObject(value, nil)
	case j.isPrimitive():
		w.object(value, nil)
	case j.isFinal():
		w.orNull(value, j.kind, j.arguments())
	default:
		w.classAndObject(value, j)
	}
}

// component writes a component of a record, of whose type arguments Kryo5 knows no more than in an array, nor what a
// type parameter stands for.
func (w *kryoWriter) component(value any, j *javaType) {
	if j.param {
		w.classAndObject(value, nil)
		return
	}
	w.inArray(value, j)
}

// inArray writes an element of an array, which is declared as j: Kryo5 knows none of its type arguments.
func (w *kryoWriter) inArray(value any, j *javaType) {
	switch {
	case j.isPrimitive():
		w.object(value, nil)
	case j.isFinal():
		w.orNull(value, j.kind, nil)
	default:
		w.classAndObject(value, nil)
	}
}
