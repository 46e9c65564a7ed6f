package codec

import (
	"cmp"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// Origin keeps how Java held the collections of an object that was read: their classes,
// such as LinkedList, TreeMap or that of List.of, and the order of a map's entries. A
// struct with a field of this type, which stands for none of Java, is written as it was
// read:
//
//	type Order struct {
//		_      struct{}         `java:"demo.Order,serialVersionUID=1"`
//		Tags   []string         `json:"tags" java:"Set"`
//		Sizes  map[string]int32 `json:"sizes"`
//		Origin codec.Origin     `json:"-"`
//	}
//
// A collection that was changed since keeps its class where that can hold what it has
// now, and the entries of a map that are left their order. An Optional that was null stays so
// while it is nil. Of an embedded struct the
// Origin of the outer one is taken. The zero Origin keeps nothing. Not kept are, by
// Marshalling and Serialization, the wrappers of Collections.unmodifiableList and its like,
// the classes of java.util.concurrent, Stream.toList, and Arrays.asList of arrays of classes
// of one's own. What Java held as a Vector, a Stack, an ArrayDeque or a Hashtable, or with a
// comparator, these two do not write.
type Origin struct{ kept *origin }

// origin has what is kept of each field of a class, nil for nothing.
type origin struct{ fields []*holding }

// holding is how Java held a collection, as far as it is not written so anyway.
type holding struct {
	class string     // as Class.getName writes it; empty for the one that is written anyway
	keys  []any      // of a map, in order
	tree  []any      // of a TreeSet in another order than that of compareTo, as far as that is known here
	parts []*holding // of the elements, or of the values behind keys; nil for nothing
	table hashTable
	size  int       // with the table
	array *javaType // see elements
	lost  string    // see elements; what isLeftOut only of a Collection
	null  bool      // of an Optional, which nil else stands for as an empty one
}

var originType = reflect.TypeFor[Origin]()

func originOf(o *object) Origin {
	kept := origin{make([]*holding, len(o.fields))}
	found := false
	for i, value := range o.fields {
		kept.fields[i] = holdingOf(value, o.class.fields[i].typ)
		found = found || kept.fields[i] != nil
	}
	if !found {
		return Origin{}
	}
	return Origin{&kept}
}

// restore returns a value of a field as Java held it.
func (o Origin) restore(value any, field int, of *class) any {
	if o.kept == nil || len(o.kept.fields) != len(of.fields) {
		return value // of another class, or of none
	}
	return o.kept.fields[field].restore(value)
}

// lost returns how Java held a collection in a field that is not written so, or nothing.
func (o Origin) lost(field int, of *class) string {
	if o.kept == nil || len(o.kept.fields) != len(of.fields) {
		return ""
	}
	return o.kept.fields[field].anyLost()
}

func (h *holding) anyLost() string {
	switch {
	case h == nil:
		return ""
	case h.lost != "":
		return h.lost
	}
	for _, part := range h.parts {
		if lost := part.anyLost(); lost != "" {
			return lost
		}
	}
	return ""
}

// isLeftOut reports whether an Origin does not keep a class, and a plain one is written in its place.
func isLeftOut(class string) bool {
	return strings.HasPrefix(class, "java.util.Collections$") || strings.HasPrefix(class, "java.util.concurrent.")
}

// holdingOf returns what is to be kept of a value that is declared as j, or nil.
func holdingOf(value any, j *javaType) *holding {
	h := holding{}
	switch value := value.(type) {
	case nil:
		h.null = j != nil && j.kind == kindOptional
	case []any:
		h.hold(value, j)
	case *elements:
		h.elements(value, j)
		h.hold(value.all, j)
	case *dictionary:
		h.hold(value.values, j)
		h.dictionary(value, j)
	}
	return h.orNil()
}

func (h *holding) elements(e *elements, j *javaType) {
	if !isLeftOut(e.lost) {
		h.lost = e.lost
	}
	if !e.isArray() && e.class != e.classIn(j) {
		h.class, h.array = e.class, e.array
	}
	if e.class == treeSetName && !isTreeOrder(e.all) {
		h.tree = e.all
	}
	h.holdTable(e.table, len(e.all), e.isSet())
}

func (h *holding) dictionary(d *dictionary, j *javaType) {
	if !isLeftOut(d.lost) {
		h.lost = d.lost
	}
	h.holdTable(d.table, len(d.keys), false)
	written := &dictionary{class: hashMapName, keys: slices.Clone(d.keys), values: slices.Clone(d.values)}
	if j != nil && j.kind == kindMap && j.list != nil {
		written.class = j.list.class
	}
	if d.class != written.class {
		h.class, written.class = d.class, d.class
	}
	if written.sort(); h.parts != nil || d.class == treeMapName && !isTreeOrder(d.keys) || !slices.EqualFunc(written.keys, d.keys, sameKey) {
		h.keys = d.keys
	}
}

func (h *holding) orNil() *holding {
	if h.class == "" && h.keys == nil && h.tree == nil && h.parts == nil && h.table == (hashTable{}) && h.lost == "" && !h.null {
		return nil
	}
	return h
}

// hold keeps what is to be kept of parts.
func (h *holding) hold(all []any, j *javaType) {
	for i, value := range all {
		part := holdingOf(value, elementOf(j))
		if part == nil {
			continue
		}
		if h.parts == nil {
			h.parts = make([]*holding, len(all))
		}
		h.parts[i] = part
	}
}

// holdTable keeps a table that is not the one of n entries.
func (h *holding) holdTable(t hashTable, n int, isSet bool) {
	usual := hashTable{}.orOf(n)
	if isSet {
		usual.threshold = t.threshold // which no set writes
	}
	if t.capacity != 0 && t != usual {
		h.table, h.size = t, n
	}
}

// classIn returns the class that is written for a collection declared as j.
func (e *elements) classIn(j *javaType) string {
	switch {
	case j != nil && j.kind == kindList && j.list != nil:
		return j.list.class
	case e.isSet():
		return hashSetName
	}
	return arrayListName
}

func (h *holding) restore(value any) any {
	if h == nil {
		return value
	}
	switch value := value.(type) {
	case []any:
		return h.list(&elements{class: arrayListName, all: value})
	case *elements:
		return h.list(value)
	case *dictionary:
		h.mapping(value)
	case optional:
		if h.null && value.value == nil {
			return nil
		}
	}
	return value
}

func (h *holding) list(e *elements) any {
	if len(h.parts) == len(e.all) {
		for i, part := range h.parts {
			e.all[i] = part.restore(e.all[i])
		}
	}
	becomesSet := isSetClass(h.class) && !e.isSet() && !repeats(e.all) // in a field of a Collection
	if !e.isArray() && (isSetClass(h.class) == e.isSet() || becomesSet) {
		e.class = cmp.Or(fitting(h.class, e.all, e.all), e.class)
	}
	if len(e.all) == h.size {
		e.table = h.table
	}
	e.ofJava = e.class == treeSetName && h.tree != nil && isWithin(e.all, h.tree)
	if h.array != nil && !slices.ContainsFunc(e.all, func(v any) bool { return v != nil && kindOfJava(v) != h.array.kind }) {
		e.array = h.array
	}
	if e.class == arrayListName {
		return e.all
	}
	return e
}

func (h *holding) mapping(d *dictionary) {
	numbers := map[any]int{}
	for i, key := range h.keys {
		numbers[identity(key)] = i
	}
	place := func(key any) int {
		if i, known := numbers[identity(key)]; known {
			return i
		}
		return len(h.keys)
	}
	for i, key := range d.keys {
		if at := place(key); at < len(h.parts) {
			d.values[i] = h.parts[at].restore(d.values[i])
		}
	}
	d.class = cmp.Or(fitting(h.class, d.keys, d.values), d.class)
	d.sort()
	if len(d.keys) == h.size {
		d.table = h.table
	}
	changed := len(numbers) != len(d.keys) || slices.ContainsFunc(d.keys, func(key any) bool { return place(key) == len(h.keys) })
	isTree := d.class == treeMapName && h.keys != nil
	d.ofJava = isTree && !slices.ContainsFunc(d.keys, func(key any) bool { return place(key) == len(h.keys) })
	if h.keys != nil && (!changed || isTree || d.class == linkedHashMapName) {
		d.arrange(d.order(), func(i, j int) int { return cmp.Compare(place(d.keys[i]), place(d.keys[j])) })
	}
}

// isWithin reports whether values are some of others, in their order.
func isWithin(some, all []any) bool {
	same := comparison{}.same
	for _, value := range some {
		at := slices.IndexFunc(all, func(other any) bool { return same(value, other) })
		if at < 0 {
			return false
		}
		all = all[at+1:]
	}
	return true
}

// fitting returns the class that Java holds a collection in which it held in class
// before, as List.of has one for two elements and another for more, or "" where none can
// hold what it has now. Of a map values are apart from keys.
func fitting(class string, keys, values []any) string {
	t := kryoTypes[class]
	n := len(keys)
	switch t.form {
	case formEmpty:
		if n > 0 {
			return ""
		}
	case formSingleton:
		if n != 1 {
			return ""
		}
	case formNoNulls:
		if hasNil(keys) || hasNil(values) || t.set && !distinct(keys) {
			return ""
		}
		return immutableClass(t, n)
	}
	return class
}

func immutableClass(t kryoType, n int) string {
	if t.list == immutableName+"SubList" || t.list == immutableName+"ListN" && n > 0 {
		return t.list // Stream.toList has the latter for a few
	}
	name := "List"
	few := n == 1 || n == 2
	switch {
	case t.kind == kindMap && n == 1:
		return immutableName + "Map1"
	case t.kind == kindMap:
		return immutableName + "MapN"
	case t.set:
		name = "Set"
	}
	if few {
		return immutableName + name + "12"
	}
	return immutableName + name + "N"
}

// distinct reports whether values are different for certain: Set.of refuses to hold one
// twice.
func distinct(all []any) bool {
	seen := map[any]bool{}
	for _, value := range all {
		switch value.(type) {
		case *object, []any, *elements, *dictionary:
			return len(all) == 1 // more of them their equals methods compare
		}
		seen[identity(value)] = true
	}
	return len(seen) == len(all)
}

// identity returns what is equal for keys that are equal.
func identity(key any) any {
	switch key := key.(type) {
	case constant:
		return [2]string{key.of.name, key.name}
	case *big.Int:
		return key.String()
	case Decimal:
		if unscaled, scale, err := key.parts(); err == nil {
			return decimalOf(unscaled, scale)
		}
	}
	if t := reflect.TypeOf(key); t != nil && !t.Comparable() {
		return &key
	}
	return key
}

func sameKey(a, b any) bool { return identity(a) == identity(b) }

// isSetClass reports whether a collection is a set; of those that no codec here but JSON knows, such as
// java.util.EnumSet<demo.Color>, the name tells.
func isSetClass(name string) bool {
	if t, known := kryoTypes[name]; known {
		return t.set
	}
	name, _, _ = strings.Cut(name, "<")
	return strings.Contains(name[strings.LastIndexByte(name, '.')+1:], "Set")
}
