package gen

import (
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/codec"
)

var primitives = map[string]string{
	"boolean": "bool", "byte": "int8", "short": "int16", "char": "uint16", "int": "int32", "long": "int64", "float": "float32", "double": "float64",
}

// scalars has the Go type of each class that holds one value.
var scalars = map[string]string{
	"java.lang.String": "string", "java.lang.Boolean": "bool", "java.lang.Byte": "int8", "java.lang.Short": "int16", "java.lang.Character": "uint16",
	"java.lang.Integer": "int32", "java.lang.Long": "int64", "java.lang.Float": "float32", "java.lang.Double": "float64",
	"java.util.Date": "codec.Date", "java.math.BigDecimal": "codec.Decimal", "java.math.BigInteger": "*big.Int", "java.util.UUID": "codec.UUID",
	"java.time.Instant": "time.Time", "java.time.Duration": "time.Duration", "java.time.LocalDate": "codec.LocalDate", "java.time.LocalTime": "codec.LocalTime",
	"java.time.LocalDateTime": "codec.LocalDateTime", "java.time.OffsetDateTime": "codec.OffsetDateTime", "java.time.ZonedDateTime": "codec.ZonedDateTime",
	"java.util.Locale": "codec.Locale", "java.net.URI": "codec.URI", "java.util.Currency": "codec.Currency", "java.sql.Timestamp": "codec.Timestamp",
	"java.time.Period": "codec.Period", "java.time.Year": "codec.Year", "java.time.YearMonth": "codec.YearMonth", "java.time.MonthDay": "codec.MonthDay",
	"java.time.OffsetTime": "codec.OffsetTime", "java.util.concurrent.atomic.AtomicLong": "codec.AtomicLong",
	"java.util.concurrent.atomic.AtomicInteger": "codec.AtomicInteger", "java.util.concurrent.atomic.AtomicBoolean": "codec.AtomicBoolean",
}

// collections has the tag of each class that a slice or map stands for.
var collections = map[string]string{
	"java.util.List": "", "java.util.Collection": "Collection", "java.util.ArrayList": "ArrayList", "java.util.LinkedList": "LinkedList",
	"java.util.Set": "Set", "java.util.HashSet": "HashSet", "java.util.LinkedHashSet": "LinkedHashSet", "java.util.SortedSet": "SortedSet", "java.util.TreeSet": "TreeSet",
	"java.util.Map": "", "java.util.HashMap": "HashMap", "java.util.LinkedHashMap": "LinkedHashMap", "java.util.TreeMap": "TreeMap",
	"java.util.SortedMap": "SortedMap", "java.util.NavigableMap": "NavigableMap",
}

// supertypes are those of the JDK's scalars, as which they are declared.
var supertypes = map[string]bool{
	"java.lang.Number": true, "java.lang.Comparable": true, "java.lang.CharSequence": true, "java.io.Serializable": true,
}

// fieldOf is fieldType for a field of a class, which may have been added by the compiler.
func (w *writer) fieldOf(c codec.JavaClass, f codec.JavaField) (goType, tag string) {
	if slices.Contains(c.Hidden, f.Name) {
		return "", "the compiler has added it, as the outer object of an inner class: Kryo5 and JSON leave it out"
	}
	return w.fieldType(f)
}

// fieldType returns the Go type of a field and its java tag, or "" and why there is none.
func (w *writer) fieldType(f codec.JavaField) (goType, tag string) {
	t := f.Type
	if p, is := primitives[t.Class]; is {
		return p, ""
	}
	if bounded(t) {
		return "", "no Go type stands for a wildcard with super, or with a bound that has type arguments"
	}
	if class := w.collection(t); class != "" {
		return "", class + " is a java.util.Collection or Map, of which Kryo5 and JSON write the elements, not the fields"
	}
	if t.Class == "" {
		return "", "it was null each time, so that its type does not show"
	}
	if scalar, is := scalars[t.Class]; is {
		return pointer(scalar), ""
	}
	if parameter := w.parameters[t.Parameter]; parameter != "" {
		return parameter, parameterTag(t.Class)
	}
	if array := w.arrayOf(t); array != "" {
		return "", "no Go type stands for the type argument " + array
	}
	if _, known := w.names[t.Class]; known && !w.several(f) {
		return "*" + w.typeName(t), ""
	}
	if t.Class == "java.lang.Object" {
		return "any", ""
	}
	if _, isCollection := collections[t.Class]; isCollection && w.untold(t, w.several(f)) != "" {
		return "", "no Go type stands for " + w.untold(t, w.several(f)) + " with its subclasses: any would not tell its type arguments"
	}
	tag, isCollection := collections[t.Class]
	switch {
	case t.Class == "[]" && t.Of[0].Class == "byte":
		return "[]byte", ""
	case t.Class == "[]":
		tag = "array"
	case t.Class == "java.util.Optional":
		return w.optional(t)
	case supertypes[t.Class]:
		return "any", t.Class
	case !isCollection && strings.HasPrefix(t.Class, "java"):
		return "", "no Go type stands for " + t.String()
	case !isCollection:
		return "any", t.Class // an interface, or a class with subclasses
	}
	goType, problem := w.container(t, w.several(f))
	if goType == "" {
		return "", problem
	}
	if elem := innermost(t); t.Class == "[]" && (w.parameters[elem.Parameter] != "" || goType == "[]any" && (elem.Class != "java.lang.Object" || elem.Parameter != "")) {
		return "", "no Go type stands for " + t.String() + ", whose objects may be of several classes"
	}
	if w.parameters[innermost(t).Parameter] != "" && t.Class != "[]" {
		switch {
		case tag == "" && strings.HasPrefix(goType, "map"):
			tag = "Map"
		case tag == "":
			tag = "List"
		}
		tag += "<T>"
	}
	return goType, tag
}

// parameterTag is the tag of a field of a type parameter that is erased to a class.
func parameterTag(erasure string) string {
	if erasure == "java.lang.Object" {
		return "T"
	}
	return "T,erasure=" + erasure
}

// collection returns the class of a type, or of its arguments, that is a collection of its own making, or "".
func (w *writer) collection(t codec.JavaType) string {
	if w.classes[t.Class].Collection {
		return t.Class
	}
	for _, of := range t.Of {
		if class := w.collection(of); class != "" {
			return class
		}
	}
	return ""
}

// bounded reports whether a type has a wildcard that Kryo5 takes for another type than Jackson does.
func bounded(t codec.JavaType) bool {
	return t.Parameter == "?" && t.Class != "[]" && len(t.Of) > 0 || slices.ContainsFunc(t.Of, bounded)
}

// optional returns the type of what an Optional holds: nil is an empty one.
func (w *writer) optional(t codec.JavaType) (goType, tag string) {
	elem, problem := w.element(innermost(t), false)
	if elem == "" {
		return "", problem
	}
	if elem == "any" || strings.HasPrefix(elem, "[") || strings.HasPrefix(elem, "map[") || elem == "codec.Set" || w.extended[innermost(t).Class] {
		return "", "no Go type stands for " + t.String()
	}
	return pointer(elem), "Optional"
}

// typeName returns the Go type of a class, with what stands for its type arguments.
func (w *writer) typeName(t codec.JavaType) string {
	name, parameters := w.names[t.Class], w.classes[t.Class].Parameters
	if len(parameters) == 0 {
		return name
	}
	arguments := make([]string, len(parameters))
	for i := range arguments {
		arguments[i] = "any"
		if i < len(t.Of) {
			arguments[i] = w.argument(t.Of[i])
		}
	}
	return name + "[" + strings.Join(arguments, ", ") + "]"
}

// arrayOf returns the array that a class with type parameters has for an argument, or "". An array of a final class is
// final, so that Kryo5 writes no class for it, as it would for any.
func (w *writer) arrayOf(t codec.JavaType) string {
	for _, of := range t.Of {
		if of.Class == "[]" && innermost(of).Class != "byte" && len(w.classes[t.Class].Parameters) > 0 {
			return of.String()
		}
		if array := w.arrayOf(of); array != "" {
			return array
		}
	}
	return ""
}

// argument returns a type argument, which may be null.
func (w *writer) argument(t codec.JavaType) string {
	if w.open(t.Class) {
		return "any" // there are subclasses
	}
	goType, _ := w.element(t, false)
	switch {
	case goType == "":
		return "any"
	case goType == "any" || goType == w.parameters[t.Parameter] || strings.HasPrefix(goType, "[") || strings.HasPrefix(goType, "map["):
		return goType
	}
	return pointer(goType)
}

// several reports whether objects of other classes than the declared one were there, or
// may come: its subclasses.
func (w *writer) several(f codec.JavaField) bool {
	declared := f.Type
	for len(declared.Of) > 0 && w.names[declared.Class] == "" {
		declared = declared.Of[len(declared.Of)-1]
	}
	for _, class := range f.Holds {
		if _, known := w.classes[class]; known && class != declared.Class {
			return true
		}
	}
	return w.open(declared.Class) && len(f.Holds) == 0
}

// open reports whether any stands for a class, since there are subclasses. Of a class with type parameters the
// struct does, which tells the arguments: a subclass is refused.
func (w *writer) open(class string) bool {
	c := w.classes[class]
	return w.extended[class] && (len(c.Parameters) == 0 || c.Abstract || c.Interface)
}

// untold returns the class with type parameters in a type for which a collection would hold any, or "".
func (w *writer) untold(t codec.JavaType, several bool) string {
	if c := w.classes[t.Class]; len(c.Parameters) > 0 && (several || c.Interface) {
		return t.Class
	}
	for _, of := range t.Of {
		if class := w.untold(of, several); class != "" {
			return class
		}
	}
	return ""
}

// container returns a slice or a map. What it holds is any where that is of several
// classes.
func (w *writer) container(t codec.JavaType, several bool) (goType, problem string) {
	var elem string
	switch inner := innermost(t); {
	case inner.Class == "" || several:
		elem = "any"
	default:
		if elem, problem = w.element(inner, several); elem == "" {
			return "", problem
		}
	}
	if !strings.Contains(t.Class, "Map") {
		return "[]" + elem, ""
	}
	key := "string"
	if len(t.Of) == 2 && t.Of[0].Class != "" {
		key = w.key(t.Of[0])
	}
	if key == "" {
		return "", "no Go map has keys of " + t.Of[0].String()
	}
	return "map[" + key + "]" + elem, ""
}

// key returns the type of a map's keys, or "". None is a pointer, of which two that are equal
// are two keys: a map with the key null is refused when one comes.
func (w *writer) key(t codec.JavaType) string {
	scalar, isScalar := scalars[t.Class]
	switch {
	case w.parameters[t.Parameter] != "":
		return "" // which can be any type, also one that Go does not compare
	case isScalar && !strings.HasPrefix(scalar, "*"):
		return scalar
	case isScalar:
		return ""
	case len(w.classes[t.Class].Constants) > 0 && !w.classes[t.Class].HasBodies:
		return w.names[t.Class]
	}
	key, _ := w.element(t, false)
	if strings.HasPrefix(key, "*") || strings.HasPrefix(key, "[") || strings.HasPrefix(key, "map[") || key == "codec.Set" {
		return ""
	}
	return key
}

func innermost(t codec.JavaType) codec.JavaType {
	if len(t.Of) == 0 {
		return codec.JavaType{}
	}
	return t.Of[len(t.Of)-1]
}

// element returns the type of an element or of a value, which may be null unless it is a primitive.
func (w *writer) element(t codec.JavaType, several bool) (goType, problem string) {
	if p, is := primitives[t.Class]; is {
		return p, ""
	}
	if scalar, is := scalars[t.Class]; is {
		return pointer(scalar), ""
	}
	if parameter := w.parameters[t.Parameter]; parameter != "" {
		return parameter, ""
	}
	if c := w.classes[t.Class]; c.HasBodies || c.Interface || supertypes[t.Class] {
		return "any", ""
	}
	if _, known := w.names[t.Class]; known {
		return "*" + w.typeName(t), ""
	}
	switch tag, isCollection := collections[t.Class]; {
	case t.Class == "[]" && innermost(t).Class == "byte":
		return "[]byte", ""
	case isCollection && tag == "":
		return w.container(t, several)
	case t.Class == "java.util.HashSet":
		return "codec.Set", ""
	case t.Class == "" || t.Class == "java.lang.Object":
		return "any", ""
	}
	return "", "no Go type stands for " + t.String() + " in a collection"
}

// pointer returns the type of what may be null.
func pointer(goType string) string {
	if strings.HasPrefix(goType, "*") {
		return goType
	}
	return "*" + goType
}
