package codec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// keyClasses are the classes of the JDK that the Jackson of every release was seen to read as keys of maps.
var keyClasses = []string{
	javaLangString, javaLangObject, "java.lang.CharSequence", "java.io.Serializable", "java.lang.Class", "java.lang.StringBuilder",
	javaLangBoolean, javaLangByte, javaLangShort, javaLangCharacter, javaLangInteger, javaLangLong, javaLangFloat, javaLangDouble,
	bigIntegerName, bigDecimalName, dateName, "java.util.Calendar", uuidName, uriName, "java.net.URL", localeName, currencyName,
}

// maxKeyDepth and maxKeyTypes bound how deep the types of fields are looked at, and how many: a class may have itself
// in its type arguments.
const (
	maxKeyDepth = 50
	maxKeyTypes = 5000
)

// keyless says why Jackson does not read a class at all, be the field null or not: one of the types that it
// declares, or that those declare, is a map whose keys Jackson reads none of. It is empty for other classes.
func (m *model) keyless(class string) string {
	if known, is := m.keys[class]; is {
		return known
	}
	k := keySearch{m, map[string]bool{}}
	problem := k.typ(JavaType{Class: class}, nil, 0)
	if problem != "" {
		problem = "Jackson does not read the class, though the field be null: " + problem
	}
	m.keys[class] = problem
	return problem
}

type keySearch struct {
	*model
	seen map[string]bool
}

// typ looks at a type, of which arguments has the type parameters.
func (k keySearch) typ(t JavaType, arguments map[string]JavaType, depth int) string {
	t = t.bind(arguments)
	text := t.String()
	if depth > maxKeyDepth || len(k.seen) > maxKeyTypes || len(text) > maxGeneric || k.seen[text] {
		return ""
	}
	k.seen[text] = true
	if isMapOfJDK(t) && len(t.Of) == 2 && !k.isKey(t.Of[0]) {
		return fmt.Sprintf("a %s has keys that are not known to be read by it", t)
	}
	switch isHolder := strings.HasPrefix(t.Class, "java.util.") || t.Class == "java.lang.Iterable"; {
	case t.Class == optionalName && k.asksOptional(), t.Class == "java.util.Iterator":
	case t.Class == "[]" || isHolder:
		for _, of := range t.Of {
			if problem := k.typ(of, nil, depth+1); problem != "" {
				return problem
			}
		}
	}
	if isJDK(t.Class) || t.Class == "[]" || primitiveNames[t.Class] != "" {
		return ""
	}
	java, err := k.look(t.Class)
	if err != nil || java.Interface || java.isEnum() || java.Abstract && depth > 0 {
		return "" // of an abstract class Jackson asks for none of the fields
	}
	return k.fields(java, t.Of, depth)
}

// asksOptional reports whether the Jackson that reads an Optional asks for what it holds only once there is something.
// That of 3.16.6 asks at once.
func (k keySearch) asksOptional() bool {
	return k.to.jackson3() || k.release.AtLeast(wire.Release{Major: 3, Minor: 21, Patch: 1})
}

// fields looks at the fields of a class and of its super classes.
func (k keySearch) fields(java JavaClass, of []JavaType, depth int) string {
	arguments := map[string]JavaType{}
	for i, name := range java.Parameters {
		if i < len(of) {
			arguments[name] = of[i]
		}
	}
	for _, f := range java.Fields {
		if problem := k.typ(f.Type, arguments, depth+1); problem != "" {
			return fmt.Sprintf("field %s of %s: %s", f.Name, java.Name, problem)
		}
	}
	super := JavaType{Class: java.Super}
	for _, argument := range java.SuperOf {
		super.Of = append(super.Of, argument.bind(arguments))
	}
	if above, err := k.look(java.Super); err == nil && depth < maxKeyDepth {
		return k.fields(above, super.Of, depth+1)
	}
	if isMapOfJDK(super) {
		return k.typ(super, nil, depth+1)
	}
	return ""
}

// isKey reports whether Jackson is known to read keys of a type.
func (k keySearch) isKey(t JavaType) bool {
	if slices.Contains(keyClasses, t.Class) || t.Class == "[]" && t.Of[0].Class == "byte" {
		return true
	}
	if isJDK(t.Class) || t.Class == "[]" {
		return false
	}
	java, err := k.look(t.Class)
	return err == nil && (java.isEnum() || java.OfText)
}

// isMapOfJDK reports whether Jackson reads a type as a map, or as an entry of one.
func isMapOfJDK(t JavaType) bool {
	ends := func(end string) bool { return strings.HasSuffix(t.Class, end) }
	return strings.HasPrefix(t.Class, "java.util.") && (ends("Map") || ends("Hashtable") || ends("Map$Entry"))
}

// bind returns a type with what stands for type parameters in it. One without an argument is the class that it is
// erased to, as is a wildcard.
func (t JavaType) bind(arguments map[string]JavaType) JavaType {
	if argument, is := arguments[t.Parameter]; is && t.Parameter != "" {
		return argument
	}
	erased := JavaType{Class: t.Class}
	if t.Parameter == "?" && t.Class == javaLangObject {
		return erased // one that is bounded from below
	}
	for _, of := range t.Of {
		erased.Of = append(erased.Of, of.bind(arguments))
	}
	return erased
}
