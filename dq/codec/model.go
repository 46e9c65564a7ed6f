package codec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// model has the classes of a Recoder, which come from class files when a value is of them. It is for one
// goroutine.
type model struct {
	find func(name string) (JavaClass, error)
	// streams says that Serialization or Marshalling is one of the codecs, fields that another one is,
	// for which the declared classes of fields count, and json that one is of JSON.
	streams, fields, json bool
	kryo5                 bool // Kryo5 is one
	jackson3              bool // a codec of Jackson 3 is one
	// instances says that both codecs keep which values are one instance.
	instances bool
	// records says that both codecs have records of Java.
	records bool
	// to is the codec that is written, release the Redisson that reads it; zero where that is not known.
	to       Name
	release  wire.Release
	classes  map[string]*class // by name, and those of a generic class with its argument
	enums    map[string]*enum
	problems map[string]string // by name: why nothing can be said of a class
	java     map[string]JavaClass
}

func newModel(find func(name string) (JavaClass, error), from, to Name) *model {
	m := &model{
		find: find, classes: map[string]*class{}, enums: map[string]*enum{}, problems: map[string]string{}, java: map[string]JavaClass{},
		records: from != NameMarshalling && to != NameMarshalling, to: to,
	}
	for _, name := range []Name{from, to} {
		switch name {
		case NameSerialization, NameMarshalling:
			m.streams = true
		case NameKryo5:
			m.fields, m.kryo5 = true, true
		default:
			m.fields, m.json = true, true
			m.jackson3 = m.jackson3 || name.jackson3()
		}
	}
	m.instances = m.streams && !m.fields
	return m
}

// class returns the class of a name, or nil: problem says why.
func (m *model) class(name string) *class {
	if m.problems[name] != "" || m.enums[name] != nil {
		return nil
	}
	c, err := m.describe(name, nil)
	if err != nil {
		m.problems[name] = err.Error()
		return nil
	}
	return c
}

// enum returns the enum of a name, or nil: problem says why.
func (m *model) enum(name string) *enum {
	if e := m.enums[name]; e != nil {
		return e
	}
	java, err := m.look(name)
	if err == nil && java.isEnum() {
		_, err = m.describeEnum(java)
	}
	if err != nil {
		m.problems[name] = err.Error()
	}
	return m.enums[name]
}

// problem says why there is no class or enum of a name.
func (m *model) problem(name string) string {
	return cmp.Or(m.problems[name], "nothing is known of this class")
}

func (c JavaClass) isEnum() bool { return c.Super == "java.lang.Enum" }

// look returns what the class file says.
func (m *model) look(name string) (JavaClass, error) {
	if java, known := m.java[name]; known {
		return java, nil
	}
	switch {
	case isJDK(name):
		return JavaClass{}, fmt.Errorf("the class %s of the JDK is not carried from one codec to another here", name)
	case m.find == nil:
		return JavaClass{}, fmt.Errorf("the class file of %s is needed, which tells what the bytes do not", name)
	}
	java, err := m.find(name)
	if errors.Is(err, fs.ErrNotExist) {
		return java, fmt.Errorf("%s is in none of the jars", name)
	}
	if err != nil {
		return java, err
	}
	m.java[name] = java
	return java, nil
}

func isJDK(name string) bool {
	return strings.HasPrefix(name, "java.") || strings.HasPrefix(name, "javax.") || strings.HasPrefix(name, "sun.") || strings.HasPrefix(name, "jdk.")
}

func (m *model) describeEnum(java JavaClass) (*enum, error) {
	switch {
	case !java.Final:
		return nil, fmt.Errorf("a constant of the enum %s has a body of its own, which makes it a class of its own", java.Name)
	case len(java.Custom) > 0:
		return nil, java.errCustom()
	case m.jackson3 && len(java.Jackson3) > 0:
		return nil, fmt.Errorf("the enum %s has a toString method of its own, by which Jackson 3 writes the constants", java.Name)
	}
	e := &enum{name: java.Name, constants: java.Constants}
	m.enums[java.Name] = e
	return e, nil
}

func (c JavaClass) errCustom() error {
	return fmt.Errorf("%s has its own say in what is written of it: %s", c.Name, strings.Join(c.Custom, ", "))
}

// describe returns a class; of a generic one that which its argument makes.
func (m *model) describe(name string, argument *javaType) (*class, error) {
	key := name
	if argument != nil {
		key += "<" + argument.text() + ">"
	}
	if c, known := m.classes[key]; known {
		return c, nil
	}
	java, err := m.look(name)
	switch {
	case err != nil:
		return nil, err
	case java.Interface:
		return nil, fmt.Errorf("%s is an interface", name)
	case java.isEnum():
		return nil, fmt.Errorf("%s is an enum", name)
	case len(java.Custom) > 0:
		return nil, java.errCustom()
	case java.Collection && m.fields:
		return nil, fmt.Errorf("%s is a java.util.Collection or Map, of which Kryo5 and JSON write the elements, not the fields", name)
	case len(java.Parameters) > 1 && m.fields:
		return nil, fmt.Errorf("%s has several type parameters, of which it is not known here what Kryo5 makes", name)
	case m.streams && !java.Serializable:
		return nil, fmt.Errorf("%s is not java.io.Serializable, as far as the jars show", name)
	case java.Record && !m.records:
		return nil, fmt.Errorf("%s is a record, which MarshallingCodec does not read", name)
	case m.jackson3 && len(java.Jackson3) > 0:
		return nil, fmt.Errorf("%s is not written by its fields by Jackson 3, which goes by public fields and getters: %s", name, strings.Join(java.Jackson3, ", "))
	case len(key) > maxGeneric:
		return nil, fmt.Errorf("%s has itself in its type arguments", name)
	}
	c := &class{name: name, uid: &java.SerialVersionUID, record: java.Record, final: java.Final || java.Record, generic: len(java.Parameters) > 0, flags: java.Flags, defaults: java.Defaults}
	before := maps.Clone(m.classes)
	m.classes[key] = c
	if err := m.addFields(c, java, argument); err != nil {
		m.classes = before // what was described meanwhile may refer to this one
		return nil, err
	}
	return c, nil
}

// The releases whose Jackson 2 was seen to read records: 2.12 to 2.14, and from 2.17 on; 2.15 does not, and
// before 2.12 it knows none. Between those that were watched nothing is known.
var recordReaders = []struct{ first, last wire.Release }{
	{wire.Release{Major: 3, Minor: 16, Patch: 6}, wire.Release{Major: 3, Minor: 21, Patch: 0}},
	{wire.Release{Major: 3, Minor: 30, Patch: 0}, wire.Newest()},
}

// unreadable says why Java does not read what JSON has of a class, or nothing.
func (m *model) unreadable(c *class) string {
	java := m.java[c.name]
	switch {
	case !java.Record && java.NoDefault:
		return "Jackson does not read it, for it has no constructor without parameters"
	case !java.Record || m.to.jackson3():
		return ""
	case m.release == wire.Release{}:
		return "a record is read by the Jackson of Redisson 3.16.6 to 3.21.0 and from 3.30.0 on, not by that of 3.21.1: name the release that is to read it"
	}
	for _, readers := range recordReaders {
		if m.release.AtLeast(readers.first) && readers.last.AtLeast(m.release) {
			return ""
		}
	}
	return fmt.Sprintf("a record is not read by the Jackson that comes with Redisson %s, as far as is known", m.release)
}

// maxGeneric bounds the name of a class with its type argument.
const maxGeneric = 1000

// addFields adds the fields of a class and of its super classes.
func (m *model) addFields(c *class, java JavaClass, argument *javaType) error {
	for _, f := range java.Fields {
		typ, err := m.typ(f.Type, argument)
		if err != nil {
			return fmt.Errorf("its field %s: %w", f.Name, err)
		}
		c.fields = append(c.fields, field{name: f.Name, typ: typ, of: c, index: []int{0}})
	}
	if java.Super != "" && java.Super != javaLangObject {
		if err := m.extend(c, java.Super); err != nil {
			return err
		}
	}
	slices.SortFunc(c.fields, func(a, b field) int { return cmp.Or(strings.Compare(a.name, b.name), len(a.index)-len(b.index)) })
	for i, f := range c.fields[min(1, len(c.fields)):] {
		if m.json && f.name == c.fields[i].name {
			return fmt.Errorf("%s and a super class both have a field %s", c.name, f.name)
		}
	}
	return nil
}

// extend adds the fields of the super class.
func (m *model) extend(c *class, name string) error {
	super, err := m.look(name)
	if err != nil {
		return fmt.Errorf("its super class: %w", err)
	}
	switch {
	case len(super.Parameters) > 0 && m.fields:
		return fmt.Errorf("its super class %s has type parameters, of which it is not known here what Kryo5 makes", name)
	case len(super.Custom) > 0:
		return super.errCustom()
	case m.streams && !super.Serializable:
		if above := super.Super; len(super.Fields) > 0 || above != "" && above != javaLangObject {
			return fmt.Errorf("its super class %s is not java.io.Serializable, so that Java leaves out the fields of it", name)
		}
		return nil
	}
	above, err := m.describe(name, nil)
	if err != nil {
		return err
	}
	c.super = above
	for _, f := range above.fields {
		f.index = append([]int{0}, f.index...)
		c.fields = append(c.fields, f)
	}
	return nil
}

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

// typ returns what a field is declared as; argument is that of the class's type parameter, nil where
// it is not known.
func (m *model) typ(t JavaType, argument *javaType) (*javaType, error) {
	switch s, isScalar := scalarClasses[t.Class]; {
	case t.Parameter != "":
		return m.parameter(t, argument)
	case primitiveKinds[t.Class] != 0:
		return &javaType{kind: primitiveKinds[t.Class]}, nil
	case boxKinds[t.Class] != 0:
		return &javaType{kind: boxKinds[t.Class], boxed: true}, nil
	case t.Class == javaLangString:
		return &javaType{kind: kindString, boxed: true}, nil
	case isScalar:
		return &javaType{kind: s.kind, boxed: true}, nil
	case t.Class == "[]":
		return m.array(t, argument)
	case slices.Contains(open, t.Class):
		return &javaType{kind: kindAny, declared: t.Class}, nil
	case t.Class == "java.util.Optional" && !m.streams:
		return &javaType{kind: kindOptional, boxed: true}, nil
	}
	if list, dictionary := collections[shortName(t.Class)], dictionaries[shortName(t.Class)]; list != nil && list.declared == t.Class || t.Class == "java.util.List" {
		elem, err := m.of(t, 0, argument)
		return &javaType{kind: kindList, list: list, elem: elem}, err
	} else if dictionary != nil && dictionary.declared == t.Class || t.Class == "java.util.Map" {
		key, err := m.of(t, 0, argument)
		elem, err2 := m.of(t, 1, argument)
		if key != nil && key.param && m.fields {
			err = errors.New("a map with keys of a type parameter")
		}
		return &javaType{kind: kindMap, list: dictionary, key: key, elem: elem}, errors.Join(err, err2)
	}
	return m.own(t, argument)
}

func shortName(class string) string { return strings.TrimPrefix(class, "java.util.") }

// of returns the type argument of a number; nil for a raw type.
func (m *model) of(t JavaType, n int, argument *javaType) (*javaType, error) {
	if n >= len(t.Of) {
		return nil, nil
	}
	return m.typ(t.Of[n], argument)
}

func (m *model) array(t JavaType, argument *javaType) (*javaType, error) {
	elem, err := m.typ(t.Of[0], argument)
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
func (m *model) parameter(t JavaType, argument *javaType) (*javaType, error) {
	plain := t
	plain.Parameter = ""
	switch {
	case !m.fields:
		return m.typ(plain, nil)
	case t.Parameter == "?":
		return m.wildcard(plain, argument)
	case t.Class != javaLangObject:
		return nil, fmt.Errorf("the type parameter %s has a bound", t.Parameter)
	case argument == nil:
		return (&javaType{kind: kindAny}).asParameter(), nil
	}
	return argument.asParameter(), nil
}

// wildcard returns what a wildcard with a bound stands for. Kryo5 takes the bound, also one from below, but
// not its type arguments; Jackson takes these, and Object for a bound from below.
func (m *model) wildcard(bound JavaType, argument *javaType) (*javaType, error) {
	if bound.Class == javaLangObject && len(bound.Of) == 1 {
		of := bound.Of[0]
		if of.Parameter != "" {
			return nil, fmt.Errorf("a wildcard of the type parameter %s", of.Parameter)
		}
		below, err := m.typ(of, argument)
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
	typ, err := m.typ(bound, argument)
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
func (m *model) own(t JavaType, argument *javaType) (*javaType, error) {
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
	var inner *javaType
	if len(t.Of) == 1 && len(java.Parameters) == 1 {
		if inner, err = m.typ(t.Of[0], argument); err != nil {
			return nil, err
		}
	}
	c, err := m.describe(t.Class, inner)
	if err != nil && !java.Final {
		return declared, nil // an object of it is refused when one comes
	}
	return &javaType{kind: kindObject, class: c, boxed: true}, err
}

// text tells a type argument from others.
func (j *javaType) text() string {
	if j == nil {
		return "?"
	}
	text := j.className()
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
