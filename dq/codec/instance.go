package codec

import (
	"reflect"
	"slices"
)

// instance is a value to which several references lead, as Serialization and Marshalling hold it: one
// object of Java, which may be reached from itself. Only a Recoder between the two keeps instances.
type instance struct{ value any }

// unshared returns a value without what makes it one with others.
func unshared(value any) any {
	if one, is := value.(*instance); is {
		return one.value
	}
	return value
}

// instanceOf returns the instance that a value is, or nil. It makes no difference for what Java has one
// of, or makes anew each time that it reads it: numbers, booleans, constants of enums, locales, currencies,
// and empty texts.
func instanceOf(value any) *instance {
	one, is := value.(*instance)
	if !is {
		return nil
	}
	switch value := one.value.(type) {
	case nil, bool, int8, int16, uint16, int32, int64, float32, float64, constant, Locale, Currency:
		return nil
	case string:
		if value == "" {
			return nil
		}
	}
	return one
}

// become makes a value what its number stands for.
func (r *objectReader) become(number int, value any) any {
	if one, is := r.instances[number].(*instance); is {
		one.value = value
		return one
	}
	r.instances[number] = value
	return value
}

// refersTo notes that a value refers to an instance.
func (r *objectReader) refersTo(number int) {
	if !r.registry.keepsInstances || r.describing {
		return
	}
	if r.places[number] == 0 && !r.described[number] {
		r.places[number] = 1 // where it came
	}
	r.places[number]++
}

// several returns the numbers of the instances that are in several places.
func (r *objectReader) several() map[int]bool {
	all := map[int]bool{}
	for number, places := range r.places {
		if places > 1 {
			all[number] = true
		}
	}
	return all
}

// describe reads what belongs to the description of a class, where references make no instance.
func (r *objectReader) describe(read func() any) any {
	before := r.describing
	r.describing = true
	value := unshared(read())
	r.describing = before
	return value
}

// comparison compares values of Java, each pair of instances once.
type comparison struct{ met map[*instance]*instance }

// same reports whether two values of Java are the same: of the same classes, in the same order, and of
// the same instances.
func (c comparison) same(a, b any) bool {
	first, second := instanceOf(a), instanceOf(b)
	if first == nil && second == nil {
		return c.sameValue(unshared(a), unshared(b))
	}
	if first == nil || second == nil {
		return false
	}
	if met, known := c.met[first]; known {
		return met == second
	}
	c.met[first] = second
	return c.sameValue(first.value, second.value)
}

func (c comparison) sameAll(a, b []any) bool { return slices.EqualFunc(a, b, c.same) }

// difference returns the path of the first part in which two values differ.
func difference(a, b any, path string, depth int) string {
	a, b = unshared(a), unshared(b)
	if depth > maxDepth || classOf(a) != classOf(b) || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return path
	}
	among := func(some, others []any, name func(i int) string) string {
		for i := range min(len(some), len(others)) {
			if !(comparison{map[*instance]*instance{}}).same(some[i], others[i]) {
				return difference(some[i], others[i], path+name(i), depth+1)
			}
		}
		return path
	}
	brackets := func(int) string { return "[]" }
	switch a := a.(type) {
	case []any:
		return among(a, b.([]any), brackets)
	case *elements:
		return among(a.all, b.(*elements).all, brackets)
	case *dictionary:
		return among(a.values, b.(*dictionary).values, brackets)
	case *object:
		return among(a.fields, b.(*object).fields, func(i int) string { return "." + a.class.fields[i].name })
	}
	return path
}

// instance returns the one Locale that Java makes of all that are equal when it reads them.
func (l Locale) instance() shared {
	return shared{"locale " + l.Language + "_" + l.Country + "_" + l.Variant, l}
}
