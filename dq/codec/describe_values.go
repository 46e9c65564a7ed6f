package codec

import (
	"maps"
	"slices"
)

// typeOfValues returns the type that all values have, those that are null apart;
// java.lang.Object for values of several, "" for none.
func typeOfValues(values []any, depth int) JavaType {
	var shown JavaType
	var inner, keys []any
	for _, v := range values {
		t := shapeOf(v)
		switch {
		case v == nil:
			continue
		case shown.Class != "" && shown.Class != t.Class || depth > maxDepth:
			return JavaType{Class: javaLangObject}
		}
		shown = t
		switch v := v.(type) {
		case []any:
			inner = append(inner, v...)
		case *elements:
			inner = append(inner, v.all...)
		case *dictionary:
			keys, inner = append(keys, v.keys...), append(inner, v.values...)
		}
	}
	switch shown.Class {
	case mapName:
		shown.Of = []JavaType{typeOfValues(keys, depth+1), typeOfValues(inner, depth+1)}
	case listName, hashSetName, linkedHashSetName, treeSetName:
		shown.Of = []JavaType{typeOfValues(inner, depth+1)}
	}
	return shown
}

// shapeOf returns the type of a value without its arguments.
func shapeOf(value any) JavaType {
	switch value := value.(type) {
	case []byte:
		return typeOfSignature(bytesName, "")
	case []any:
		return JavaType{Class: listName}
	case *dictionary:
		return JavaType{Class: mapName}
	case *elements:
		if value.isArray() {
			return typeOfSignature(value.class, "")
		}
		return JavaType{Class: value.shownClass()}
	}
	return JavaType{Class: objectClassOf(value)}
}

// shownClass returns the class that a collection shows its field to have.
func (e *elements) shownClass() string {
	switch {
	case !e.isSet():
		return listName
	case e.class == linkedHashSetName || e.class == treeSetName:
		return e.class
	}
	return hashSetName
}

// objectClassOf returns the class of an object, a constant or a scalar.
func objectClassOf(value any) string {
	switch value := value.(type) {
	case *record:
		return value.chain[0].name
	case constant:
		return value.of.name
	case foreign:
		return value.class
	}
	return ClassOf(value)
}

// classesOf returns the classes of the objects among values, and in lists and maps.
func classesOf(values []any) []string {
	names := map[string]bool{}
	var gather func(values []any)
	gather = func(values []any) {
		for _, v := range values {
			switch v := v.(type) {
			case nil:
			case []any:
				gather(v)
			case *elements:
				gather(v.all)
			case *dictionary:
				gather(v.keys)
				gather(v.values)
			default:
				names[objectClassOf(v)] = true
			}
		}
	}
	gather(values)
	return slices.Sorted(maps.Keys(names))
}
