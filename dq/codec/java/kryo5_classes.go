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
	names := map[string]*typ{bytesClass: {kind: bytesKind, goType: reflect.TypeFor[[]byte]()}, optionalClass: {kind: optionalKind, goType: anyType, elem: object}}
	for class := range strings.FieldsSeq(`ArrayList LinkedList Arrays$ArrayList ArrayDeque Vector concurrent.CopyOnWriteArrayList HashSet LinkedHashSet TreeSet
		Collections$EmptyList Collections$SingletonList Collections$EmptySet Collections$SingletonSet Collections$EmptyMap Collections$SingletonMap
		HashMap LinkedHashMap TreeMap Hashtable concurrent.ConcurrentHashMap ImmutableCollections$List12 ImmutableCollections$ListN ImmutableCollections$SubList
		ImmutableCollections$Set12 ImmutableCollections$SetN ImmutableCollections$Map1 ImmutableCollections$MapN`) {
		t := &typ{kind: listKind, goType: reflect.TypeFor[[]any](), elem: object, key: object}
		switch {
		case isSet(class):
			t.goType = reflect.TypeFor[Set]()
		case strings.Contains(class, "Map"), class == "Hashtable":
			t.kind, t.goType = mapKind, reflect.TypeFor[map[any]any]()
		}
		names["java.util."+class] = t
	}
	for name, t := range names {
		t.class, t.value = name, name
	}
	for _, s := range scalars {
		names[s.class] = &typ{kind: scalarKind, goType: s.goType, class: s.class, scalar: s}
	}
	names["java.math.BigInteger"].goType = reflect.TypeFor[*big.Int]() // as Go programs hold it
	ids := map[uint64]*typ{uint64(kryoIDs[stringKind]): {kind: stringKind, goType: reflect.TypeFor[string](), class: stringClass}}
	for k, t := range primitiveTypes {
		ids[uint64(kryoIDs[k])] = &typ{kind: k, goType: t, class: boxes[k].class, boxed: true}
	}
	return names, ids
}()

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
