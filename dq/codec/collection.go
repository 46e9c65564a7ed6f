package codec

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// collection is a declared type of a collection or array.
type collection struct {
	declared string // the class of the field; empty for an array
	class    string // the class of the value that is written; empty for an array
	isSet    bool
}

// collections has what the tag of a slice can say, as in `java:"Set"`.
var collections = map[string]*collection{
	"array":         {},
	"Collection":    {declared: collectionName, class: arrayListName},
	"ArrayList":     {declared: arrayListName, class: arrayListName},
	"LinkedList":    {declared: linkedListName, class: linkedListName},
	"Set":           {declared: "java.util.Set", class: hashSetName, isSet: true},
	"HashSet":       {declared: hashSetName, class: hashSetName, isSet: true},
	"LinkedHashSet": {declared: linkedHashSetName, class: linkedHashSetName, isSet: true},
	"SortedSet":     {declared: "java.util.SortedSet", class: treeSetName, isSet: true},
	"TreeSet":       {declared: treeSetName, class: treeSetName, isSet: true},
}

// elements is a value that is a collection of another class than ArrayList, or an
// array.
type elements struct {
	class string // as Class.getName writes it: "java.util.HashSet", "[I"
	// elem is what an array that is written is declared to hold.
	elem *javaType
	// without are those of an object of elem.
	without []*class

	all   []any
	table hashTable
	// array is what the array behind an Arrays.asList is declared to hold; nil for Object.
	array *javaType
	// ofJava says that the order of a TreeSet is the one that it had in Java.
	ofJava bool
	// lost is the class that Java holds it as, and what of it besides, where that is not written here; class
	// is then the nearest one.
	lost string
}

// javaClass returns the class that Java holds a collection as.
func javaClass(class, lost string) string {
	held, _, _ := strings.Cut(lost, " ")
	return cmp.Or(held, class)
}

func (e *elements) isArray() bool { return strings.HasPrefix(e.class, "[") }

// isOtherList reports whether it is a list of a class that Marshalling and Serialization
// write as an ArrayList.
func (e *elements) isOtherList() bool {
	_, isWrapper := jdkWrappers[e.class]
	form := kryoTypes[e.class].form
	return !e.isArray() && !e.isSet() && !isWrapper && form != formNoNulls && e.class != linkedListName && e.class != arraysListName
}

func (e *elements) isSet() bool { return isSetClass(e.class) }

// listValue returns what a field of type j holds.
func (j *javaType) listValue(all []any) any {
	switch {
	case j.list == nil || j.list.class == arrayListName:
		return all
	case j.isArray():
		return &elements{class: j.className(), elem: j.elem, all: all}
	}
	return &elements{class: j.list.class, all: all}
}

// parameterTag reports whether a java tag tells a type parameter, as "T" does, and "T,erasure=java.lang.Number", whose
// bound it returns; "" is Object.
func parameterTag(tag string) (erasure string, is bool) {
	if tag == "T" {
		return "", true
	}
	erasure, is = strings.CutPrefix(tag, "T,erasure=")
	return erasure, is && isClassName(erasure) && !strings.ContainsAny(erasure, "[;/")
}

// tagged returns typ as the java tag of its field wants it. "T" tells a type parameter,
// or in "Set<T>" that of the elements.
func (g *registry) tagged(f reflect.StructField, typ *javaType, tag string) (*javaType, error) {
	base, ofParameter := strings.CutSuffix(tag, "<T>")
	erasure, isParameter := parameterTag(tag)
	if !isParameter && !ofParameter {
		return g.taggedAs(f, typ, tag)
	}
	var err error
	if ofParameter && base != "List" && base != "Map" {
		if typ, err = g.taggedAs(f, typ, base); err != nil {
			return nil, err
		}
	}
	own := *typ
	if ofParameter && typ.elem == nil {
		return nil, &TypeError{g.codec, f.Type, fmt.Sprintf("field %s: the tag java:%q wants a slice or a map", f.Name, tag)}
	}
	if ofParameter {
		own.elem = typ.elem.asParameter()
		return &own, nil
	}
	parameter := own.asParameter()
	if erasure != "" {
		parameter.erasure = &javaType{kind: kindAny, declared: erasure}
	}
	return parameter, nil
}

// asParameter returns the type as the argument of a type parameter, which is no
// primitive.
func (j *javaType) asParameter() *javaType {
	own := *j
	own.boxed, own.param = true, true
	return &own
}

// withoutParameter returns what the type parameter stands for, if j is one.
func (j *javaType) withoutParameter() *javaType {
	own := *j
	own.param = false
	return &own
}

func (g *registry) taggedAs(f reflect.StructField, typ *javaType, tag string) (*javaType, error) {
	if g.plain() && boxes[tag] == kindAny {
		return typ.inOrderOf(tag), nil // the bytes are the same for all
	}
	refused := func(reason string) (*javaType, error) {
		return nil, &TypeError{g.codec, f.Type, fmt.Sprintf("field %s: the tag java:%q %s", f.Name, tag, reason)}
	}
	if list, ok := dictionaries[tag]; ok {
		if typ.kind != kindMap {
			return refused("wants a map")
		}
		return &javaType{kind: kindMap, key: typ.key, elem: typ.elem, list: list}, nil
	}
	if list, ok := collections[tag]; ok {
		if typ.kind != kindList {
			return refused("wants a slice")
		}
		if e := typ.elem.kind; g.isJSON() && tag == "array" && (e == kindChar || e == kindByte) {
			return refused("is not known to this codec for characters and bytes; use a string, or []byte")
		}
		return &javaType{kind: kindList, elem: typ.elem, list: list}, nil
	}
	if s, isScalar := scalarClasses[tag]; isScalar && typ.kind == kindAny {
		return &javaType{kind: s.kind, boxed: true}, nil
	}
	if typ.kind == kindAny && isClassName(tag) && strings.Contains(tag, ".") {
		return &javaType{kind: kindAny, declared: tag}, nil
	}
	if tag == "Optional" {
		if f.Type.Kind() != reflect.Pointer {
			return refused("wants a pointer")
		}
		return &javaType{kind: kindOptional, elem: typ, boxed: true}, nil
	}
	switch want, ok := boxes[tag]; {
	case !ok:
		return refused("is none of those known: " + strings.Join(knownTags(), ", "))
	case want != typ.kind:
		return refused("wants another Go type")
	}
	return &javaType{kind: typ.kind, boxed: true}, nil
}

// inOrderOf returns the type as one whose order is that of a collection, of which the bytes do not tell the class.
func (j *javaType) inOrderOf(tag string) *javaType {
	list := collections[tag]
	if j.kind == kindMap {
		list = dictionaries[tag]
	}
	if list == nil || list.class != treeSetName && list.class != treeMapName {
		return j
	}
	own := *j
	own.sorted = true
	return &own
}

var boxes = map[string]kind{
	"Integer": kindInt, "Long": kindLong, "Boolean": kindBool, "Double": kindDouble,
	"Byte": kindByte, "Short": kindShort, "Character": kindChar, "Float": kindFloat,
}

func knownTags() []string {
	tags := []string{"Optional"}
	for tag := range boxes {
		tags = append(tags, tag)
	}
	tags = slices.AppendSeq(tags, maps.Keys(collections))
	tags = slices.AppendSeq(tags, maps.Keys(dictionaries))
	slices.Sort(tags)
	return tags
}

// checkList says what is wrong with a value for a slice that is declared as j, nil
// for none: Java would refuse what that slice becomes when it is written back.
func checkList(value any, j *javaType) string {
	var declared collection
	if j != nil && j.kind == kindList && j.list != nil {
		declared = *j.list
	}
	wantsArray := j != nil && j.isArray()
	e, other := value.(*elements)
	isArray, isSet := other && e.isArray(), other && e.isSet()
	switch {
	case isArray && !wantsArray:
		return "an array; tag the field `java:\"array\"`"
	case isSet && !declared.isSet && declared.declared != "java.util.Collection":
		return fmt.Sprintf("a %s; tag the field `java:%q`, or use codec.Set inside lists and maps", e.class, strings.TrimPrefix(e.class, "java.util."))
	case wantsArray && !isArray:
		return "a list; take the tag `java:\"array\"` away"
	case declared.isSet && !isSet:
		return "a list, and the tag of the field says a set"
	}
	return ""
}
