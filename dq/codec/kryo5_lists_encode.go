package codec

import "slices"

// elements writes a collection that is no plain list, or an array.
func (w *kryoWriter) elements(e *elements, j *javaType) {
	if !e.isArray() {
		w.list(e.all, kryoTypes[e.class].form, j)
		return
	}
	w.varint(uint64(len(e.all)) + 1)
	for _, element := range e.all {
		w.inArray(element, e.elem)
	}
}

// list writes the elements of a collection: without their class where a field
// declares it and it is final, with their class once if they have only one.
func (w *kryoWriter) list(list []any, form listForm, j *javaType) {
	switch form {
	case formEmpty:
		return
	case formSingleton:
		w.classAndObject(list[0], nil)
		return
	}
	elem := elementsOf(j, kindList).known(w.bound)
	declared := elem != nil && elem.isFinal()
	hasNull := hasNil(list)
	sample, same := sharedClass(list)
	switch {
	case len(list) == 0:
		w.buf = append(w.buf, 1)
	case declared && form == formNoNulls:
		w.varint(uint64(len(list)) + 1)
	case declared:
		w.flagged(hasNull, len(list)+1)
	default:
		w.flagged(same, len(list)+1)
	}
	if form == formSorted {
		w.buf = append(w.buf, kryoNull) // the comparator
	}
	k := kindOf(sample)
	switch {
	case len(list) == 0:
		return
	case declared:
		k, elem = elem.kind, elem.arguments()
	case !same:
		for _, element := range list {
			w.classAndObject(element, elem)
		}
		return
	default:
		w.class(sample)
		if sample == nil {
			return
		}
		if form != formNoNulls {
			w.bool(hasNull)
		}
	}
	for _, element := range list {
		if hasNull {
			w.orNull(element, k, elem)
		} else {
			w.object(element, elem)
		}
	}
}

// sharedClass returns the first element that is not null, and whether all others
// are of its class or null.
func sharedClass(list []any) (sample any, same bool) {
	var class string
	var id byte
	for _, element := range list {
		if element == nil {
			continue
		}
		nextID, next := kryoClass(element)
		if sample != nil && (next != class || nextID != id) {
			return nil, false
		}
		sample, id, class = element, nextID, next
	}
	return sample, true
}

func hasNil(list []any) bool { return slices.Contains(list, nil) }

// kindOf returns the kind of a value, for acceptsNull.
func kindOf(value any) kind {
	switch value.(type) {
	case string:
		return kindString
	case []byte:
		return kindBytes
	case []any, *elements:
		return kindList
	case *dictionary:
		return kindMap
	case constant:
		return kindEnum
	}
	if s, is := scalarOf(value); is {
		return s.kind
	}
	return kindObject
}

// mapping writes a map; j is what a field declares of it, or nil.
func (w *kryoWriter) mapping(d *dictionary, j *javaType) {
	var key, elem *javaType
	if j != nil && j.kind == kindMap {
		key, elem = j.key, j.elem.known(w.bound)
	}
	form := kryoTypes[d.class].form
	switch form {
	case formEmpty:
		return
	case formSingleton:
		w.classAndObject(d.keys[0], nil)
		w.classAndObject(d.values[0], nil)
		return
	}
	w.varint(uint64(len(d.keys)) + 1)
	if form == formSorted {
		w.buf = append(w.buf, kryoNull) // the comparator
	}
	for i := range d.keys {
		w.part(d.keys[i], key, form)
		w.part(d.values[i], elem, form)
	}
}

// part writes a key or a value of a map: without its class where a field declares it
// and it is final.
func (w *kryoWriter) part(value any, j *javaType, form listForm) {
	switch {
	case j == nil || !j.isFinal():
		w.classAndObject(value, j)
	case form == formNoNulls:
		w.object(value, j.arguments())
	default:
		w.orNull(value, j.kind, j.arguments())
	}
}
