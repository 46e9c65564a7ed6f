package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
)

// notCarried is why a collection is not carried from one codec to another.
const notCarried = "what becomes of it in another codec is not known here"

// exactMaps and exactSets are the collections that every format with classes writes as they are. Kryo5
// writes those of kryoTypes besides.
var (
	exactMaps = map[string]bool{hashMapName: true, linkedHashMapName: true, treeMapName: true}
	exactSets = map[string]bool{linkedListName: true, hashSetName: true, linkedHashSetName: true, treeSetName: true}
)

// exactly returns a value of a class of the JDK that was read from a record as Java has it: a collection
// as the very class that it was, and none with a comparator.
func exactly(class string, r *record, value any) any {
	var comparator any
	switch _, values := r.content(); class {
	case treeMapName:
		comparator = r.field("comparator")
	case treeSetName:
		if len(values) > 0 { // of broken bytes there may be none
			comparator = values[0]
		}
	case linkedHashMapName:
		if r.field("accessOrder") == true {
			return foreign{class, "in the order of access, which other codecs do not write"}
		}
	case "java.util.CollSer":
		class = immutableClassOf(value)
	}
	return exactCollection(class, value, comparator)
}

// immutableClassOf returns the class of what List.of, Set.of or Map.of made; "" for one that holds null.
func immutableClassOf(value any) string {
	switch value := value.(type) {
	case *elements:
		if value.lost == "" {
			return value.class
		}
		if !hasNil(value.all) {
			return immutableClass(kryoType{kind: kindList}, len(value.all))
		}
	case *dictionary:
		return value.class
	}
	return ""
}

func exactCollection(class string, value, comparator any) any {
	if comparator != nil {
		return foreign{class, "with a comparator, which is not carried from one codec to another"}
	}
	t, carried := kryoTypes[class]
	switch known := value.(type) {
	case []any:
		if class == arrayListName {
			return value
		}
		if carried && t.kind == kindList {
			return &elements{class: class, all: known}
		}
	case *elements:
		if carried && t.kind == kindList && !known.isArray() {
			return &elements{class: class, all: known.all}
		}
		if known.isArray() {
			return value
		}
	case *dictionary:
		if carried && t.kind == kindMap {
			return &dictionary{class: class, keys: known.keys, values: known.values}
		}
	default:
		return value
	}
	return foreign{class, "it is a " + cmp.Or(class, "List.of with null") + ": " + notCarried}
}

// riverOfCollections has what methods of java.util.Collections return.
var riverOfCollections = func() map[byte]string {
	classes := map[byte]string{
		riverEmptyList: "EmptyList", riverEmptySet: "EmptySet", riverEmptyMap: "EmptyMap",
		riverSingletonList: "SingletonList", riverSingletonSet: "SingletonSet", riverSingletonMap: "SingletonMap",
		riverUnmodifiableCollection: "UnmodifiableCollection", riverUnmodifiableList: "UnmodifiableList",
		riverUnmodifiableMap: "UnmodifiableMap", riverUnmodifiableSet: "UnmodifiableSet",
	}
	for code, name := range classes {
		classes[code] = "java.util.Collections$" + name
	}
	return classes
}()

// exactOfCollections reads what a method of java.util.Collections has returned.
func (r *riverReader) exactOfCollections(code byte) any {
	class := riverOfCollections[code]
	switch code {
	case riverEmptyList, riverEmptySet:
		return &elements{class: class}
	case riverEmptyMap:
		return &dictionary{class: class}
	}
	number := r.assign(selfReference(class))
	switch value := r.value(); code {
	case riverSingletonList, riverSingletonSet:
		return r.become(number, &elements{class: class, all: []any{value}})
	case riverSingletonMap:
		return r.become(number, &dictionary{class: class, keys: []any{value}, values: []any{r.value()}})
	}
	return r.become(number, foreign{class, "it is a " + class + ": " + notCarried})
}

// exact returns the object that a record is, where its classes are those that are known: the same
// fields on each level.
func (r *record) exact(c *class) any {
	wrong := func(format string, args ...any) any { return foreign{r.chain[0].name, fmt.Sprintf(format, args...)} }
	o := &object{class: c, fields: make([]any, len(c.fields))}
	levels := c.levels()
	if len(levels) != len(r.chain) {
		return wrong("with %d serializable classes from the top of its hierarchy down, where its class file has %d", len(r.chain), len(levels))
	}
	for i, level := range r.chain {
		if known := levels[len(levels)-1-i]; known.name != level.name || *known.uid != level.uid {
			return wrong("of another version of its class: the value has %s with serialVersionUID %d, the class file %s with %d", level.name, level.uid, known.name, *known.uid)
		}
	}
	taken := 0
	var unknown string
	r.each(func(level int, name string, value any) {
		i := slices.IndexFunc(c.fields, func(f field) bool { return f.name == name && f.of.name == r.chain[level].name })
		if i < 0 {
			unknown = name
			return
		}
		o.fields[i] = value
		taken++
	})
	switch {
	case unknown != "":
		return wrong("of another version of its class: the value has the field %q, which the class file has not", unknown)
	case taken != len(c.fields):
		return wrong("of another version of its class: the value has %d fields, the class file %d", taken, len(c.fields))
	}
	return o
}

// orderedJSON is a JSON document as encoding/json has it, with the order of the keys of its objects.
type orderedJSON struct {
	decoder *json.Decoder
	order   map[uintptr][]string // by the address of the object's map, which the document holds
	once    func(key string) bool
}

// parseOrdered reads a document, in which no object has a key twice that comes once; of the others the last counts.
func parseOrdered(data []byte, once func(key string) bool) (document any, order map[uintptr][]string, err error) {
	o := orderedJSON{json.NewDecoder(bytes.NewReader(data)), map[uintptr][]string{}, once}
	o.decoder.UseNumber()
	document, err = o.value(0)
	if err == nil {
		if _, end := o.decoder.Token(); end != io.EOF {
			err = errors.New("expected nothing after the JSON document")
		}
	}
	return document, o.order, err
}

func (o *orderedJSON) value(depth int) (any, error) {
	token, err := o.decoder.Token()
	if err != nil || depth > 2*maxDepth { // a list with its class has two brackets
		return nil, cmp.Or(err, fmt.Errorf("values nested deeper than %d", maxDepth))
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for o.decoder.More() {
			element, err := o.value(depth + 1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		_, err = o.decoder.Token()
		return list, err
	case json.Delim('{'):
		return o.object(depth)
	}
	return token, nil
}

func (o *orderedJSON) object(depth int) (any, error) {
	members := map[string]any{}
	var keys []string
	for o.decoder.More() {
		token, err := o.decoder.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		_, twice := members[key]
		switch {
		case !twice:
			keys = append(keys, key)
		case o.once(key):
			return nil, fmt.Errorf("the key %.80q comes twice", key)
		}
		if members[key], err = o.value(depth + 1); err != nil {
			return nil, err
		}
	}
	o.order[reflect.ValueOf(members).Pointer()] = keys
	_, err := o.decoder.Token()
	return members, err
}

// exactKeys returns the names of members but for the class, in the order of the document where that is known.
func (d jsonDecoder) exactKeys(members map[string]any) []string {
	keys := slices.Clone(d.order[reflect.ValueOf(members).Pointer()])
	if d.order == nil {
		keys = slices.Sorted(maps.Keys(members))
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == classKey && d.codec.typed() })
}

// mapOfPlainJSON returns the class of the map that Jackson makes where plain JSON has an object; "" where that is not known.
func mapOfPlainJSON(declared *javaType) string {
	switch {
	case declared.kind == kindMap && declared.list != nil:
		return declared.list.class
	case declared.kind == kindMap, declared.kind == kindAny && (declared.declared == "" || declared.declared == javaLangObject):
		return linkedHashMapName
	}
	return ""
}

// exactMapping is mapping for a Recoder: the very class, in the order that Java reads it in.
func (d jsonDecoder) exactMapping(class string, members map[string]any, declared *javaType, depth int) (any, error) {
	if class == "" {
		return nil, d.errorf("the value holds a map or an object without a class, of which these bytes do not tell what it is in Java")
	}
	m := &dictionary{class: class}
	for _, key := range d.exactKeys(members) {
		value, err := d.value(members[key], elementType(declared), depth+1)
		if err != nil {
			return nil, err
		}
		m.add(key, value)
	}
	switch {
	case d.order == nil && class == linkedHashMapName:
		return nil, d.errorf("the value holds a %s, whose order is not read here", class)
	case d.order == nil:
		m.sort()
	case !d.codec.typed() && class != linkedHashMapName:
		m.refill()
	case class == treeMapName && !isSorted(m.keys):
		return nil, d.errorf("the value holds a %s in another order than that of its keys", class)
	}
	return m, nil
}

// exactElements is elements for a Recoder.
func (d jsonDecoder) exactElements(class string, all []any, declared *javaType, depth int) (any, error) {
	list, err := d.list(all, declared, depth)
	if err != nil {
		return nil, err
	}
	e := &elements{class: class, all: list.([]any)}
	switch {
	case class == treeSetName && !isSorted(e.all):
		return nil, d.errorf("the value holds a %s in another order than that of its elements, or of others than texts and integers", class)
	case isSetClass(class) && repeats(e.all):
		return nil, d.errorf("the value holds a %s that has an element twice", class)
	}
	return e, nil
}

// isSorted reports whether texts, or integers of one class, ascend, as they do in a TreeMap without a comparator.
func isSorted(all []any) bool {
	for i, value := range all {
		switch value.(type) {
		case string, int32, int64:
		default:
			return false
		}
		if i > 0 && (reflect.TypeOf(value) != reflect.TypeOf(all[i-1]) || compareKeys(all[i-1], value) >= 0) {
			return false
		}
	}
	return true
}

// repeats reports whether a scalar comes twice.
func repeats(all []any) bool {
	seen := map[any]bool{}
	for _, value := range all {
		key := identity(value)
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// mayDefault says that the constructor gives a value of its own to a field, or may, or nothing.
func (c *class) mayDefault(f field) string {
	switch {
	case slices.Contains(c.defaults, f.name):
		return "its constructor gives a value of its own"
	case c.opaque:
		return fmt.Sprintf("the constructor of %s may give a value of its own, as it does more with the object than store values in its fields", c.name)
	}
	return ""
}

// exactObject is object for a Recoder: an object has no members but the fields of its class.
func (d jsonDecoder) exactObject(members map[string]any, class *class, depth int) (any, error) {
	keys := d.exactKeys(members)
	if class.record && len(keys) == 0 && len(class.fields) > 0 {
		return nil, d.errorf("the record %s has no members: so Jackson 2.15.0 of Redisson 3.21.1 writes each, whatever it held", class.name)
	}
	if problem := d.registry.model.unmade(class); problem != "" {
		return nil, d.errorf("the value holds a %s: %s", class.name, problem)
	}
	o := &object{class: class, fields: make([]any, len(class.fields))}
	for i, f := range class.fields {
		member, has := members[f.name]
		if f.typ.isPrimitive() && (!has || member == nil) {
			return nil, d.errorf("the object of %s lacks the member %q", class.name, f.name)
		}
		if wrong := class.mayDefault(f); wrong != "" && !has {
			return nil, d.errorf("the object of %s lacks the member %q, to which %s", class.name, f.name, wrong)
		}
		var err error
		if o.fields[i], err = d.value(member, f.typ, depth+1); err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.name, class.name, err)
		}
	}
	for _, key := range keys {
		extra, is := class.extra(key)
		if is && extra.field >= 0 && members[key] != o.fields[extra.field] {
			return nil, d.errorf("the object of %s has another value in %q than in its field", class.name, key)
		}
		if !is && !slices.Contains(class.fieldNames(), key) {
			return nil, d.errorf("the object of %s has the member %q, which the class file has no field for", class.name, key)
		}
	}
	return o, nil
}
