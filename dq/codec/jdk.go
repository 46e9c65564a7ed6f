package codec

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the JDK derives the serialVersionUID of arrays from it
	"encoding/binary"
	"math"
	"math/big"
	"time"
)

// Classes of the JDK as Serialization and Marshalling describe them. Their UIDs
// are those that the JDK declares.
var (
	jdkNumber     = &serialClass{name: javaLangNumber, uid: numberUID, flags: scSerializable}
	jdkByte       = box(javaLangByte, -7183698231559129828, 'B', jdkNumber)
	jdkShort      = box(javaLangShort, 7515723908773894738, 'S', jdkNumber)
	jdkInteger    = box(javaLangInteger, integerUID, 'I', jdkNumber)
	jdkLong       = box(javaLangLong, longUID, 'J', jdkNumber)
	jdkFloat      = box(javaLangFloat, -2671257302660747028, 'F', jdkNumber)
	jdkDouble     = box(javaLangDouble, doubleUID, 'D', jdkNumber)
	jdkBoolean    = box(javaLangBoolean, booleanUID, 'Z', nil)
	jdkCharacter  = box(javaLangCharacter, 3786198910865385080, 'C', nil)
	jdkEnum       = &serialClass{name: javaLangEnum, flags: scSerializable | scEnum}
	jdkDate       = writing(dateName, 7523967970034938905)
	jdkBigInteger = extending(jdkNumber, writing(bigIntegerName, -8287574255936472291,
		serialField{'I', "bitCount", ""}, serialField{'I', "bitLength", ""}, serialField{'I', "firstNonzeroByteNum", ""},
		serialField{'I', "lowestSetBit", ""}, serialField{'I', "signum", ""}, serialField{'[', "magnitude", bytesName}))
	jdkBigDecimal = extending(jdkNumber, writing(bigDecimalName, 6108874887143696463,
		serialField{'I', "scale", ""}, serialField{'L', "intVal", "Ljava/math/BigInteger;"}))
	jdkUUID = &serialClass{uuidName, -4856846361193249489, scSerializable,
		[]serialField{{'J', "leastSigBits", ""}, {'J', "mostSigBits", ""}}, nil}
	jdkLocale = writing(localeName, 9149081749638150636,
		serialField{'I', "hashcode", ""}, stringField("country"), stringField("extensions"), stringField("language"),
		stringField("script"), stringField("variant"))
	jdkURI           = writing(uriName, -6052424284110960213, stringField("string"))
	jdkCurrency      = &serialClass{currencyName, -158308464356906721, scSerializable, []serialField{stringField("currencyCode")}, nil}
	jdkTimestamp     = &serialClass{timestampName, 2745179027874758501, scSerializable, []serialField{{'I', "nanos", ""}}, jdkDate}
	jdkAtomicLong    = box(atomicLongName, 1927816293512124184, 'J', jdkNumber)
	jdkAtomicInteger = box(atomicIntegerName, 6214790243416807050, 'I', jdkNumber)
	jdkAtomicBoolean = box(atomicBooleanName, 4654671469794556979, 'I', nil)
	jdkTime          = &serialClass{name: serName, uid: -7683839454370182990, flags: scExternalizable | scBlockData}
	jdkHashSet       = writing(hashSetName, -5024744406713321676)
	jdkLinkedHashSet = &serialClass{name: linkedHashSetName, uid: -2851667679971038690, flags: scSerializable, super: jdkHashSet}
	jdkTreeSet       = writing(treeSetName, -2479143000061671589)
	jdkLinkedList    = writing(linkedListName, 876323262645176354)
	jdkHashMap       = writing(hashMapName, hashMapUID, serialField{'F', "loadFactor", ""}, serialField{'I', "threshold", ""})
	jdkLinkedHashMap = &serialClass{linkedHashMapName, 3801124242820219131, scSerializable, []serialField{{'Z', "accessOrder", ""}}, jdkHashMap}
	jdkCollSer       = writing(collSerName, 6309168927139932177, serialField{'I', "tag", ""})
	jdkArraysList    = plainClass(arraysListName, -2764017481108945198, serialField{'[', "a", "[Ljava/lang/Object;"})
	jdkTreeMap       = writing(treeMapName, 919286545866124006, serialField{'L', "comparator", "Ljava/util/Comparator;"})
)

// jdkClasses has by name what an array can be of.
var jdkClasses = map[string]*serialClass{
	dateName: jdkDate, bigIntegerName: jdkBigInteger, bigDecimalName: jdkBigDecimal,
	uuidName: jdkUUID, localeName: jdkLocale, uriName: jdkURI, currencyName: jdkCurrency,
	timestampName: jdkTimestamp, atomicLongName: jdkAtomicLong, atomicIntegerName: jdkAtomicInteger, atomicBooleanName: jdkAtomicBoolean,
}

func extending(super, c *serialClass) *serialClass {
	c.super = super
	return c
}

func box(name string, uid int64, code byte, super *serialClass) *serialClass {
	return &serialClass{name, uid, scSerializable, []serialField{{code, "value", ""}}, super}
}

// writing returns a class that has a writeObject method.
func writing(name string, uid int64, fields ...serialField) *serialClass {
	return &serialClass{name: name, uid: uid, flags: scSerializable | scWriteMethod, fields: fields}
}

// plainClass returns one that has no writeObject method, and no serializable super class.
func plainClass(name string, uid int64, fields ...serialField) *serialClass {
	return &serialClass{name: name, uid: uid, flags: scSerializable, fields: fields}
}

func stringField(name string) serialField { return serialField{'L', name, "Ljava/lang/String;"} }

// hierarchyOf returns a class of the JDK and its super classes.
func hierarchyOf(c *serialClass) (chain []*serialClass) {
	for ; c != nil; c = c.super {
		chain = append(chain, c)
	}
	return chain
}

// jdkRecord returns what the JDK writes of a value.
func jdkRecord(value any) *record {
	of := func(c *serialClass, fields ...any) *record { return &record{chain: hierarchyOf(c), fields: fields} }
	own := func(c *serialClass, data ...any) *record { return &record{chain: hierarchyOf(c), data: data} }
	be := binary.BigEndian
	switch value := value.(type) {
	case Date:
		return own(jdkDate, block(be.AppendUint64(nil, uint64(value))))
	case *big.Int:
		// The counts stand for "not known", in the form of old JDKs.
		return of(jdkBigInteger, int32(-1), int32(-1), int32(-2), int32(-2), int32(value.Sign()), value.Bytes())
	case Decimal:
		unscaled, scale, _ := value.parts() // scalarToJava has checked it
		return of(jdkBigDecimal, scale, sharedInteger(unscaled))
	case UUID:
		return of(jdkUUID, int64(be.Uint64(value[8:])), int64(be.Uint64(value[:8])))
	case Locale:
		return of(jdkLocale, int32(-1), interned(value.Country), interned(""), interned(value.Language), interned(""), interned(value.Variant))
	case URI:
		return of(jdkURI, string(value))
	case Currency:
		return of(jdkCurrency, string(value))
	case Timestamp:
		ms := time.Unix(value.Seconds, 0).UnixMilli()
		return &record{chain: hierarchyOf(jdkTimestamp), fields: []any{value.Nanos}, data: []any{block(be.AppendUint64(nil, uint64(ms)))}}
	case AtomicLong:
		return of(jdkAtomicLong, int64(value))
	case AtomicInteger:
		return of(jdkAtomicInteger, int32(value))
	case AtomicBoolean:
		return of(jdkAtomicBoolean, int32(boolByte(bool(value))))
	case *elements:
		return setRecord(value)
	case *dictionary:
		return mapRecord(value)
	}
	return own(jdkTime, block(timeBytes(value, shortUTF)))
}

// shortUTF appends a text as Serialization's writeUTF does.
func shortUTF(dst []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(s))), s...)
}

// shared is a value of which the JDK has one instance only, which it names by key.
type shared struct {
	key   string
	value any
}

// sharedInteger returns n as BigInteger.valueOf does.
func sharedInteger(n *big.Int) any {
	if n.IsInt64() && n.Int64() >= -16 && n.Int64() <= 16 {
		return shared{"BigInteger " + n.String(), n}
	}
	return n
}

// interned returns a part of a Locale, of which Java has all that are equal be one.
func interned(part string) shared { return shared{"text " + part, part} }

// jdkWrappers has the classes of Collections that hold nothing, or one.
var jdkWrappers = map[string]*serialClass{
	emptyListName:     plainClass(emptyListName, 8842843931221139166),
	emptySetName:      plainClass(emptySetName, 1582296315990362920),
	emptyMapName:      plainClass(emptyMapName, 6428348081105594320),
	singletonListName: plainClass(singletonListName, 3093736618740652951, serialField{'L', "element", "Ljava/lang/Object;"}),
	singletonSetName:  plainClass(singletonSetName, 3193687207550431679, serialField{'L', "element", "Ljava/lang/Object;"}),
	singletonMapName:  plainClass(singletonMapName, -6979724477215052911, serialField{'L', "k", "Ljava/lang/Object;"}, serialField{'L', "v", "Ljava/lang/Object;"}),
}

// collSer returns what collections write that List.of, Set.of and Map.of made.
func collSer(tag int32, all []any) *record {
	size := block(binary.BigEndian.AppendUint32(nil, uint32(len(all))))
	return &record{chain: hierarchyOf(jdkCollSer), fields: []any{tag}, data: append([]any{size}, all...)}
}

// setRecord returns what a collection writes that is no ArrayList.
func setRecord(e *elements) *record {
	be := binary.BigEndian
	size := block(be.AppendUint32(nil, uint32(len(e.all))))
	wrapper, isWrapper := jdkWrappers[e.class]
	switch {
	case isWrapper:
		return &record{chain: hierarchyOf(wrapper), fields: e.all}
	case e.class == arraysListName:
		of := cmp.Or(e.array, objectType)
		array := &elements{class: "[" + nameInArray(of), elem: of, all: e.all}
		return &record{chain: hierarchyOf(jdkArraysList), fields: []any{array}}
	case kryoTypes[e.class].form == formNoNulls && e.isSet():
		return collSer(collSerSet, e.all)
	case kryoTypes[e.class].form == formNoNulls:
		return collSer(collSerList, e.all)
	}
	switch e.class {
	case linkedListName:
		return &record{chain: hierarchyOf(jdkLinkedList), data: append([]any{size}, e.all...)}
	case treeSetName:
		return &record{chain: hierarchyOf(jdkTreeSet), data: append([]any{nil, size}, e.all...)}
	}
	class := jdkHashSet
	if e.class == linkedHashSetName {
		class = jdkLinkedHashSet
	}
	head := be.AppendUint32(nil, uint32(e.table.orOf(len(e.all)).capacity))
	head = be.AppendUint32(head, hashMapLoad)
	return &record{chain: hierarchyOf(class), data: append([]any{block(append(head, size...))}, e.all...)}
}

// mapRecord returns what HashMap, LinkedHashMap and TreeMap write.
func mapRecord(d *dictionary) *record {
	be := binary.BigEndian
	size := be.AppendUint32(nil, uint32(len(d.keys)))
	entries := func(head []byte) []any {
		data := []any{block(head)}
		for i := range d.keys {
			data = append(data, d.keys[i], d.values[i])
		}
		return data
	}
	wrapper, isWrapper := jdkWrappers[d.class]
	switch {
	case isWrapper:
		return &record{chain: hierarchyOf(wrapper), fields: entries(nil)[1:]}
	case kryoTypes[d.class].form == formNoNulls:
		return collSer(collSerMap, entries(nil)[1:])
	}
	if d.class == treeMapName {
		return &record{chain: hierarchyOf(jdkTreeMap), fields: []any{nil}, data: entries(size)}
	}
	table := d.table.orOf(len(d.keys))
	r := &record{
		chain: hierarchyOf(jdkHashMap), fields: []any{math.Float32frombits(hashMapLoad), table.threshold},
		data: entries(append(be.AppendUint32(nil, uint32(table.capacity)), size...)),
	}
	if d.class == linkedHashMapName {
		r.chain, r.fields = hierarchyOf(jdkLinkedHashMap), append(r.fields, false)
	}
	return r
}

// arrayClass returns the class of arrays of that name. The UID is the one that the
// JDK computes for a public class of elements; it does not compare those of arrays.
func arrayClass(name string) *serialClass {
	const publicFinalAbstract = 0x411
	data := binary.BigEndian.AppendUint16(nil, uint16(len(name)))
	data = binary.BigEndian.AppendUint32(append(data, name...), publicFinalAbstract)
	sum := sha1.Sum(data) //nolint:gosec // see the import
	return &serialClass{name: name, uid: int64(binary.LittleEndian.Uint64(sum[:])), flags: scSerializable}
}
