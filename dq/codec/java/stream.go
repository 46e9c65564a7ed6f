package java

import (
	"encoding/binary"
	"math/big"
	"strings"
	"time"
)

// MarshallingCodec and SerializationCodec write streams of objects. A stream describes each class once, with the names of its
// fields, so that a value can be read without its classes, into a tree of
//
//	nil, bool, int8 … float64, string, []byte, *big.Int, the types of this package
//	*record, list, dictionary, constant
//
// The other readers make such trees too.

// Marshalling is Redisson's MarshallingCodec: the river protocol of JBoss Marshalling. It writes plain values, of classes with a
// serialVersionUID. It reads the fields of an object by name; an any holds an Object for a class without a Go type.
type Marshalling[T any] struct{ bound[T] }

// NewMarshalling returns the codec for T. It fails with a *TypeError.
func NewMarshalling[T any](classes ...Class) (Marshalling[T], error) {
	b, err := bind[T]("marshalling", streamCodec{false, newRiverWriter, readMarshalling}, classes)
	return Marshalling[T]{b}, err
}

// Serialization is Redisson's SerializationCodec: the protocol of java.io.ObjectOutputStream. It reads and writes as Marshalling does.
type Serialization[T any] struct{ bound[T] }

// NewSerialization returns the codec for T. It fails with a *TypeError.
func NewSerialization[T any](classes ...Class) (Serialization[T], error) {
	b, err := bind[T]("serialization", streamCodec{true, newSerialWriter, readSerialization}, classes)
	return Serialization[T]{b}, err
}

type streamCodec struct {
	isSerial bool // the protocol has records, and primitive fields before the others
	write    func(*streamWriter) streamForm
	read     func([]byte) (any, error)
}

func (s streamCodec) decode(_ *registry, data []byte, _ *typ) (any, error) { return s.read(data) }

// record is an object.
type record struct {
	class  string
	fields []member // of super classes first
	data   []any    // the output of a writeObject or writeExternal method: bytes and values
	typ    *typ     // of the reader, if the bytes do not name fields
}

// member is a field of a record, with the class that declares it.
type member struct {
	class, name string
	value       any
}

// field returns the value of a field. The field of a subclass wins over one of the same name in its super class.
func (o *record) field(name string) any {
	for i := len(o.fields) - 1; i >= 0; i-- {
		if o.fields[i].name == name {
			return o.fields[i].value
		}
	}
	return nil
}

type (
	// list is a list, a set, or an array of any type except byte.
	list struct {
		class string
		all   []any
	}
	// dictionary is a map: keys, each before its value.
	dictionary list
	constant   struct{ class, name string }
)

func (l list) isArray() bool { return strings.HasPrefix(l.class, "[") }

// streamClass is the description of a class.
type streamClass struct {
	name   string
	flags  byte
	fields []streamField
	super  *streamClass
}

type streamField struct {
	code byte // in the notation of class files: I, J, L
	name string
}

const (
	hasWriteMethod   = 0x01
	isSerializable   = 0x02
	isExternalizable = 0x04
	isEnum           = 0x10
)

// stream is the common part of both readers.
type stream struct {
	reader
	protocol
	instances []any // the targets of references
}

type protocol interface {
	value() any
	// blockSize reads the code and length of a block of bytes; false for another code.
	blockSize() (int, bool)
	// endsBlocks reads the code that ends the output of a class's own method.
	endsBlocks() bool
}

// hold gives a value the next number.
func (s *stream) hold(value any) any {
	s.instances = append(s.instances, value)
	return value
}

// held reads a value that has its number before its parts, which may refer to it.
func (s *stream) held(class string, read func() any) any {
	number := len(s.instances)
	s.hold(itself{class})
	value := read()
	s.instances[number] = value
	return value
}

// itself replaces an object that is not read to its end yet.
type itself struct{ class string }

// object reads the fields and the data of each class of an object. One of java.io.Externalizable has data only.
func (s *stream) object(c *streamClass) any {
	o := &record{class: c.name}
	if c.flags&isExternalizable != 0 {
		s.content(o)
		return o.known()
	}
	s.level(o, c, 1)
	return o.known()
}

// level reads the part of a class, after the parts of its super classes.
func (s *stream) level(o *record, c *streamClass, depth int) {
	if depth > maxDepth {
		s.fail("a class with more than %d super classes", maxDepth)
	} else if c.super != nil {
		s.level(o, c.super, depth+1)
	}
	for _, f := range c.fields {
		o.fields = append(o.fields, member{c.name, f.name, s.field(f)})
	}
	if c.flags&hasWriteMethod != 0 {
		s.content(o)
	}
}

// content reads the output of a class's own method, to its end.
func (s *stream) content(o *record) {
	for s.err == nil && s.left() > 0 {
		if s.endsBlocks() {
			return
		}
		if size, is := s.blockSize(); is {
			o.data = append(o.data, block(s.take(size)))
		} else {
			o.data = append(o.data, s.value())
		}
	}
	s.take(1) // the end is missing
}

// skip reads a code if it is next.
func (s *stream) skip(code byte) bool {
	if s.left() == 0 || s.data[s.at] != code {
		return false
	}
	s.at++
	return true
}

// field reads a value of a type, by its code in class files.
func (s *stream) field(f streamField) any {
	for k := boolKind; k <= doubleKind; k++ {
		if primitives[k].code[0] == f.code {
			return s.primitive(binary.BigEndian, k)
		}
	}
	if f.code == 'L' || f.code == '[' {
		return s.value()
	}
	s.fail("a field of type %q", f.code)
	return nil
}

// content returns the bytes and the values of an object's own methods.
func (o *record) content() (raw []byte, values []any) {
	for _, item := range o.data {
		if block, is := item.(block); is {
			raw = append(raw, block...)
		} else {
			values = append(values, item)
		}
	}
	return raw, values
}

type block []byte

// known returns the value of an object of a JDK class, or the object itself.
func (o *record) known() any {
	if !strings.HasPrefix(o.class, "java.") {
		return o // such as an application's Date without a package
	}
	raw, values := o.content()
	integer := func(name string) int64 {
		switch n := o.field(name).(type) {
		case int32:
			return int64(n)
		case int64:
			return n
		}
		return 0
	}
	text := func(name string) string { s, _ := o.field(name).(string); return s }
	switch class := strings.TrimPrefix(o.class, "java.util."); class {
	case "java.lang.Integer", "java.lang.Long", "java.lang.Double", "java.lang.Boolean", "java.lang.Byte", "java.lang.Short", "java.lang.Character", "java.lang.Float":
		return o.field("value")
	case "Date", "java.sql.Timestamp":
		if len(raw) != 8 {
			return o
		}
		date := Date(binary.BigEndian.Uint64(raw))
		if class == "Date" {
			return date
		}
		return Timestamp{time.Unix(date.Time().Unix(), integer("nanos")).UTC()}
	case "java.math.BigInteger":
		magnitude, _ := o.field("magnitude").([]byte)
		n := new(big.Int).SetBytes(magnitude)
		if sign := integer("signum"); sign < 0 {
			n.Neg(n)
		}
		return n
	case "java.math.BigDecimal":
		if unscaled, is := o.field("intVal").(*big.Int); is && unscaled.BitLen() <= 8*maxNumber {
			return decimalOf(unscaled, int32(integer("scale")))
		}
	case "UUID":
		return uuidOf(uint64(integer("mostSigBits")), uint64(integer("leastSigBits")))
	case "java.net.URI":
		return URI(text("string"))
	case "Currency":
		return Currency(text("currencyCode"))
	case "Locale":
		if text("script") == "" && text("extensions") == "" {
			return Locale(strings.TrimRight(strings.Join([]string{text("language"), text("country"), text("variant")}, "_"), "_"))
		}
	case "java.time.Ser":
		return timeOf(o, raw)
	case "ArrayList", "LinkedList", "Vector", "Stack", "ArrayDeque", "concurrent.CopyOnWriteArrayList", "HashSet", "LinkedHashSet":
		if elements, is := o.field("elementData").(list); is { // a Vector
			count := min(max(integer("elementCount"), 0), int64(len(elements.all)))
			values = elements.all[:count]
		}
		return list{o.class, values}
	case "TreeSet":
		if len(values) > 0 && values[0] == nil { // no comparator
			return list{o.class, values[1:]}
		}
	case "Arrays$ArrayList":
		if elements, is := o.field("a").(list); is {
			return list{o.class, elements.all}
		}
	case "Collections$EmptyList", "Collections$EmptySet":
		return list{o.class, nil}
	case "Collections$SingletonList", "Collections$SingletonSet":
		return list{o.class, []any{o.field("element")}}
	case "Collections$UnmodifiableCollection", "Collections$UnmodifiableSet", "Collections$UnmodifiableList", "Collections$UnmodifiableRandomAccessList":
		if inner, is := o.field("c").(list); is {
			return inner
		}
	case "Collections$UnmodifiableMap":
		return o.field("m")
	case "HashMap", "LinkedHashMap", "Hashtable", "TreeMap":
		if o.field("comparator") == nil {
			return dictionary{o.class, values}
		}
	case "concurrent.ConcurrentHashMap": // two nulls end it
		return dictionary{o.class, values[:max(0, len(values)-2)]}
	case "Collections$EmptyMap":
		return dictionary{class: o.class}
	case "Collections$SingletonMap":
		return dictionary{o.class, []any{o.field("k"), o.field("v")}}
	case "CollSer": // List.of, Set.of and Map.of
		switch tag := integer("tag") & 0xff; tag {
		case 1, 4:
			return list{"java.util.ImmutableCollections$ListN", values}
		case 2:
			return list{"java.util.ImmutableCollections$SetN", values}
		case 3:
			return dictionary{"java.util.ImmutableCollections$MapN", values}
		}
	}
	return o
}

// timeClasses has the codes that java.time.Ser writes before the parts of a class.
var timeClasses = map[byte]string{
	3: "java.time.LocalDate", 4: "java.time.LocalTime", 5: "java.time.LocalDateTime", 6: "java.time.ZonedDateTime", 9: "java.time.OffsetTime",
	10: "java.time.OffsetDateTime", 11: "java.time.Year", 12: "java.time.YearMonth", 13: "java.time.MonthDay", 14: "java.time.Period",
}

// timeOf reads a value of java.time, or returns the object if its class is unknown here.
func timeOf(o *record, raw []byte) (value any) {
	var err error
	r := reader{problem: problem{codec: "java.time.Ser"}, data: raw}
	switch code := r.byte(); code {
	case 1:
		value, err = durationOf(r.int64(), r.int32())
	case 2:
		value, err = instantOf(r.int64(), int64(r.int32()))
	default:
		s := scalarOfClass[timeClasses[code]]
		if s == nil {
			return o
		}
		value, err = s.of(r.moment(s.layout, r.int32, r.int32, r.zone))
	}
	if err != nil || r.end() != nil {
		return o
	}
	return value
}

// zone reads the id of a zone.
func (r *reader) zone() string {
	switch code := r.byte(); code {
	case 8: // a ZoneOffset
		return offsetText(r.offset(r.int32))
	case 7:
		n := int(r.uint16())
		if n == 0 { // Marshalling has the length in 32 bits
			n = int(r.uint16())
		}
		return string(r.take(n))
	default:
		r.fail("expected a zone, got type %d of java.time.Ser", code)
		return ""
	}
}
