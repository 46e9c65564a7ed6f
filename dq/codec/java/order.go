package java

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf16"
)

// inOrder returns the keys of a map in the order in which Java iterates over one that was filled entry by entry, so that
// Java's remove and contains find it: a HashMap by bucket, a TreeMap by key. Keys of one bucket, and of a LinkedHashMap, are
// sorted.
func inOrder(m reflect.Value, t *typ) ([]reflect.Value, error) {
	keys := m.MapKeys()
	buckets := map[reflect.Value]uint32{}
	capacity := 16
	for len(keys) > capacity/4*3 {
		capacity *= 2
	}
	units := map[reflect.Value][]uint16{}
	for _, key := range keys {
		k := key
		if k.Kind() == reflect.Interface {
			k = k.Elem()
		}
		var hash uint32
		switch {
		case k.IsValid() && k.Kind() == reflect.String && scalarOfGo[k.Type()] == nil && t.key.kind != enumKind:
			units[key] = utf16.Encode([]rune(k.String()))
			for _, unit := range units[key] {
				hash = 31*hash + uint32(unit)
			}
		case k.IsValid() && k.CanInt() && scalarOfGo[k.Type()] == nil:
			hash = uint32(k.Int())
			if k.Kind() == reflect.Int64 {
				hash = uint32(k.Int() ^ int64(uint64(k.Int())>>32))
			}
		case t.value == "java.util.TreeMap":
			return nil, fmt.Errorf("got a java.util.TreeMap with keys of %v; the order of texts and integers only is known", m.Type().Key())
		}
		if t.value == "java.util.HashMap" {
			buckets[key] = (hash ^ hash>>16) & uint32(capacity-1)
		}
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		order := cmp.Or(cmp.Compare(buckets[a], buckets[b]), slices.Compare(units[a], units[b]))
		if a.CanInt() && b.CanInt() {
			order = cmp.Or(order, cmp.Compare(a.Int(), b.Int()))
		}
		return cmp.Or(order, cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return keys, nil
}
