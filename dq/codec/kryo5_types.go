package codec

import "strings"

// kryoType is a class as the bytes name it, or as a field declares it.
type kryoType struct {
	kind  kind
	class *class
	enum  *enum
	// list is the class of a collection that is no plain list, or of an array.
	list string
	// dictionary is the class of a map.
	dictionary string
	elem       *javaType // of an array
	form       listForm
	set        bool // it is a collection that is a set
	null       bool
}

// listForm is how a collection or map is written.
type listForm uint8

const (
	formPlain     listForm = iota
	formNoNulls            // its elements cannot be null
	formSorted             // a comparator comes before the elements
	formEmpty              // nothing comes
	formSingleton          // its element comes, or its key and value
)

// kryoTypes has the classes of the JDK that are read.
var kryoTypes = func() map[string]kryoType {
	types := map[string]kryoType{
		bytesName:                {kind: kindBytes},
		arrayListName:            {kind: kindList},
		linkedListName:           {kind: kindList},
		arraysListName:           {kind: kindList},
		hashSetName:              {kind: kindList, set: true},
		linkedHashSetName:        {kind: kindList, set: true},
		treeSetName:              {kind: kindList, set: true, form: formSorted},
		hashMapName:              {kind: kindMap},
		linkedHashMapName:        {kind: kindMap},
		treeMapName:              {kind: kindMap, form: formSorted},
		optionalName:             {kind: kindOptional},
		concurrentHashMapName:    {kind: kindMap},
		copyOnWriteArrayListName: {kind: kindList},
		emptyListName:            {kind: kindList, form: formEmpty}, emptySetName: {kind: kindList, set: true, form: formEmpty}, emptyMapName: {kind: kindMap, form: formEmpty},
		singletonListName: {kind: kindList, form: formSingleton}, singletonSetName: {kind: kindList, set: true, form: formSingleton},
		singletonMapName: {kind: kindMap, form: formSingleton},
	}
	for name, t := range map[string]kryoType{
		"List12": {kind: kindList}, "ListN": {kind: kindList}, "SubList": {kind: kindList},
		"Set12": {kind: kindList, set: true}, "SetN": {kind: kindList, set: true}, "Map1": {kind: kindMap}, "MapN": {kind: kindMap},
	} {
		t.form = formNoNulls
		types[immutableName+name] = t
	}
	for name, s := range scalarClasses {
		types[name] = kryoType{kind: s.kind}
	}
	for name, t := range types {
		switch {
		case t.kind == kindMap:
			t.dictionary = name
		case t.kind == kindList && name != arrayListName:
			t.list = name
		}
		types[name] = t
	}
	return types
}()

// kryoIDs has the classes that Kryo registers, by their id on the wire.
var kryoIDs = map[uint64]kind{
	kryoInteger: kindInt, kryoString: kindString, kryoFloat: kindFloat, kryoBoolean: kindBool, kryoByte: kindByte,
	kryoChar: kindChar, kryoShort: kindShort, kryoLong: kindLong, kryoDouble: kindDouble,
}

// arrayType returns the type of an array of numbers, texts, scalars, or known
// classes.
func (r *kryoReader) arrayType(name string) (kryoType, bool) {
	of, isArray := strings.CutPrefix(name, "[")
	if !isArray {
		return kryoType{}, false
	}
	elem := &javaType{kind: kindAny}
	for k, p := range primitives {
		switch of {
		case p.signature:
			elem = &javaType{kind: k}
		case "L" + p.box + ";":
			elem = &javaType{kind: k, boxed: true}
		}
	}
	class := strings.TrimSuffix(strings.TrimPrefix(of, "L"), ";")
	s, isScalar := scalarClasses[class]
	enum := r.registry.enum(class)
	known := r.registry.class(class)
	switch {
	case isScalar:
		elem = &javaType{kind: s.kind}
	case class == javaLangString:
		elem = &javaType{kind: kindString}
	case enum != nil:
		elem = &javaType{kind: kindEnum, enum: enum}
	case known != nil:
		elem = &javaType{kind: kindObject, class: known}
	case elem.kind == kindAny && class != javaLangObject:
		return kryoType{}, false // whether the class is final is not known
	}
	return kryoType{kind: kindList, list: name, elem: elem}, true
}
