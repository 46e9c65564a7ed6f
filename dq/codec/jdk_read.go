package codec

import (
	"encoding/binary"
	"math"
	"math/big"
	"strings"
)

// jdkValue returns what an object of a class of the JDK is, and false for a class
// that is not known.
func jdkValue(class string, r *record) (value any, known bool) {
	raw, values := r.content()
	ok := true
	switch class {
	case javaLangInteger, javaLangLong, javaLangDouble, javaLangBoolean, javaLangByte, javaLangShort, javaLangCharacter, javaLangFloat:
		value = r.field("value")
	case dateName:
		if ok = len(raw) == 8; ok {
			value = Date(binary.BigEndian.Uint64(raw))
		}
	case bigIntegerName:
		value, ok = r.bigInteger()
	case bigDecimalName:
		unscaled, isInteger := r.field("intVal").(*big.Int)
		scale, isInt := r.field("scale").(int32)
		if ok = isInteger && isInt; ok {
			value = decimalOf(unscaled, scale)
		}
	case uuidName:
		most, ok1 := r.field("mostSigBits").(int64)
		least, ok2 := r.field("leastSigBits").(int64)
		value, ok = uuidOf(most, least), ok1 && ok2
	case uriName:
		var text string
		text, ok = r.field("string").(string)
		value = URI(text)
	case currencyName:
		var code string
		code, ok = r.field("currencyCode").(string)
		value = Currency(code)
		ok = ok && checkScalar(value) == ""
	case timestampName:
		nanos, isInt := r.field("nanos").(int32)
		if ok = isInt && len(raw) == 8; ok {
			value = timestampOf(int64(binary.BigEndian.Uint64(raw)), nanos)
			ok = checkScalar(value) == ""
		}
	case localeName:
		value, ok = r.locale()
	case atomicLongName:
		var n int64
		n, ok = r.field("value").(int64)
		value = AtomicLong(n)
	case atomicIntegerName:
		var n int32
		n, ok = r.field("value").(int32)
		value = AtomicInteger(n)
	case atomicBooleanName:
		var n int32
		n, ok = r.field("value").(int32)
		value = AtomicBoolean(n != 0)
	case serName:
		return timeOf(raw), true
	default:
		value, known, ok = jdkCollection(class, r, values)
		if !known {
			return nil, false
		}
	}
	if !ok {
		value = foreign{class, "that does not hold what the JDK writes"}
	}
	return value, true
}

func uuidOf(most, least int64) UUID {
	var id UUID
	binary.BigEndian.PutUint64(id[:8], uint64(most))
	binary.BigEndian.PutUint64(id[8:], uint64(least))
	return id
}

func (r *record) bigInteger() (*big.Int, bool) {
	signum, ok1 := r.field("signum").(int32)
	magnitude, ok2 := r.field("magnitude").([]byte)
	n := new(big.Int).SetBytes(magnitude)
	if signum < 0 {
		n.Neg(n)
	}
	return n, ok1 && ok2 && n.Sign() == int(signum)
}

func (r *record) locale() (any, bool) {
	text := func(name string) string { s, _ := r.field(name).(string); return s }
	if text("script") != "" || text("extensions") != "" {
		return foreign{localeName, "with a script or extensions"}, true
	}
	l := Locale{text("language"), text("country"), text("variant")}
	return l, checkScalar(l) == ""
}

// jdkCollection returns what a collection or map holds; values are what its
// writeObject method wrote. It reports whether the class is known, and whether the
// object is whole.
func jdkCollection(class string, r *record, values []any) (value any, known, ok bool) {
	switch class {
	case linkedListName:
		return &elements{class: class, all: values}, true, true
	case arrayListName:
		return listOf(values), true, true
	case copyOnWriteArrayListName, arrayDequeName:
		return losing(class, listOf(values)), true, true
	case hashSetName, linkedHashSetName:
		return &elements{class: class, all: values, table: r.table(), lost: r.lostLoad(class)}, true, true
	case treeSetName:
		if len(values) == 0 {
			return nil, true, false
		}
		return &elements{class: class, all: values[1:], lost: lostComparator(class, values[0])}, true, true
	case hashMapName, linkedHashMapName, treeMapName:
		value, known, ok = mapOf(class, values)
		if d, isMap := value.(*dictionary); isMap {
			d.table, d.lost = r.table(), r.lostOfMap(class)
		}
		return value, known, ok
	case hashtableName:
		value, known, ok = mapOf(hashMapName, values)
		return losing(class, value), known, ok
	case concurrentHashMapName:
		if n := len(values); n >= 2 { // two nulls end it
			values = values[:n-2]
		}
		value, known, ok = mapOf(hashMapName, values)
		return losing(class, value), known, ok
	case collSerName:
		return immutable(r.field("tag"), values)
	case arraysListName:
		array, isArray := r.field("a").(*elements)
		switch {
		case !isArray:
			return nil, true, false
		case array.class == objectArrayName:
			return &elements{class: class, all: array.all}, true, true
		}
		list := &elements{class: class, all: array.all, array: jdkElement(array.class)}
		if list.array == nil {
			return losing(class+" of "+array.class, listOf(array.all)), true, true
		}
		return list, true, true
	}
	simple, isCollections := strings.CutPrefix(class, "java.util.Collections$")
	if !isCollections {
		return nil, false, false
	}
	switch simple {
	case "EmptyList", "EmptySet":
		return &elements{class: class}, true, true
	case "EmptyMap":
		return &dictionary{class: class}, true, true
	case "SingletonList", "SingletonSet":
		return &elements{class: class, all: []any{r.field("element")}}, true, true
	case "SingletonMap":
		return mapOf(class, []any{r.field("k"), r.field("v")})
	case "UnmodifiableCollection", "UnmodifiableSet", "UnmodifiableList", "UnmodifiableRandomAccessList":
		return losing(class, r.field("c")), true, true
	case "UnmodifiableMap":
		return losing(class, r.field("m")), true, true
	}
	return nil, false, false
}

// losing returns a collection as one of a class that is not written here.
func losing(class string, value any) any {
	switch value := value.(type) {
	case []any:
		return &elements{class: arrayListName, all: value, lost: class}
	case *elements:
		lost := *value
		lost.lost = class
		return &lost
	case *dictionary:
		lost := *value
		lost.lost = class
		return &lost
	}
	return value
}

// lostComparator says that the order of a collection is one of its own; "" for none.
func lostComparator(class string, comparator any) string {
	if comparator == nil {
		return ""
	}
	return class + " with a comparator"
}

// lostOfMap says what a HashMap, a LinkedHashMap or a TreeMap has of its own that is not written here.
func (r *record) lostOfMap(class string) string {
	load, hasLoad := r.field("loadFactor").(float32)
	switch {
	case class == treeMapName:
		return lostComparator(class, r.field("comparator"))
	case r.field("accessOrder") == true:
		return class + " in the order of access"
	case hasLoad && math.Float32bits(load) != hashMapLoad:
		return class + " with a load factor"
	}
	return ""
}

// lostLoad is lostOfMap for sets, which write it behind the capacity.
func (r *record) lostLoad(class string) string {
	if raw, _ := r.content(); len(raw) >= 8 && binary.BigEndian.Uint32(raw[4:]) != hashMapLoad {
		return class + " with a load factor"
	}
	return ""
}

// jdkElement returns what an array of a class of the JDK is declared to hold, or nil for another one.
func jdkElement(array string) *javaType {
	of, isObject := strings.CutPrefix(array, "[L")
	of = strings.TrimSuffix(of, ";")
	s, isScalar := scalarClasses[of]
	switch {
	case !isObject:
		return nil
	case of == javaLangString:
		return &javaType{kind: kindString, boxed: true}
	case isScalar:
		return &javaType{kind: s.kind, boxed: true}
	case boxKinds[of] != 0:
		return &javaType{kind: boxKinds[of], boxed: true}
	}
	return nil
}

func listOf(values []any) []any {
	if values == nil {
		return []any{}
	}
	return values
}

func mapOf(class string, pairs []any) (value any, known, ok bool) {
	if len(pairs)%2 != 0 {
		return nil, true, false
	}
	d := &dictionary{class: class}
	for i := 0; i < len(pairs); i += 2 {
		d.add(pairs[i], pairs[i+1])
	}
	return d, true, true
}

// What java.util.CollSer tells of the collection that it stands for.
const (
	collSerList  = 1
	collSerSet   = 2
	collSerMap   = 3
	collSerNulls = 4 // a list that may hold null
)

// immutable returns what List.of, Set.of and Map.of made.
func immutable(tag any, values []any) (value any, known, ok bool) {
	n, _ := tag.(int32)
	switch n & 0xff {
	case collSerNulls:
		return losing(immutableName+"ListN of Stream.toList", listOf(values)), true, true
	case collSerList:
		return &elements{class: immutableClass(kryoType{kind: kindList}, len(values)), all: values}, true, true
	case collSerSet:
		return &elements{class: immutableClass(kryoType{kind: kindList, set: true}, len(values)), all: values}, true, true
	case collSerMap:
		return mapOf(immutableClass(kryoType{kind: kindMap}, len(values)/2), values)
	}
	return nil, true, false
}
