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
	classes  map[string]*class // by name, and those of a generic class with its arguments
	enums    map[string]*enum
	problems map[string]string // by name: why nothing can be said of a class
	java     map[string]JavaClass
	keys     map[string]string // see keyless
}

func newModel(find func(name string) (JavaClass, error), from, to Name) *model {
	m := &model{
		find: find, classes: map[string]*class{}, enums: map[string]*enum{}, problems: map[string]string{}, java: map[string]JavaClass{}, keys: map[string]string{},
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
		return nil, fmt.Errorf("the enum %s has constants with a body, each of which is of a class of its own", java.Name)
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

// describe returns a class; of a generic one that which its arguments make.
func (m *model) describe(name string, arguments typeArguments) (*class, error) {
	key := name
	if arguments != nil {
		key += "<" + arguments.text() + ">"
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
	case len(java.Hidden) > 0 && m.fields:
		return nil, fmt.Errorf("%s has the hidden field %s, as inner classes have that are not static: Kryo5 and JSON leave it out", name, java.Hidden[0])
	case m.streams && !java.Serializable:
		return nil, fmt.Errorf("%s is not java.io.Serializable, as far as the jars show", name)
	case java.Record && !m.records:
		return nil, fmt.Errorf("%s is a record, which MarshallingCodec does not read", name)
	case m.jackson3 && len(java.Jackson3) > 0:
		return nil, fmt.Errorf("Jackson 3, which goes by public fields, getters and setters, and sets no final field, does not write or read all fields of %s: %s", name, strings.Join(java.Jackson3, ", "))
	case len(key) > maxGeneric:
		return nil, fmt.Errorf("%s has itself in its type arguments", name)
	}
	c := &class{name: name, uid: &java.SerialVersionUID, record: java.Record, final: java.Final || java.Record, generic: len(java.Parameters) > 0, flags: java.Flags, defaults: java.Defaults, opaque: java.Opaque}
	before := maps.Clone(m.classes)
	m.classes[key] = c
	if err := m.addFields(c, java, arguments); err != nil {
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
	case m.unmade(c) != "":
		return m.unmade(c)
	case m.keyless(c.name) != "":
		return m.keyless(c.name)
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

// unmade says why Jackson makes no object of a class, or nothing.
func (m *model) unmade(c *class) string {
	if java := m.java[c.name]; java.Record || !java.NoDefault {
		return ""
	}
	return "Jackson does not read it, for it has no constructor without parameters"
}

// maxGeneric bounds the name of a class with its type argument.
const maxGeneric = 1000

// addFields adds the fields of a class and of its super classes.
func (m *model) addFields(c *class, java JavaClass, arguments typeArguments) error {
	for _, f := range java.Fields {
		typ, err := m.typ(f.Type, arguments)
		if err != nil {
			return fmt.Errorf("its field %s: %w", f.Name, err)
		}
		c.fields = append(c.fields, field{name: f.Name, typ: typ, of: c, index: []int{0}, parameter: f.Type.parameterIn()})
	}
	if java.Super != "" && java.Super != javaLangObject {
		if err := m.extend(c, java, arguments); err != nil {
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

// argument returns what a class has for a type parameter of its super class, or, where none is meant, for the first.
func (c JavaClass) argument(super JavaClass, parameter string) JavaType {
	at := max(0, slices.Index(super.Parameters, parameter))
	if at >= len(c.SuperOf) {
		return JavaType{}
	}
	return c.SuperOf[at]
}

// extend adds the fields of the super class, whose type argument may be that of the class.
func (m *model) extend(c *class, java JavaClass, arguments typeArguments) error {
	name := java.Super
	super, err := m.look(name)
	if err != nil {
		return fmt.Errorf("its super class: %w", err)
	}
	switch {
	case len(super.Custom) > 0:
		return super.errCustom()
	case m.streams && !super.Serializable:
		if above := super.Super; len(super.Fields) > 0 || above != "" && above != javaLangObject {
			return fmt.Errorf("its super class %s is not java.io.Serializable, so that Java leaves out the fields of it", name)
		}
		return nil
	}
	var inner typeArguments
	if m.fields {
		if inner, err = m.arguments(super, java.SuperOf, arguments); err != nil {
			return fmt.Errorf("its super class %s: %w", name, err)
		}
	}
	above, err := m.describe(name, inner)
	if err != nil {
		return err
	}
	c.super = above
	for _, f := range above.fields {
		argument := java.argument(super, f.parameter)
		below := byDeclaration.above(len(java.SuperOf) > 0, argument.Parameter != "")
		f.parameter = argument.parameterIn()
		f.index = append([]int{0}, f.index...)
		f.binding = f.binding.from(below)
		if f.binding == byNothing && m.kryo5 && f.of.generic && f.typ.ofGeneric() != nil {
			return fmt.Errorf("its field %s of %s holds objects of a generic class, and %s is extended by a class that has no type parameters: Kryo5 does not know then what they stand for", f.name, f.of.name, f.of.name)
		}
		c.fields = append(c.fields, f)
	}
	return nil
}
