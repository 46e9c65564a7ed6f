package codec

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"unicode/utf16"
)

// treeOrderOf returns the numbers of the elements of a TreeSet, or of the keys of a TreeMap, in the order in which that
// holds them, each once: Java takes what Serialization and Marshalling have for sorted, and finds nothing in a set that
// is not. Where compareTo is not known here they keep the order that they have.
func treeOrderOf(all []any) []int {
	order := make([]int, len(all))
	plain := make([]any, len(all))
	isKnown := true
	for i, value := range all {
		order[i], plain[i] = i, unshared(value)
		_, known := compareTo(plain[0], plain[i])
		isKnown = isKnown && known
	}
	if !isKnown {
		return order
	}
	compare := func(i, j int) int {
		order, _ := compareTo(plain[i], plain[j])
		return order
	}
	slices.SortStableFunc(order, compare)
	return slices.CompactFunc(order, func(i, j int) bool { return compare(i, j) == 0 })
}

// pick returns the elements of those numbers.
func pick(all []any, numbers []int) []any {
	picked := make([]any, len(numbers))
	for i, n := range numbers {
		picked[i] = all[n]
	}
	return picked
}

// compareTo is that of a class of the JDK, and false for values of another one, or of two.
func compareTo(a, b any) (order int, known bool) {
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return 0, false
	}
	switch a := a.(type) {
	case string:
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b.(string)))), true
	case bool:
		return cmp.Compare(boolByte(a), boolByte(b.(bool))), true
	case int8:
		return cmp.Compare(a, b.(int8)), true
	case int16:
		return cmp.Compare(a, b.(int16)), true
	case uint16:
		return cmp.Compare(a, b.(uint16)), true
	case int32:
		return cmp.Compare(a, b.(int32)), true
	case int64:
		return cmp.Compare(a, b.(int64)), true
	case Date:
		return cmp.Compare(a, b.(Date)), true
	case UUID:
		return compareUUIDs(a, b.(UUID)), true
	case *big.Int:
		return a.Cmp(b.(*big.Int)), true
	case LocalDate:
		return compareDates(a, b.(LocalDate)), true
	case constant:
		return cmp.Compare(a.ordinal(), b.(constant).ordinal()), a.of.name == b.(constant).of.name
	}
	return 0, false
}

// compareUUIDs compares both halves as longs, which have a sign.
func compareUUIDs(a, b UUID) int {
	half := func(u UUID, at int) int64 { return int64(binary.BigEndian.Uint64(u[at:])) }
	return cmp.Or(cmp.Compare(half(a, 0), half(b, 0)), cmp.Compare(half(a, 8), half(b, 8)))
}

func compareDates(a, b LocalDate) int {
	return cmp.Or(cmp.Compare(a.Year, b.Year), cmp.Compare(a.Month, b.Month), cmp.Compare(a.Day, b.Day))
}

// compareKeys orders keys of one class as compareTo does, others by their text.
func compareKeys(a, b any) int {
	if order, known := compareTo(a, b); known {
		return order
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
