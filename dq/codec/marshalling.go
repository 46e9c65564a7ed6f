package codec

import (
	"encoding/binary"
	"reflect"
	"slices"
)

// Marshalling writes what Redisson's MarshallingCodec does: the "river" protocol
// of JBoss Marshalling, version 4. Make one with NewMarshalling.
type Marshalling[T any] struct{ bound[T] }

// NewMarshalling returns the codec for T. Structs without a java tag need a
// Class, and their SerialVersionUID to be written. It fails with a *TypeError.
func NewMarshalling[T any](classes ...Class) (Marshalling[T], error) {
	b, err := bind[T](NameMarshalling, riverFormat{}, classes)
	return Marshalling[T]{b}, err
}

// Encode fails with a *TypeError or *ValueError for what Java cannot hold, for a
// class whose SerialVersionUID is not known, and for a struct that embeds none for
// a super class that has fields; Class tells when that is known.
func (m Marshalling[T]) Encode(value T) ([]byte, error) { return m.encode(value) }

// Decode takes the fields of each class of an object by name, into the struct
// embedded for it or else into the one that lacks it; fields unknown to that are
// passed over. It fails with a *FormatError, *ClassError or *ValueError.
func (m Marshalling[T]) Decode(data []byte) (T, error) { return m.decode(data) }

// riverFormat has every Locale be one of those that are equal if oneLocale, as those are that Java reads with
// Serialization.
type riverFormat struct{ oneLocale bool }

func (f riverFormat) encode(value any) ([]byte, error) {
	w := riverWriter{riverFormat: f, names: map[string]int{}, classes: map[string]int{}, known: map[string]int{}, ones: map[*instance]int{}}
	w.byte(riverVersion)
	err := w.value(value)
	return w.buf, err
}

// riverWriter writes one stream. Instances and classes are counted; names of
// classes and fields, which Java holds once each, and classes are referred to by
// how long ago they came.
type riverWriter struct {
	riverFormat

	buf       []byte
	instances int
	names     map[string]int
	classes   map[string]int
	known     map[string]int // instances that there is one of
	ones      map[*instance]int
	naming    *instance // which the next instance is; nil for none
}

func (w *riverWriter) byte(b ...byte) { w.buf = append(w.buf, b...) }
func (w *riverWriter) int32(n int32)  { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(n)) }
func (w *riverWriter) int64(n int64)  { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(n)) }

// sized writes code, code+1 or code+2 and a length that is not 0; the greatest
// length of a form is written as 0 there.
func (w *riverWriter) sized(code byte, n int) {
	switch {
	case n <= riverSmall:
		w.byte(code, byte(n))
	case n <= riverMedium:
		w.byte(code + 1)
		w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(n))
	default:
		w.byte(code + 2)
		w.int32(int32(n))
	}
}

// assign gives the next number to what is written.
func (w *riverWriter) assign() {
	if w.naming != nil {
		w.ones[w.naming] = w.instances
		w.naming = nil
	}
	w.instances++
}

// one writes an instance, or a reference to it.
func (w *riverWriter) one(one *instance) error {
	if number, known := w.ones[one]; known {
		w.repeat(number-w.instances, number, riverRepeatNear, riverRepeatFar)
		return nil
	}
	w.naming = instanceOf(one)
	err := w.value(one.value)
	w.naming = nil
	return err
}

func (w *riverWriter) text(s string) {
	if s == "" {
		w.byte(riverStringEmpty)
		return
	}
	w.sized(riverString, utf16Len(s))
	w.buf = appendUnits(w.buf, s, true)
	w.assign()
}

// name writes the name of a class or field.
func (w *riverWriter) name(s string) {
	first, known := w.names[s]
	if !known {
		w.names[s] = w.instances
		w.text(s)
		return
	}
	w.repeat(first-w.instances, first, riverRepeatNear, riverRepeatFar)
}

// plainText writes a text that is no instance.
func (w *riverWriter) plainText(s string) {
	w.int32(int32(utf16Len(s)))
	w.buf = appendUnits(w.buf, s, true)
}

// repeat writes a reference: back in 8 or 16 bits, or absolute in 32.
func (w *riverWriter) repeat(back, absolute int, near, far byte) {
	switch {
	case back >= -riverNearLimit:
		w.byte(near, byte(back))
	case back >= -riverNearishLimit:
		w.byte(near + 1)
		w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(back))
	default:
		w.byte(far)
		w.int32(int32(absolute))
	}
}

func (w *riverWriter) value(value any) error {
	switch value := value.(type) {
	case nil:
		w.byte(riverNull)
	case string:
		w.text(value)
	case int32, int64, int8, int16, uint16, float32, float64:
		w.byte(riverBoxes[reflect.TypeOf(value)])
		w.buf = appendPrimitive(w.buf, value)
	case bool:
		if value {
			w.byte(riverTrue)
		} else {
			w.byte(riverFalse)
		}
	case []byte:
		w.bytes(value)
	case []any:
		return w.list(riverArrayList, value)
	case *dictionary:
		if code, has := riverWrappers[value.class]; has {
			return w.wrapper(code, slices.Concat(value.keys, value.values))
		}
		return w.record(jdkRecord(value), "")
	case *object:
		return w.object(value)
	case constant:
		w.constant(value)
	case *elements:
		return w.elements(value)
	case shared:
		return w.shared(value)
	case *instance:
		return w.one(value)
	case ZonedDateTime:
		return w.zoned(value)
	case Currency:
		return w.shared(value.instance())
	case Locale:
		if w.oneLocale {
			return w.shared(value.instance())
		}
		return w.record(jdkRecord(value), "")
	default:
		return w.record(jdkRecord(value), "")
	}
	return nil
}

func (w *riverWriter) bytes(data []byte) {
	if len(data) == 0 {
		w.byte(riverArrayEmpty, riverPrimByte)
	} else {
		w.sized(riverArray, len(data))
		w.byte(riverPrimByte)
	}
	w.buf = append(w.buf, data...)
	w.assign()
}

func (w *riverWriter) elements(e *elements) error {
	code, isWrapper := riverWrappers[e.class]
	switch {
	case e.isArray():
		return w.array(e)
	case e.class == linkedListName:
		return w.list(riverLinkedList, e.all)
	case e.isOtherList():
		return w.list(riverArrayList, e.all)
	case isWrapper:
		return w.wrapper(code, e.all)
	}
	return w.record(jdkRecord(e), "")
}

// wrapper writes a collection of Collections that holds nothing, or one.
func (w *riverWriter) wrapper(code byte, all []any) error {
	w.byte(code)
	if len(all) > 0 {
		w.assign()
	}
	for _, value := range all {
		if err := w.value(value); err != nil {
			return err
		}
	}
	return nil
}

func (w *riverWriter) list(code byte, list []any) error {
	if len(list) == 0 {
		w.byte(riverCollEmpty)
	} else {
		w.sized(riverColl, len(list))
	}
	w.byte(code)
	w.assign()
	for _, element := range list {
		if err := w.value(element); err != nil {
			return err
		}
	}
	return nil
}

// riverClass is what a class description holds. super is nil for
// java.lang.Object.
type riverClass struct {
	code   byte
	name   string
	uid    int64
	fields []riverField
	super  *riverClass
}

// riverField is a field of a class description: its name and the code of its
// type, which for all classes is that of java.lang.Object.
type riverField struct {
	name string
	code byte
}

func (w *riverWriter) class(c *riverClass) {
	if c == nil {
		w.byte(riverObjectClass)
		return
	}
	defer func(one *instance) { w.naming = one }(w.naming)
	w.naming = nil // which is of the object of the class
	if first, known := w.classes[c.name]; known {
		w.repeat(first-len(w.classes), first, riverClassNear, riverClassFar)
		return
	}
	w.classes[c.name] = len(w.classes)
	w.byte(c.code)
	switch c.code {
	case riverEnumClass, riverPlainClass:
		w.plainText(c.name)
		return
	case riverExternalizable:
		w.plainText(c.name)
		w.int64(c.uid)
		return
	}
	w.name(c.name)
	w.int64(c.uid)
	w.int32(int32(len(c.fields)))
	for _, f := range c.fields {
		w.name(f.name)
		w.byte(f.code, riverSharedFollows)
	}
	w.class(c.super)
}

func (w *riverWriter) object(o *object) error {
	c, order, err := riverClassFor(o)
	if err != nil {
		return err
	}
	w.byte(riverNew)
	w.class(c)
	w.assign()
	for _, i := range order {
		if err := w.field(o.fields[i], o.class.fields[i].typ.isPrimitive()); err != nil {
			return err
		}
	}
	return nil
}

// riverClassFor returns how the class of an object is described, and the numbers of its fields in
// the order of the stream.
func riverClassFor(o *object) (c *riverClass, order []int, err error) {
	for _, level := range o.levels() {
		if level.uid == nil {
			return nil, nil, errNoUID(NameMarshalling, level)
		}
		c = &riverClass{code: riverSerializable, name: level.name, uid: *level.uid, super: c}
		order = append(order, c.describe(level, o.class.fields)...)
	}
	return c, order, nil
}

// describe adds the fields of level, which are among fields, and returns their
// numbers.
func (c *riverClass) describe(level *class, fields []field) []int {
	var order []int
	for i, f := range fields {
		if f.of != level {
			continue
		}
		code := byte(riverObjectClass)
		if f.typ.isPrimitive() {
			code = riverPrimitives[f.typ.signature()]
		}
		c.fields = append(c.fields, riverField{f.name, code})
		order = append(order, i)
	}
	return order
}

func (w *riverWriter) field(value any, isPrimitive bool) error {
	if isPrimitive {
		w.buf = appendPrimitive(w.buf, value)
		return nil
	}
	return w.value(value)
}
