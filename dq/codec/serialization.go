package codec

import (
	"encoding/binary"
	"fmt"
)

// Serialization writes what Redisson's SerializationCodec does: the stream
// protocol of java.io.ObjectOutputStream. Make one with NewSerialization.
type Serialization[T any] struct{ bound[T] }

// NewSerialization returns the codec for T. Structs without a java tag need a
// Class, and their SerialVersionUID to be written. Slices are taken for fields
// declared java.util.List, maps for java.util.Map, any for java.lang.Object. It
// fails with a *TypeError.
func NewSerialization[T any](classes ...Class) (Serialization[T], error) {
	b, err := bind[T](NameSerialization, serialFormat{}, classes)
	return Serialization[T]{b}, err
}

// Encode fails with a *TypeError or *ValueError for what Java cannot hold, for a
// class whose SerialVersionUID is not known, and for a struct that embeds none for
// a super class that has fields; Class tells when that is known.
func (s Serialization[T]) Encode(value T) ([]byte, error) { return s.encode(value) }

// Decode takes the fields of each class of an object by name, into the struct
// embedded for it or else into the one that lacks it; fields unknown to that are
// passed over. It fails with a *FormatError, *ClassError or *ValueError.
func (s Serialization[T]) Decode(data []byte) (T, error) { return s.decode(data) }

// Type codes and flags of the object serialization stream protocol, version 5.
const (
	tcNull           = 0x70
	tcReference      = 0x71
	tcClassDesc      = 0x72
	tcObject         = 0x73
	tcString         = 0x74
	tcArray          = 0x75
	tcClass          = 0x76
	tcBlockData      = 0x77
	tcEndBlockData   = 0x78
	tcBlockDataLong  = 0x7a
	tcLongString     = 0x7c
	tcProxyClassDesc = 0x7d
	tcEnum           = 0x7e
	scWriteMethod    = 0x01
	scSerializable   = 0x02
	scExternalizable = 0x04
	scBlockData      = 0x08
	scEnum           = 0x10
	baseHandle       = 0x7e0000
	streamMagic      = "\xac\xed\x00\x05"
	numberUID        = -0x79_53_6a_e2_f4_6b_1f_75
	arrayListUID     = 0x7881d21d99c7619d
	hashMapUID       = 0x0507dac1c31660d1
	hashMapLoad      = 0x3f400000 // 0.75f
	booleanUID       = -0x32_df_8d_7f_2a_63_05_12
	integerUID       = 0x12e2a0a4f7818738
	longUID          = 0x3b8be490cc8f23df
	doubleUID        = -0x7f_4c_3d_b5_d6_94_04_fc
	byteArrayUID     = -0x53_0c_e8_07_f9_f7_ab_20
)

// serialFormat has every empty text be the same one if oneEmpty, and every Locale one of those that are
// equal if oneLocale, as those are that Java reads: the latter with Marshalling.
type serialFormat struct{ oneEmpty, oneLocale bool }

func (f serialFormat) encode(value any) ([]byte, error) {
	w := serialWriter{serialFormat: f, buf: []byte(streamMagic), handles: map[string]int32{}, ones: map[*instance]int32{}}
	err := w.value(value)
	return w.buf, err
}

// serialWriter writes one stream. Class descriptions and the texts of field
// types are written once and then referred to by their handle.
type serialWriter struct {
	serialFormat

	buf     []byte
	handles map[string]int32
	next    int32
	ones    map[*instance]int32
	naming  *instance // which gets the next handle that is not of a class; nil for none
}

func (w *serialWriter) byte(b ...byte) { w.buf = append(w.buf, b...) }
func (w *serialWriter) int32(n int32)  { w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(n)) }
func (w *serialWriter) int64(n int64)  { w.buf = binary.BigEndian.AppendUint64(w.buf, uint64(n)) }

// utf writes a text with its length in bytes before it, in 16 bits.
func (w *serialWriter) utf(s string) {
	text := appendUnits(nil, s, true)
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(text)))
	w.buf = append(w.buf, text...)
}

// refer writes a reference to what has that key, if it was written before;
// otherwise it gives it the next handle.
func (w *serialWriter) refer(key string) bool {
	if handle, ok := w.handles[key]; ok {
		if w.naming != nil {
			w.ones[w.naming] = handle
		}
		w.byte(tcReference)
		w.int32(baseHandle + handle)
		return true
	}
	return false
}

func (w *serialWriter) assign(key string) {
	if key != "" {
		w.handles[key] = w.next
	}
	if w.naming != nil {
		w.ones[w.naming] = w.next
		w.naming = nil
	}
	w.next++
}

// serialClass is what a class description holds.
type serialClass struct {
	name   string
	uid    int64
	flags  byte
	fields []serialField
	super  *serialClass
}

type serialField struct {
	code      byte
	name      string
	signature string // of objects and arrays
}

var (
	serialBytes     = &serialClass{name: bytesName, uid: byteArrayUID, flags: scSerializable}
	serialArrayList = &serialClass{arrayListName, arrayListUID, scSerializable | scWriteMethod, []serialField{{'I', "size", ""}}, nil}
)

func (w *serialWriter) class(c *serialClass) {
	if c == nil {
		w.byte(tcNull)
		return
	}
	defer func(one *instance) { w.naming = one }(w.naming)
	w.naming = nil // which is of the object of the class
	if w.refer("class " + c.name) {
		return
	}
	w.byte(tcClassDesc)
	w.utf(c.name)
	w.int64(c.uid)
	w.assign("class " + c.name)
	w.byte(c.flags)
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(c.fields)))
	for _, f := range c.fields {
		w.byte(f.code)
		w.utf(f.name)
		if f.signature != "" && !w.refer("type "+f.signature) {
			w.byte(tcString)
			w.utf(f.signature)
			w.assign("type " + f.signature)
		}
	}
	w.byte(tcEndBlockData)
	w.class(c.super)
}

// open starts an object or array.
func (w *serialWriter) open(code byte, c *serialClass, key string) {
	w.byte(code)
	w.class(c)
	w.assign(key)
}

// one writes an instance, or a reference to it.
func (w *serialWriter) one(one *instance) error {
	if handle, known := w.ones[one]; known {
		w.byte(tcReference)
		w.int32(baseHandle + handle)
		return nil
	}
	w.naming = instanceOf(one)
	err := w.value(one.value)
	w.naming = nil
	return err
}

// isCached tells the integers that Java boxes into the same objects each time.
func isCached(n int64) bool { return n >= -128 && n <= 127 }

// box starts a boxed value and reports true, unless it is a cached one that was
// written before: then a reference is all.
func (w *serialWriter) box(c *serialClass, n int64, cached bool) bool {
	var key string
	if cached {
		key = fmt.Sprintf("%s %d", c.name, n)
		if w.refer(key) {
			return false
		}
	}
	w.open(tcObject, c, key)
	return true
}

func (w *serialWriter) value(value any) error {
	switch value := value.(type) {
	case nil:
		w.byte(tcNull)
	case string:
		if value == "" && w.oneEmpty {
			return w.shared(interned(""))
		}
		w.text(value, "")
	case shared:
		return w.shared(value)
	case *instance:
		return w.one(value)
	case Currency:
		return w.shared(value.instance())
	case Locale:
		if w.oneLocale {
			return w.shared(value.instance())
		}
		return w.record(jdkRecord(value), "")
	case int32, int64, bool, int8, int16, uint16, float32, float64:
		w.boxed(value)
	case []byte:
		w.open(tcArray, serialBytes, "")
		w.int32(int32(len(value)))
		w.buf = append(w.buf, value...)
	case []any:
		return w.list(value)
	case *dictionary:
		if value.class == emptyMapName {
			return w.shared(shared{value.class, value})
		}
		return w.record(jdkRecord(value), "")
	case *object:
		return w.object(value)
	case constant:
		w.constant(value)
	case *elements:
		switch {
		case value.isArray():
			return w.array(value)
		case value.isOtherList():
			return w.list(value.all)
		case kryoTypes[value.class].form == formEmpty:
			return w.shared(shared{value.class, value})
		}
		return w.record(jdkRecord(value), "")
	default:
		return w.record(jdkRecord(value), "")
	}
	return nil
}

// text writes a string; key is empty, or what its handle is to be found by.
func (w *serialWriter) text(s, key string) {
	text := appendUnits(nil, s, true)
	if len(text) > 0xffff {
		w.byte(tcLongString)
		w.int64(int64(len(text)))
	} else {
		w.byte(tcString)
		w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(text)))
	}
	w.buf = append(w.buf, text...)
	w.assign(key)
}

func (w *serialWriter) list(list []any) error {
	w.open(tcObject, serialArrayList, "")
	w.int32(int32(len(list)))
	w.byte(tcBlockData, 4)
	w.int32(int32(len(list)))
	for _, element := range list {
		if err := w.value(element); err != nil {
			return err
		}
	}
	w.byte(tcEndBlockData)
	return nil
}

// hashMapState returns what a HashMap writes of its table, which it makes with
// the first entry.
func hashMapState(n int) (capacity, threshold int32) {
	capacity = int32(hashMapCapacity(n))
	if n > 0 {
		threshold = capacity / 4 * 3
	}
	return capacity, threshold
}

func (w *serialWriter) object(o *object) error {
	var c *serialClass
	var order []int
	for _, level := range o.levels() {
		if level.uid == nil {
			return errNoUID(NameSerialization, level)
		}
		c = &serialClass{name: level.name, uid: *level.uid, flags: scSerializable, super: c}
		order = append(order, c.describe(level, o.class.fields)...)
	}
	w.open(tcObject, c, "")
	for _, i := range order {
		if err := w.member(o.fields[i], o.class.fields[i].typ.isPrimitive()); err != nil {
			return err
		}
	}
	return nil
}

// describe adds the fields of level, which are among fields, and returns their
// numbers in the order of the stream: primitives first, each part by name.
func (c *serialClass) describe(level *class, fields []field) []int {
	var order []int
	for _, primitives := range []bool{true, false} {
		for i, f := range fields {
			if f.of != level || f.typ.isPrimitive() != primitives {
				continue
			}
			signature := f.typ.signature()
			sf := serialField{code: signature[0], name: f.name}
			if !primitives {
				sf.signature = signature
			}
			c.fields = append(c.fields, sf)
			order = append(order, i)
		}
	}
	return order
}

func errNoUID(codec Name, c *class) error {
	return &TypeError{codec, c.goType, fmt.Sprintf("the serialVersionUID of %s is not known; put `,serialVersionUID=<integer>` into its java tag or Class", c.name)}
}
