package codec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// Collection is what an any holds for a list, a set or a map of Java that the plain Go value does not stand
// for: one of another class than ArrayList, HashSet and HashMap, such as LinkedList, TreeMap or that of
// List.of, and a HashMap or HashSet whose entries are in another order, or whose table is of another size,
// than those of one that was filled entry by entry. It is written as it was read, so that Contains, Remove and
// Retain find it.
//
// Whether a HashMap is one is up to its keys: take Plain before a type switch. A Collection of a class that is
// read and not written here, such as that of Collections.unmodifiableList, fails to encode, with a *ValueError
// that names it; Keep writes it.
type Collection struct {
	value any
	held  *holding
}

// Class returns the class of Java, such as "java.util.LinkedList".
func (c Collection) Class() string {
	if c.held == nil {
		return ClassOf(c.value)
	}
	return javaClass(cmp.Or(c.held.class, ClassOf(c.value)), c.held.lost)
}

// Value returns the plain Go value: []any, Set, map[string]any or map[any]any. Those within it may be
// Collections. It must not be changed: a changed copy is written as an ArrayList, a HashSet or a HashMap, as
// every plain value.
func (c Collection) Value() any { return c.value }

// Keys returns the keys of a map in the order in which Java holds them; nil for a list or a set, whose value
// has its order, and for a map that is in the order that its class gives it.
func (c Collection) Keys() []any {
	if c.held == nil {
		return nil
	}
	return slices.Clone(c.held.keys)
}

// MarshalJSON returns the plain Go value as JSON, keys of a map as text.
func (c Collection) MarshalJSON() ([]byte, error) {
	m, is := c.value.(map[any]any)
	if !is {
		return json.Marshal(c.value)
	}
	named := make(map[string]any, len(m))
	for key, value := range m {
		named[fmt.Sprint(key)] = value
	}
	return json.Marshal(named)
}

// Plain returns a value with the plain Go value of each Collection in it, at any depth of []any, Set,
// map[string]any and map[any]any. It is written as ArrayList, HashSet and HashMap.
func Plain(value any) any {
	switch value := value.(type) {
	case Collection:
		return Plain(value.value)
	case []any:
		return plainList(value)
	case Set:
		return Set(plainList(value))
	case map[string]any:
		return plainMap(value)
	case map[any]any:
		return plainMap(value)
	}
	return value
}

func plainList(all []any) []any {
	all = slices.Clone(all)
	for i := range all {
		all[i] = Plain(all[i])
	}
	return all
}

func plainMap[K comparable](m map[K]any) map[K]any {
	if m == nil {
		return nil
	}
	plain := make(map[K]any, len(m))
	for key, value := range m {
		plain[key] = Plain(value)
	}
	return plain
}

var heldType = reflect.TypeFor[Collection]()

// heldAs returns what an any is to keep of a value besides the Go value, but for its parts, which keep theirs;
// nil for nothing.
func heldAs(value any) *holding {
	h := holding{}
	switch value := value.(type) {
	case *elements:
		h.elements(value, nil)
		h.lost = value.lost
	case *dictionary:
		h.dictionary(value, nil)
		h.lost = value.lost
	}
	return h.orNil()
}

// heldToJava returns a collection as Java held it.
func (g *registry) heldToJava(c Collection, depth int) (any, error) {
	refused := func(what, why string) (any, error) {
		return nil, &ValueError{g.codec, fmt.Sprintf("a %s, which %s; codec.Keep writes what was read, and codec.Plain makes an ArrayList, a HashSet or a HashMap of it", what, why)}
	}
	value, err := g.anyToJava(reflect.ValueOf(c.value), depth)
	switch {
	case err != nil || c.held == nil:
		return value, err
	case c.held.lost != "" && !g.plain():
		return refused(c.held.lost, "is read and not written here")
	}
	value = c.held.restore(value)
	if class := classOf(value); class != c.Class() {
		return refused(c.Class(), "cannot hold what its Value has been changed to")
	} else if !g.codec.writesCollection(class) {
		return refused(class, fmt.Sprintf("%s does not write here", g.codec))
	}
	return value, nil
}

// writesCollection reports whether a codec writes a class of collections as that class.
func (n Name) writesCollection(class string) bool {
	t, known := kryoTypes[class]
	_, isWrapper := jdkWrappers[class]
	switch {
	case n != NameMarshalling && n != NameSerialization:
		return known || n != NameKryo5 // JSON has the names of all
	case t.form == formNoNulls:
		return class != immutableName+"SubList"
	}
	return isWrapper || class == arrayListName || class == arraysListName || exactSets[class] || exactMaps[class]
}
