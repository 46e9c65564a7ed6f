package codec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// open are the classes and interfaces of the JDK that fields may be declared as, and that are not final.
var open = []string{
	javaLangObject, javaLangNumber, "java.lang.CharSequence", "java.lang.Comparable", "java.io.Serializable", "java.lang.Cloneable",
	"java.lang.Throwable", "java.lang.Exception", "java.lang.RuntimeException", "java.util.Calendar",
}

// otherNulls are the final classes that are not carried, of which Kryo5 writes null in another way than
// of most.
var otherNulls = []string{"java.lang.StringBuilder", "java.lang.StringBuffer"}

// boxKinds has the kinds of the boxes by their class, and primitiveKinds of the primitives by their name.
var boxKinds, primitiveKinds = func() (map[string]kind, map[string]kind) {
	boxed, plain := map[string]kind{}, map[string]kind{}
	for k, p := range primitives {
		boxed[p.box] = k
		for name, code := range primitiveNames {
			if code == p.signature {
				plain[name] = k
			}
		}
	}
	return boxed, plain
}()

// typeArguments has what the type parameters of a class stand for, by their name, as far as that is known.
type typeArguments map[string]*javaType

// typ returns what a field is declared as in a class with those arguments.
func (m *model) typ(t JavaType, arguments typeArguments) (*javaType, error) {
	switch s, isScalar := scalarClasses[t.Class]; {
	case t.Parameter != "":
		return m.parameter(t, arguments)
	case primitiveKinds[t.Class] != 0:
		return &javaType{kind: primitiveKinds[t.Class]}, nil
	case boxKinds[t.Class] != 0:
		return &javaType{kind: boxKinds[t.Class], boxed: true}, nil
	case t.Class == javaLangString:
		return &javaType{kind: kindString, boxed: true}, nil
	case isScalar:
		return &javaType{kind: s.kind, boxed: true}, nil
	case t.Class == "[]":
		return m.array(t, arguments)
	case slices.Contains(open, t.Class):
		return &javaType{kind: kindAny, declared: t.Class}, nil
	case t.Class == "java.util.Optional" && !m.streams:
		return &javaType{kind: kindOptional, boxed: true}, nil
	}
	if list, dictionary := collections[shortName(t.Class)], dictionaries[shortName(t.Class)]; list != nil && list.declared == t.Class || t.Class == "java.util.List" {
		elem, err := m.of(t, 0, arguments)
		return &javaType{kind: kindList, list: list, elem: elem}, err
	} else if dictionary != nil && dictionary.declared == t.Class || t.Class == "java.util.Map" {
		key, err := m.of(t, 0, arguments)
		elem, err2 := m.of(t, 1, arguments)
		if key != nil && key.param && m.fields {
			err = errors.New("a map with keys of a type parameter")
		}
		return &javaType{kind: kindMap, list: dictionary, key: key, elem: elem}, errors.Join(err, err2)
	}
	return m.own(t, arguments)
}

func shortName(class string) string { return strings.TrimPrefix(class, "java.util.") }

// of returns the type argument of a number; nil for a raw type.
func (m *model) of(t JavaType, n int, arguments typeArguments) (*javaType, error) {
	if n >= len(t.Of) {
		return nil, nil
	}
	return m.typ(t.Of[n], arguments)
}

func (m *model) array(t JavaType, arguments typeArguments) (*javaType, error) {
	elem, err := m.typ(t.Of[0], arguments)
	switch {
	case err != nil:
		return nil, err
	case elem.param && m.fields:
		return nil, errors.New("an array of a type parameter")
	case elem.kind == kindByte && !elem.boxed:
		return &javaType{kind: kindBytes, boxed: true}, nil
	}
	return &javaType{kind: kindList, list: collections["array"], elem: elem, boxed: true}, nil
}

// parameter returns what a type parameter stands for.
func (m *model) parameter(t JavaType, arguments typeArguments) (*javaType, error) {
	plain := t
	plain.Parameter = ""
	switch {
	case !m.fields:
		return m.typ(plain, nil)
	case t.Parameter == "?":
		return m.wildcard(plain, arguments)
	}
	argument := arguments[t.Parameter]
	if argument == nil {
		argument = &javaType{kind: kindAny}
	}
	own := argument.asParameter()
	own.erasure = nil
	if t.Class == javaLangObject {
		return own, nil
	}
	plain.Of = nil
	bound, err := m.typ(plain, nil)
	if err == nil && (bound.isFinal() || bound.unsure != "" || bound.kind != kindAny && (bound.kind != kindObject || bound.class.generic)) {
		err = fmt.Errorf("the type parameter %s has the bound %s, which is generic, final or not known", t.Parameter, t.Class)
	}
	own.erasure = bound
	return own, err
}

// wildcard returns what a wildcard with a bound stands for. Kryo5 takes the bound, also one from below, but
// not its type arguments; Jackson takes these, and Object for a bound from below.
func (m *model) wildcard(bound JavaType, arguments typeArguments) (*javaType, error) {
	if bound.Class == javaLangObject && len(bound.Of) == 1 {
		of := bound.Of[0]
		if of.Parameter != "" {
			return nil, fmt.Errorf("a wildcard of the type parameter %s", of.Parameter)
		}
		below, err := m.typ(of, arguments)
		if m.kryo5 && (err != nil || below.isFinal() || below.unsure != "") {
			return nil, cmp.Or(err, fmt.Errorf("the wildcard ? super %s, of a class that is final or may be", of.Class))
		}
		return &javaType{kind: kindAny, declared: javaLangObject}, nil
	}
	if m.kryo5 && bound.hasArguments() {
		if m.json || !strings.HasPrefix(bound.Class, "java.util.") {
			return nil, fmt.Errorf("the wildcard ? extends %s, of which Kryo5 knows no type arguments", bound)
		}
		bound.Of = nil
	}
	typ, err := m.typ(bound, arguments)
	if err == nil && typ.isFinal() {
		err = fmt.Errorf("a wildcard of the final class %s", bound.Class)
	}
	return typ, err
}

// hasArguments reports whether a type, or that of an array's elements, has type arguments.
func (t JavaType) hasArguments() bool {
	if t.Class == "[]" && len(t.Of) > 0 {
		return t.Of[0].hasArguments()
	}
	return len(t.Of) > 0
}

// own returns the type of a field whose class is none of those above.
func (m *model) own(t JavaType, arguments typeArguments) (*javaType, error) {
	declared := &javaType{kind: kindAny, declared: t.Class}
	java, unknown := m.look(t.Class)
	var err error
	switch {
	case unknown != nil:
		if m.fields {
			declared.unsure = unknown.Error()
		}
		if m.fields && slices.Contains(otherNulls, t.Class) {
			err = unknown
		}
		return declared, err
	case java.isEnum():
		e := m.enums[t.Class]
		if e == nil {
			e, err = m.describeEnum(java)
		}
		return &javaType{kind: kindEnum, enum: e, boxed: true}, err
	case java.Interface:
		return declared, nil
	}
	inner, err := m.arguments(java, t.Of, arguments)
	if err != nil {
		return nil, err
	}
	c, err := m.describe(t.Class, inner)
	if err != nil && !java.Final {
		return declared, nil // an object of it is refused when one comes
	}
	return &javaType{kind: kindObject, class: c, boxed: true, mixed: len(t.Of) > 1 && t.isMixed()}, err
}

// isMixed reports whether some of the type arguments, but not all, are type parameters.
func (t JavaType) isMixed() bool {
	isParameter := func(of JavaType) bool { return of.Parameter != "" && of.Parameter != "?" }
	open := slices.ContainsFunc(t.Of, isParameter)
	return open && slices.ContainsFunc(t.Of, func(of JavaType) bool { return !isParameter(of) })
}

// parameterIn returns the first type parameter that a type has; empty for none.
func (t JavaType) parameterIn() string {
	if t.Parameter != "" && t.Parameter != "?" {
		return t.Parameter
	}
	for _, of := range t.Of {
		if name := of.parameterIn(); name != "" {
			return name
		}
	}
	return ""
}

// arguments returns what the type parameters of a class stand for where of are its type arguments, in a class with those
// arguments; nil for a class that has none, or a raw one.
func (m *model) arguments(java JavaClass, of []JavaType, outer typeArguments) (typeArguments, error) {
	if len(of) == 0 || len(of) != len(java.Parameters) {
		return nil, nil
	}
	all := typeArguments{}
	for i, name := range java.Parameters {
		argument, err := m.typ(of[i], outer)
		if err != nil {
			return nil, err
		}
		all[name] = argument
	}
	return all, nil
}

// text tells type arguments from others.
func (a typeArguments) text() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(a)) {
		text.WriteString(name + "=" + a[name].text() + ";")
	}
	return text.String()
}

// text tells a type argument from others.
func (j *javaType) text() string {
	if j == nil {
		return "?"
	}
	text := j.withoutParameter().className()
	if j.param {
		text = "T:" + text
	}
	if j.kind == kindList || j.kind == kindMap {
		text += "<" + j.key.text() + "," + j.elem.text() + ">"
	}
	if j.kind == kindObject {
		text += fmt.Sprintf("@%p", j.class)
	}
	return text
}
