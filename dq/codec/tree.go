package codec

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
)

// treeOrderOf returns the numbers of the elements of a TreeSet, or of the keys of a TreeMap, in the order in which that
// holds them, each once: Java takes what it reads for sorted, and finds nothing in a set that is not. It is false where
// compareTo is not known here.
func treeOrderOf(all []any) (order []int, known bool) {
	order = make([]int, len(all))
	for i, value := range all {
		order[i] = i
		if _, known := compareTo(all[0], value); !known && len(all) > 1 {
			return nil, false
		}
	}
	compare := func(i, j int) int {
		order, _ := compareTo(all[i], all[j])
		return order
	}
	slices.SortStableFunc(order, compare)
	return slices.CompactFunc(order, func(i, j int) bool { return compare(i, j) == 0 }), true
}

// sortedAs returns the elements of a slice, as they are written, in the order of a TreeSet where that is known.
func sortedAs(list []any, slice reflect.Value) []any {
	order, known := treeOrderOf(list)
	if !known { // what encoding/json writes
		values := make([]any, len(list))
		for i := range values {
			values[i] = reflect.Indirect(slice.Index(i)).Interface()
			if n, is := values[i].(big.Int); is {
				values[i] = &n
			}
		}
		order, known = treeOrderOf(values)
	}
	if !known {
		return list
	}
	return pick(list, order)
}

// isTreeOrder reports whether a TreeSet or TreeMap is known to have elements or keys in their order.
func isTreeOrder(all []any) bool {
	order, known := treeOrderOf(all)
	return known && len(order) == len(all) && slices.IsSorted(order)
}

// pick returns the elements of those numbers.
func pick(all []any, numbers []int) []any {
	picked := make([]any, len(numbers))
	for i, n := range numbers {
		picked[i] = all[n]
	}
	return picked
}

// plant brings the TreeSets and TreeMaps of a value of Go, but for those in objects, into the order of Java. It fails for
// one whose order is known neither here nor to an Origin.
func (g *registry) plant(value any) error {
	switch value := value.(type) {
	case optional:
		return g.plant(value.value)
	case []any:
		return g.plantAll(value)
	case *elements:
		if value.class == treeSetName {
			return g.plantSet(value)
		}
		return g.plantAll(value.all)
	case *dictionary:
		if value.class == treeMapName {
			if err := g.plantMap(value); err != nil {
				return err
			}
		}
		return g.plantAll(value.values)
	}
	return nil
}

func (g *registry) plantAll(all []any) error {
	for i, value := range all {
		if err := g.plant(value); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func (g *registry) plantSet(e *elements) error {
	order, known := treeOrderOf(e.all)
	switch {
	case e.ofJava && g.isJSON(): // with a comparator, of which JSON has nothing
	case known:
		e.all = pick(e.all, order)
	case !e.ofJava && g.writesHierarchy():
		return g.unordered(e.class, e.all)
	}
	return nil
}

func (g *registry) plantMap(d *dictionary) error {
	order, known := treeOrderOf(d.keys)
	switch {
	case d.ofJava && g.isJSON():
	case known && len(order) < len(d.keys):
		return &ValueError{g.codec, fmt.Sprintf("a %s with two keys that are one in Java, by compareTo", d.class)}
	case known:
		d.keys, d.values = pick(d.keys, order), pick(d.values, order)
	case !d.ofJava && g.writesHierarchy():
		return g.unordered(d.class, d.keys)
	}
	return nil
}

func (g *registry) unordered(class string, all []any) error {
	var classes []string
	for _, value := range all {
		if of := classOf(value); !slices.Contains(classes, of) {
			classes = append(classes, of)
		}
	}
	return &ValueError{g.codec, fmt.Sprintf("a %s of %s, whose order is not known here; a struct with an Origin keeps the one that was read", class, strings.Join(classes, " and "))}
}

// compareKeys orders keys of one class as compareTo does, others by their text.
func compareKeys(a, b any) int {
	if order, known := compareTo(a, b); known {
		return order
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
