package codec_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// corpusMaker makes the classes, each from those before it.
type corpusMaker struct {
	random *rand.Rand
	// namesFields says that bytes name the fields, so that a struct can leave one out.
	namesFields bool
	uids        map[string]int64
	classes     []*corpusClass
	of          map[corpusKind][]*corpusClass
}

// newCorpus returns the classes of a seed, those that are sent themselves last, with the
// Go types that a user of the codec declares; uids are the serialVersionUIDs.
func newCorpus(seed uint64, name codec.Name, uids map[string]int64) []*corpusClass {
	m := &corpusMaker{random: rand.New(rand.NewPCG(seed, 1)), namesFields: name != codec.NameKryo5, uids: uids, of: map[corpusKind][]*corpusClass{}}
	for i, t := range enumTypes {
		m.add(&corpusClass{name: fmt.Sprintf("Enum%d", i), kind: corpusEnum, goType: t, constants: []string{"NEW", "OPEN", "PAID", "DONE"}[:2+i%3]})
	}
	for i := range 4 {
		m.add(&corpusClass{name: fmt.Sprintf("Shape%d", i), kind: corpusInterface, goType: reflect.TypeFor[any]()})
	}
	for range 400 {
		m.class()
	}
	return m.classes
}

func (m *corpusMaker) add(c *corpusClass) {
	m.classes = append(m.classes, c)
	m.of[c.kind] = append(m.of[c.kind], c)
}

func (m *corpusMaker) percent(share int) bool { return m.random.IntN(100) < share }

func oneOf[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// class makes the next one.
func (m *corpusMaker) class() {
	c := &corpusClass{name: fmt.Sprintf("Class%d", len(m.classes))}
	if m.percent(60) {
		c.uid = int64(m.random.Uint64() >> m.random.IntN(64))
	}
	switch kind := m.random.IntN(100); {
	case kind < 8:
		c.kind = corpusRecord
	case kind < 12:
		c.kind = corpusGeneric
	case kind < 30 && len(m.of[corpusBean]) > 0:
		if c.super = oneOf(m.random, m.of[corpusBean]); c.super.final {
			c.super = nil
		}
	}
	c.final = c.kind == corpusBean && m.percent(15)
	if m.percent(6) && c.kind != corpusGeneric {
		c.implements = oneOf(m.random, m.of[corpusInterface])
	}
	taken := map[string]bool{}
	for level := c.super; level != nil; level = level.super {
		for _, f := range level.fields {
			taken[f.name] = true
		}
	}
	if c.kind == corpusGeneric {
		m.typeParameters(c)
	}
	for range 2 + m.random.IntN(9) {
		f := m.field()
		f.name = oneOf(m.random, corpusNames[0]) + oneOf(m.random, corpusNames[1])
		if c.kind == corpusRecord {
			f.transient = false
		}
		if !taken[f.name] {
			taken[f.name] = true
			c.fields = append(c.fields, f)
		}
	}
	c.goType = m.structOf(c)
	m.add(c)
}

// typeParameters adds the fields of a container of T, such as a page of a list.
func (m *corpusMaker) typeParameters(c *corpusClass) {
	all := []corpusField{
		{name: "content", corpusType: corpusType{java: "T", tag: "T"}},
		{name: "items", corpusType: corpusType{java: "java.util.List<T>", tag: "List<T>"}},
		{name: "tags", corpusType: corpusType{java: "java.util.Set<T>", tag: "Set<T>"}},
		{name: "byKey", corpusType: corpusType{java: "java.util.Map<String, T>", tag: "Map<T>"}},
	}
	c.fields = append(c.fields, all[m.random.IntN(len(all))])
	c.of(reflect.TypeFor[any]())
}

// of has the fields of the type parameter hold values of a Go type.
func (c *corpusClass) of(t reflect.Type) {
	f := &c.fields[0]
	switch f.name {
	case "content":
		f.goType = orNil(t)
	case "byKey":
		f.goType = reflect.MapOf(reflect.TypeFor[string](), t)
	default:
		f.goType = reflect.SliceOf(t)
	}
}

// field makes a field without its name.
func (m *corpusMaker) field() corpusField {
	f := corpusField{always: m.percent(50), transient: m.percent(1)}
	switch kind := m.random.IntN(200); {
	case kind < 40:
		f.corpusType, f.always = choose(m.random, corpusPrimitives), true
		return f
	case kind < 41 && m.percent(40):
		f.corpusType = corpusType{java: oneOf(m.random, corpusForeign), goType: reflect.TypeFor[any](), leftOut: true}
		return f
	case kind < 44:
		f.corpusType = corpusType{java: "Object", goType: reflect.TypeFor[any]()}
		return f
	case kind < 45:
		f.corpusType = corpusType{java: "byte[]", goType: reflect.TypeFor[[]byte]()}
		return f
	case kind < 80:
		f.corpusType = m.container()
		return f
	case kind < 81:
		f.corpusType = m.array()
		return f
	}
	f.corpusType = m.single()
	if nilable := orNil(f.goType); !f.always && nilable != f.goType {
		f.goType, f.tag = nilable, "" // a pointer stands for a box
	}
	return f
}

// orNil returns a Go type for t or null.
func orNil(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return t
	}
	return reflect.PointerTo(t)
}

// single makes a type of one value: a scalar, an enum, a bean or what stands for one.
func (m *corpusMaker) single() corpusType {
	switch kind := m.random.IntN(100); {
	case kind < 8:
		return acme(oneOf(m.random, m.of[corpusEnum]))
	case kind < 16 && len(m.of[corpusBean]) > 0:
		return acme(oneOf(m.random, m.of[corpusBean]))
	case kind < 17 && len(m.of[corpusRecord]) > 0:
		return acme(oneOf(m.random, m.of[corpusRecord]))
	case kind < 18 && m.implemented() != nil:
		shape := acme(m.implemented())
		shape.tag = shape.java
		return shape
	case kind < 20 && len(m.of[corpusGeneric]) > 0:
		return m.parameterized()
	}
	return choose(m.random, corpusScalars)
}

// implemented returns an interface that a class implements, or nil.
func (m *corpusMaker) implemented() *corpusClass {
	for _, c := range m.classes {
		if c.implements != nil {
			return c.implements
		}
	}
	return nil
}

func (m *corpusMaker) parameterized() corpusType {
	declared := oneOf(m.random, m.of[corpusGeneric])
	generic := *declared
	of := choose(m.random, corpusScalars)
	if m.percent(60) && len(m.of[corpusBean]) > 0 {
		of = acme(oneOf(m.random, m.of[corpusBean]))
	}
	generic.fields = slices.Clone(generic.fields)
	generic.of(of.goType)
	return corpusType{
		java: fmt.Sprintf("acme.%s<%s>", generic.name, of.java), goType: m.structOf(&generic),
		holds: append([]*corpusClass{declared}, of.holds...),
	}
}

func acme(c *corpusClass) corpusType {
	return corpusType{java: "acme." + c.name, goType: c.goType, holds: []*corpusClass{c}}
}

// container makes a collection or map, now and then of such.
func (m *corpusMaker) container() corpusType {
	of := m.single()
	if m.percent(8) {
		of = m.container()
		for of.tag != "" || of.leftOut { // sets in lists have a Go type of their own
			of = m.container()
		}
	}
	elem := of.goType
	if elem.Kind() == reflect.Struct && m.percent(50) {
		elem = orNil(elem)
	}
	list := func(java, tag string) corpusType {
		return corpusType{java: java + "<" + of.java + ">", goType: reflect.SliceOf(elem), tag: tag, holds: of.holds}
	}
	switch kind := m.random.IntN(100); {
	case kind < 55:
		return list("java.util.List", "")
	case kind < 70:
		return list("java.util.Set", "Set")
	case kind < 72:
		return list("java.util.Collection", "Collection")
	}
	return m.dictionary(of, elem)
}

// dictionary makes a map, mostly of names.
func (m *corpusMaker) dictionary(of corpusType, elem reflect.Type) corpusType {
	enum := acme(oneOf(m.random, m.of[corpusEnum]))
	key := choose(m.random, []weighted[corpusType]{
		scalarType[string](20, "String", ""), scalarType[int64](3, "Long", ""), scalarType[int32](2, "Integer", ""),
		scalarType[codec.UUID](1, "java.util.UUID", ""), {2, enum},
	})
	class := choose(m.random, []weighted[string]{{30, "Map"}, {1, "TreeMap"}, {1, "LinkedHashMap"}})
	t := corpusType{
		java: fmt.Sprintf("java.util.%s<%s, %s>", class, key.java, of.java), goType: reflect.MapOf(key.goType, elem),
		holds: append(slices.Clone(of.holds), key.holds...),
	}
	if class != "Map" {
		t.tag = class
	}
	return t
}

// array makes one of primitives, texts, or beans.
func (m *corpusMaker) array() corpusType {
	of := choose(m.random, []weighted[corpusType]{
		scalarType[string](4, "String", ""), scalarType[int32](2, "int", ""), scalarType[int64](1, "long", ""), scalarType[float64](1, "double", ""),
	})
	if m.percent(20) && len(m.of[corpusBean]) > 0 {
		of = acme(oneOf(m.random, m.of[corpusBean]))
	}
	return corpusType{java: of.java + "[]", goType: reflect.SliceOf(of.goType), tag: "array", holds: of.holds}
}

// structOf returns the struct that a user writes for the class.
func (m *corpusMaker) structOf(c *corpusClass) reflect.Type {
	tag := "acme." + c.name
	if c.kind == corpusRecord {
		tag += ",record"
	}
	if c.final {
		tag += ",final"
	}
	if uid, known := m.uids["acme."+c.name]; known {
		tag += fmt.Sprintf(",serialVersionUID=%d", uid)
	}
	fields := []reflect.StructField{{Name: "_", PkgPath: "acme", Type: reflect.TypeFor[struct{}](), Tag: reflect.StructTag(fmt.Sprintf("java:%q", tag))}}
	if c.super != nil {
		fields = append(fields, reflect.StructField{Name: c.super.name, Type: c.super.goType, Anonymous: true})
	}
	for _, f := range c.fields {
		if f.transient || f.leftOut && m.namesFields {
			continue
		}
		tags := fmt.Sprintf("json:%q", f.name)
		if f.leftOut {
			f.tag = f.java // of a final class Kryo5 does not tell the name
		}
		if f.tag != "" {
			tags += fmt.Sprintf(" java:%q", f.tag)
		}
		if f.leftOut {
			tags += ` corpus:"left out"`
		}
		fields = append(fields, reflect.StructField{Name: strings.ToUpper(f.name[:1]) + f.name[1:], Type: f.goType, Tag: reflect.StructTag(tags)})
	}
	if slices.ContainsFunc(c.fields, corpusField.isCollection) {
		fields = append(fields, reflect.StructField{Name: "Origin", Type: reflect.TypeFor[codec.Origin](), Tag: `json:"-"`})
	}
	return reflect.StructOf(fields)
}

// isMessage tells the classes that are sent themselves.
func (c *corpusClass) isMessage() bool { return c.kind == corpusBean || c.kind == corpusRecord }
