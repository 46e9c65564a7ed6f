package codec

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// dictionary is a map of Java with its entries in the order in which they are iterated.
type dictionary struct {
	class  string // as Class.getName writes it
	keys   []any
	values []any
	table  hashTable
	lost   string // see elements
	ofJava bool   // see elements
}

// hashTable is what HashMap, HashSet and the like write of their table; the zero value
// stands for that of one that was filled entry by entry.
type hashTable struct{ capacity, threshold int32 }

// table returns the one that an object wrote.
func (r *record) table() hashTable {
	raw, _ := r.content()
	if len(raw) < 4 {
		return hashTable{}
	}
	threshold, _ := r.field("threshold").(int32)
	t := hashTable{int32(binary.BigEndian.Uint32(raw)), threshold}
	if t.capacity < 1 || t.capacity > 1<<30 || threshold < 0 {
		return hashTable{}
	}
	return t
}

// orOf returns the table, or that of n entries. Of a set nobody writes the threshold.
func (t hashTable) orOf(n int) hashTable {
	if t.capacity == 0 {
		t.capacity, t.threshold = hashMapState(n)
	}
	return t
}

func (d *dictionary) add(key, value any) {
	d.keys = append(d.keys, key)
	d.values = append(d.values, value)
}

// dictionaries has what the tag of a map can say, as in `java:"TreeMap"`.
var dictionaries = map[string]*collection{
	"HashMap":       {declared: hashMapName, class: hashMapName},
	"LinkedHashMap": {declared: linkedHashMapName, class: linkedHashMapName},
	"TreeMap":       {declared: treeMapName, class: treeMapName},
	"SortedMap":     {declared: "java.util.SortedMap", class: treeMapName},
	"NavigableMap":  {declared: "java.util.NavigableMap", class: treeMapName},
}

// sort brings the entries of a Go map, which has no order, into the order that Java's
// map has: a HashMap filled entry by entry iterates by bucket. Keys of one bucket are in
// the order of insertion there; here, as in a LinkedHashMap, they are sorted.
func (d *dictionary) sort() {
	capacity := hashMapCapacity(len(d.keys))
	buckets := make([]uint32, len(d.keys))
	order := d.order()
	for i, key := range d.keys {
		if d.class == hashMapName {
			buckets[i] = bucket(key, capacity)
		}
	}
	d.arrange(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(buckets[i], buckets[j]), compareKeys(d.keys[i], d.keys[j]))
	})
}

// refill brings the entries into the order that they have in Java once they were put into the map one by one.
func (d *dictionary) refill() {
	capacity := hashMapCapacity(len(d.keys))
	d.arrange(d.order(), func(i, j int) int {
		if d.class == treeMapName {
			return compareKeys(d.keys[i], d.keys[j])
		}
		return cmp.Compare(bucket(d.keys[i], capacity), bucket(d.keys[j], capacity))
	})
}

// arrange brings the entries, of which order has the numbers, into another order.
func (d *dictionary) arrange(order []int, compare func(i, j int) int) {
	slices.SortStableFunc(order, compare)
	keys, values := slices.Clone(d.keys), slices.Clone(d.values)
	for to, from := range order {
		d.keys[to], d.values[to] = keys[from], values[from]
	}
}

// order returns the numbers of the entries.
func (d *dictionary) order() []int {
	order := make([]int, len(d.keys))
	for i := range order {
		order[i] = i
	}
	return order
}

// hashMapCapacity returns the table size of a HashMap that grew to n entries.
func hashMapCapacity(n int) int {
	capacity := 16
	for n > capacity/4*3 {
		capacity *= 2
	}
	return capacity
}

// hasTrees reports whether a HashMap that is filled with keys in their order has nine of them in one bucket, of which it
// makes a tree, or grows for them. Where Java itself has another order each time, or hashCode is not known here, nobody
// can tell, and the answer is false.
func hasTrees(keys []any) bool {
	const longest = 8
	var lengths map[uint32]int
	var hashed []any
	capacity := 0
	for _, key := range keys {
		key = unshared(key)
		if _, has := javaHash(key); !has {
			continue
		}
		hashed = append(hashed, key)
		added := hashed[len(hashed)-1:]
		if grown := hashMapCapacity(len(hashed)); grown != capacity {
			capacity, lengths, added = grown, map[uint32]int{}, hashed
		}
		for _, key := range added {
			at := bucket(key, capacity)
			if lengths[at]++; lengths[at] > longest {
				return true
			}
		}
	}
	return false
}

// bucket returns in which bucket of a HashMap a key is; 0 for one whose hashCode is not known here.
func bucket(key any, capacity int) uint32 {
	hash, _ := javaHash(key)
	return (hash ^ hash>>16) & uint32(capacity-1)
}

// named reports whether all keys are texts.
func (d *dictionary) named() bool {
	return !slices.ContainsFunc(d.keys, func(key any) bool { _, isText := key.(string); return !isText })
}
