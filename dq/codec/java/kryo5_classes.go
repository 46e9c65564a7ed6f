package java

import (
	"math/big"
	"reflect"
	"strings"
)

// Class ids on the wire: 0 is null, 1 a class by name, the others are the classes that Kryo registers.
const (
	kryoNull  = 0
	kryoNamed = 1
)

var kryoIDs = map[kind]byte{
	intKind: 2, stringKind: 3, floatKind: 4, boolKind: 5, byteKind: 6, charKind: 7, shortKind: 8, longKind: 9, doubleKind: 10,
}

// kryoTypes are the classes of the JDK that are read here, by name; kryoByID the classes with an id.
var kryoTypes, kryoByID = func() (map[string]*typ, map[uint64]*typ) {
	list, set, m := reflect.TypeFor[[]any](), reflect.TypeFor[Set](), reflect.TypeFor[map[any]any]()
	names := map[string]*typ{bytesClass: {kind: bytesKind, goType: reflect.TypeFor[[]byte]()}, optionalClass: {kind: optionalKind, goType: anyType, elem: object}}
	add := func(prefix, classes string, t reflect.Type) {
		for class := range strings.FieldsSeq(classes) {
			k := listKind
			if t == m {
				k = mapKind
			}
			names[prefix+class] = &typ{kind: k, goType: t, elem: object, key: object}
		}
	}
	add("java.util.", "ArrayList LinkedList Arrays$ArrayList ArrayDeque Vector concurrent.CopyOnWriteArrayList Collections$EmptyList Collections$SingletonList", list)
	add("java.util.", "HashSet LinkedHashSet TreeSet Collections$EmptySet Collections$SingletonSet", set)
	add("java.util.", "HashMap LinkedHashMap TreeMap Hashtable concurrent.ConcurrentHashMap Collections$EmptyMap Collections$SingletonMap", m)
	add("java.util.ImmutableCollections$", "List12 ListN SubList", list)
	add("java.util.ImmutableCollections$", "Set12 SetN", set)
	add("java.util.ImmutableCollections$", "Map1 MapN", m)
	for name, t := range names {
		t.class, t.value = name, name
	}
	for _, s := range scalars {
		names[s.class] = &typ{kind: scalarKind, goType: s.goType, class: s.class, scalar: s}
		if s.goType == reflect.TypeFor[big.Int]() {
			names[s.class].goType = reflect.PointerTo(s.goType) // as Go programs hold it
		}
	}
	ids := map[uint64]*typ{}
	for k, id := range kryoIDs {
		t := &typ{kind: k, goType: reflect.TypeFor[string](), class: stringClass}
		for goKind, of := range kinds {
			if of == k {
				t.goType, t.class, t.boxed = basicTypes[goKind], boxes[k].class, true
			}
		}
		ids[uint64(id)] = t
	}
	return names, ids
}()

var basicTypes = map[reflect.Kind]reflect.Type{
	reflect.Bool: reflect.TypeFor[bool](), reflect.Int8: reflect.TypeFor[int8](), reflect.Int16: reflect.TypeFor[int16](), reflect.Uint16: reflect.TypeFor[uint16](),
	reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](), reflect.Float32: reflect.TypeFor[float32](), reflect.Float64: reflect.TypeFor[float64](),
}

// The next functions distinguish the forms of collections and maps.
func withoutNulls(class string) bool {
	return strings.HasPrefix(class, "java.util.ImmutableCollections$")
}
func isSorted(class string) bool { return strings.HasPrefix(class, "java.util.Tree") }
func isEmpty(class string) bool  { return strings.HasPrefix(class, "java.util.Collections$Empty") }
func isSingleton(class string) bool {
	return strings.HasPrefix(class, "java.util.Collections$Singleton")
}
func isSet(class string) bool {
	return strings.Contains(class[strings.LastIndexByte(class, '.')+1:], "Set")
}

// hasOwnNull reports whether the serializer of a type writes null itself. Other types have a byte before the value.
func (t *typ) hasOwnNull() bool {
	switch t.kind {
	case stringKind, bytesKind, listKind, arrayKind, mapKind, enumKind:
		return true
	case scalarKind:
		return t.class == "java.math.BigInteger" || t.class == "java.math.BigDecimal" || t.class == "java.util.Currency"
	}
	return false
}
