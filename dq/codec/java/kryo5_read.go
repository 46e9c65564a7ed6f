package java

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Kryo5 is Redisson's Kryo5Codec: Kryo 5 without registered classes and without references.
type Kryo5[T any] struct{ bound[T] }

// NewKryo5 returns the codec for T. It fails with a *TypeError.
func NewKryo5[T any](classes ...Class) (Kryo5[T], error) {
	b, err := bind[T]("kryo5", kryoForm{}, classes)
	return Kryo5[T]{b}, err
}

type kryoForm struct{}

func (kryoForm) decode(g *registry, data []byte, _ *typ) (any, error) {
	r := kryoReader{reader: reader{problem: problem{codec: g.codec}, data: data}, registry: g}
	tree := r.named(nil)
	return tree, r.end()
}

// kryoReader reads a value as a tree, guided by the declared types of the fields: the bytes do not name fields.
type kryoReader struct {
	reader
	registry *registry
	names    []string // of classes, each written once
}

// named reads a class and a value of it; declared is the declared type, or nil.
func (r *kryoReader) named(declared *typ) any {
	if t := r.class(declared); t != nil && r.namesElements(t, declared) {
		return r.value(t, declared)
	}
	return nil
}

// class reads a class, or nil for null.
func (r *kryoReader) class(declared *typ) *typ {
	id := r.varint()
	switch {
	case id == kryoNull:
		return nil
	case kryoByID[id] != nil:
		return kryoByID[id]
	case id != kryoNamed:
		r.fail("expected the class id of a number, String, Boolean, Character or a name, got %d", id)
		return nil
	}
	index := r.varint()
	if index == uint64(len(r.names)) {
		name, _ := r.string().(string)
		r.names = append(r.names, name)
	}
	if index >= uint64(len(r.names)) {
		r.fail("expected one of %[2]d class names, got number %[1]d", index, len(r.names))
	}
	if r.err != nil {
		return nil
	}
	name := r.names[index]
	own := cmp.Or(r.registry.byName[name], r.registry.constant(name))
	switch {
	case declared != nil && declared.class == name && (declared.kind == arrayKind || declared.kind == objectKind):
		return declared // one of several Go types for a generic class
	case name == optionalClass:
		r.refuse("the value holds a java.util.Optional but the Go type does not declare one; give the field the tag `java:\"Optional\"`")
	case kryoTypes[name] != nil:
		return kryoTypes[name]
	case own != nil && own.object != nil && own.object.generic:
		r.refuse("the value holds the generic class %s but no field declares its type arguments, so its bytes cannot be read as %v", name, own.goType)
	case own != nil:
		return own
	case strings.HasPrefix(name, "["):
		r.refuse("the value holds an array, %s, but the Go type declares no array", name)
	default:
		r.err = &ClassError{r.codec, name}
	}
	return nil
}

// namesElements refuses a collection in an any that is declared as a class of the JDK: Java leaves out the classes of the elements
// if the type arguments of the field are final.
func (p *problem) namesElements(t, declared *typ) bool {
	if declared != nil && declared.kind == anyKind && (t.kind == listKind || t.kind == mapKind) && (strings.HasPrefix(declared.class, "java.util.") || declared.class == "java.lang.Iterable") {
		p.refuse("got a %s for a field of %s, whose bytes depend on type arguments that Go does not know; use JSON, or a List or Map in both services", cmp.Or(t.value, t.class), declared.class)
	}
	return p.err == nil
}

// declared reads a value of the declared type t: the bytes name its class unless t is final.
func (r *kryoReader) declared(t *typ, arguments bool) any {
	switch known := t.known(arguments); {
	case t.isPrimitive():
		return r.value(t, nil)
	case t.isFinal():
		return r.orNull(t, true, known)
	default:
		return r.named(known)
	}
}

// orNull reads a value of a known class.
func (r *kryoReader) orNull(t *typ, mayBeNull bool, declared *typ) any {
	if mayBeNull && !t.hasOwnNull() && !r.flag() {
		return nil
	}
	return r.value(t, declared)
}

// value reads a value of class t without the byte for null.
func (r *kryoReader) value(t, declared *typ) any {
	if !r.enter() {
		return nil
	}
	defer func() { r.depth-- }()
	switch t.kind {
	case boolKind:
		return r.flag()
	case byteKind, shortKind, charKind, floatKind, doubleKind:
		return r.primitive(binary.LittleEndian, t.kind)
	case intKind:
		return r.zigzag()
	case longKind:
		n := r.varlong()
		return int64(n>>1) ^ -int64(n&1)
	case stringKind:
		return r.string()
	case bytesKind:
		if n := int(r.varint()); n > 0 {
			return append([]byte{}, r.take(n-1)...)
		}
	case enumKind:
		n := int(r.varint())
		if n > len(t.enum.constants) {
			r.fail("constant number %d of the enum %s, but its Class has %d", n, t.class, len(t.enum.constants))
		} else if n > 0 {
			return constant{t.class, t.enum.constants[n-1]}
		}
	case optionalKind:
		return r.named(nil)
	case listKind:
		_, elem := declared.parts(listKind)
		return r.collection(t.class, elem)
	case arrayKind:
		if n := int(int32(r.varint())); n != 0 {
			return list{t.class, r.values(n-1, func() any { return r.declared(t.elem, false) })}
		}
	case mapKind:
		return r.mapping(t.class, declared)
	case objectKind:
		return r.object(t)
	default:
		return r.scalar(t.scalar)
	}
	return nil
}

func (r *kryoReader) object(t *typ) any {
	if len(t.object.fields) == 0 {
		r.spend(1)
	}
	o := &record{class: t.class, typ: t}
	for _, f := range t.object.fields {
		o.fields = append(o.fields, member{f.of.name, f.name, r.declared(f.typ, !t.object.record)})
		if r.err != nil {
			r.err = fmt.Errorf("field %s of %s: %w", f.name, t.class, r.err)
			break
		}
	}
	return o
}

// collection reads a list or a set. The bytes do not name the class of the elements if the declared elem is final.
func (r *kryoReader) collection(class string, elem *typ) any {
	isKnown := elem != nil && elem.isFinal()
	var flag bool // there are nulls; or all elements are of one class
	var n int
	switch {
	case isEmpty(class):
		r.spend(1)
		return list{class, nil}
	case isSingleton(class):
		return list{class, []any{r.named(nil)}}
	case isKnown && withoutNulls(class):
		n = int(int32(r.varint()))
	default:
		flag, n = r.flagged()
	}
	if n == 0 {
		return nil
	}
	n--
	r.comparator(class)
	switch {
	case n == 0:
		return list{class, nil}
	case isKnown:
		return list{class, r.values(n, func() any { return r.orNull(elem, flag, elem) })}
	case !flag:
		return list{class, r.values(n, func() any { return r.named(elem) })}
	}
	t := r.class(elem)
	if t == nil { // all are null, without bytes
		if !r.spend(n) {
			return nil
		}
		return list{class, make([]any, n)}
	}
	hasNull := !withoutNulls(class) && r.flag()
	return list{class, r.values(n, func() any { return r.orNull(t, hasNull, elem) })}
}

func (r *kryoReader) comparator(class string) {
	if isSorted(class) && r.byte() != kryoNull {
		r.refuse("the value holds a %s with a comparator; only Java can read it", class)
	}
}

func (r *kryoReader) mapping(class string, declared *typ) any {
	key, elem := declared.parts(mapKind)
	n := 1
	switch {
	case isEmpty(class):
		r.spend(1)
		return dictionary{class: class}
	case isSingleton(class):
		key, elem = nil, nil
	default:
		if n = int(int32(r.varint())); n == 0 {
			return nil
		}
		n = r.count(n - 1)
		r.comparator(class)
	}
	part := func(declared *typ) any {
		if declared == nil || !declared.isFinal() {
			return r.named(declared)
		}
		return r.orNull(declared, !withoutNulls(class), declared)
	}
	d := dictionary{class: class}
	for i := 0; i < n && r.err == nil; i++ {
		d.all = append(d.all, part(key), part(elem))
	}
	return d
}

// scalar reads a value of a class of the JDK.
func (r *kryoReader) scalar(s *scalar) (value any) {
	var err error
	text := func() string { s, _ := r.string().(string); return s }
	switch s.class {
	case "java.util.Date":
		return Date(r.varlong())
	case "java.sql.Timestamp":
		return Timestamp{Date(r.varlong()).Time()}
	case "java.util.UUID":
		return uuidOf(r.fixed(8), r.fixed(8))
	case "java.math.BigInteger", "java.math.BigDecimal":
		switch size := int(int32(r.varint())); {
		case size == 0: // null
		case size < 2:
			r.fail("a number of no bytes")
		case s.class == "java.math.BigInteger":
			return integerOf(r.take(size - 1))
		case size > maxNumber:
			r.refuse("expected a java.math.BigDecimal of at most %d bytes, got %d", maxNumber, size)
		default:
			return decimalOf(integerOf(r.take(size-1)), r.zigzag())
		}
	case "java.time.Instant":
		value, err = instantOf(int64(r.varlong()), int64(r.varint()))
	case "java.time.Duration":
		value, err = durationOf(int64(r.fixed(8)), int32(r.varint()))
	case "java.net.URI":
		return URI(text())
	case "java.util.Currency":
		if text, is := r.string().(string); is {
			return Currency(text)
		}
	case "java.util.Locale":
		return Locale(strings.TrimRight(text()+"_"+text()+"_"+text(), "_"))
	default:
		// The bytes have no offset if the zone gives it.
		m := r.moment(strings.Replace(s.layout, "oz", "z", 1), func() int32 { return int32(r.varint()) }, func() int32 { return int32(r.fixed(4)) }, text)
		if strings.HasSuffix(s.layout, "z") && r.err == nil {
			if err := m.inZone(); err != nil {
				r.refuse("%v", err)
			}
		}
		value, err = s.of(m)
	}
	if err != nil {
		r.refuse("the value holds %v", err)
	}
	return value
}

func (r *kryoReader) varint() uint64 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return uint64(uint32(n))
		}
	}
	r.fail("a number of more than 5 bytes")
	return 0
}

// varlong reads 9 bytes at most: the ninth has eight bits.
func (r *kryoReader) varlong() uint64 {
	var n uint64
	for shift := 0; shift < 56; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	return n | uint64(r.byte())<<56
}

func (r *kryoReader) zigzag() int32 {
	n := uint32(r.varint())
	return int32(n>>1) ^ -int32(n&1)
}

// fixed reads a little-endian number.
func (r *kryoReader) fixed(size int) uint64 {
	var data [8]byte
	copy(data[:], r.take(size))
	return binary.LittleEndian.Uint64(data[:])
}

// flag reads a boolean. Other bytes mean that the Go type differs from the Java type.
func (r *kryoReader) flag() bool {
	b := r.byte()
	if b > 1 {
		r.at--
		r.fail("expected a boolean, or a flag before a value, got 0x%02x", b)
	}
	return b == 1
}

// flagged reads a number with a flag in its first byte.
func (r *kryoReader) flagged() (flag bool, n int) {
	first := r.byte()
	n = int(first & 0x3f)
	if first&0x40 != 0 {
		n |= int(r.varint()) << 6
	}
	return first&0x80 != 0, int(int32(n))
}

// string returns a text, or nil.
func (r *kryoReader) string() any {
	if r.err == nil && r.left() > 0 && r.data[r.at]&0x80 == 0 {
		if end := slices.IndexFunc(r.data[r.at:], func(b byte) bool { return b&0x80 != 0 }); end >= 0 {
			ascii := append([]byte{}, r.take(end+1)...)
			ascii[end] &= 0x7f
			return string(ascii)
		}
		r.take(r.left() + 1) // the text does not end
		return nil
	}
	if _, n := r.flagged(); n != 0 {
		return r.text(n - 1)
	}
	return nil
}

// Class ids on the wire: 0 is null, 1 a class by name, the others are the classes that Kryo registers.
const (
	kryoNull  = 0
	kryoNamed = 1
)

// kryoTypes are the classes of the JDK that are read here, by name; kryoByID the classes with an id.
var kryoTypes, kryoByID = func() (map[string]*typ, map[uint64]*typ) {
	names := map[string]*typ{bytesClass: {kind: bytesKind}}
	for class := range strings.FieldsSeq(`ArrayList LinkedList Arrays$ArrayList ArrayDeque Vector concurrent.CopyOnWriteArrayList HashSet LinkedHashSet TreeSet
		Collections$EmptyList Collections$SingletonList Collections$EmptySet Collections$SingletonSet Collections$EmptyMap Collections$SingletonMap
		HashMap LinkedHashMap TreeMap Hashtable concurrent.ConcurrentHashMap ImmutableCollections$List12 ImmutableCollections$ListN ImmutableCollections$SubList
		ImmutableCollections$Set12 ImmutableCollections$SetN ImmutableCollections$Map1 ImmutableCollections$MapN`) {
		t := &typ{kind: listKind, class: "java.util." + class}
		if strings.Contains(class, "Map") || class == "Hashtable" {
			t.kind = mapKind
		}
		names[t.class] = t
	}
	for _, s := range scalars {
		names[s.class] = &typ{kind: scalarKind, class: s.class, scalar: s}
	}
	ids := map[uint64]*typ{}
	for k := boolKind; k <= stringKind; k++ {
		ids[uint64(primitives[k].kryo)] = &typ{kind: k}
	}
	return names, ids
}()

// The next functions distinguish the forms of collections and maps.
func withoutNulls(class string) bool { return isOf(class, "ImmutableCollections$") }
func isSorted(class string) bool     { return isOf(class, "Tree") }
func isEmpty(class string) bool      { return isOf(class, "Collections$Empty") }
func isSingleton(class string) bool  { return isOf(class, "Collections$Singleton") }
func isOf(class, kind string) bool   { return strings.HasPrefix(class, "java.util."+kind) }
func isSet(class string) bool {
	return strings.Contains(class[strings.LastIndexByte(class, '.')+1:], "Set")
}

// hasOwnNull reports whether the serializer of a type writes null itself. Other types have a byte before the value.
func (t *typ) hasOwnNull() bool {
	switch t.kind {
	case stringKind, bytesKind, listKind, arrayKind, mapKind, enumKind:
		return !isEmpty(t.class) && !isSingleton(t.class)
	case scalarKind:
		return t.class == "java.math.BigInteger" || t.class == "java.math.BigDecimal" || t.class == "java.util.Currency"
	}
	return false
}
