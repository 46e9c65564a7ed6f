package java_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// The corpus is a few hundred Java classes as services send them: beans, records, subclasses, generic containers, interfaces.
// A seed makes the same ones each time; Java fills them (testdata/java/corpus).

// corpusType is a declared type of Java, and the Go type that a user declares.
type corpusType struct {
	java    string // in Java's source
	goType  reflect.Type
	tag     string // the java tag of the field
	leftOut bool   // Go has no type for it
}

type corpusField struct {
	corpusType
	name      string
	always    bool // never null
	transient bool
}

type corpusKind int

const (
	corpusBean corpusKind = iota
	corpusRecord
	corpusGeneric
	corpusInterface
	corpusEnum
)

type corpusClass struct {
	name       string // in the package acme
	kind       corpusKind
	super      *corpusClass
	implements *corpusClass
	uid        int64 // declared; 0 for none
	fields     []corpusField
	final      bool
	constants  []string
	goType     reflect.Type
	argument   string // of a generic class
}

// isMessage reports whether values of the class are sent themselves.
func (c *corpusClass) isMessage() bool { return c.kind == corpusBean || c.kind == corpusRecord }

// corpusMaker makes the classes, each from earlier ones.
type corpusMaker struct {
	random      *rand.Rand
	namesFields bool // the bytes of the codec do, so that a struct can lack one
	uids        map[string]int64
	classes     []*corpusClass
	of          map[corpusKind][]*corpusClass
}

// The Go types of enums; reflection cannot make them.
type (
	enum0 string
	enum1 string
	enum2 string
	enum3 string
)

var enumTypes = []reflect.Type{reflect.TypeFor[enum0](), reflect.TypeFor[enum1](), reflect.TypeFor[enum2](), reflect.TypeFor[enum3]()}

// newCorpus returns the classes of a seed, with the Go types that a user of the codec declares.
func newCorpus(seed uint64, codec string, uids map[string]int64) []*corpusClass {
	m := &corpusMaker{random: rand.New(rand.NewPCG(seed, 1)), namesFields: codec != "kryo5", uids: uids, of: map[corpusKind][]*corpusClass{}}
	for i, t := range enumTypes {
		m.add(&corpusClass{name: fmt.Sprintf("Enum%d", i), kind: corpusEnum, goType: t, constants: []string{"NEW", "OPEN", "PAID", "DONE"}[:2+i%3]})
	}
	for i := range 4 {
		m.add(&corpusClass{name: fmt.Sprintf("Shape%d", i), kind: corpusInterface, goType: reflect.TypeFor[any]()})
	}
	for range 300 {
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

var corpusNames = [2][]string{
	{"customer", "order", "payment", "delivery", "item", "user", "account", "product", "invoice", "session", "event", "source", "target", "parent", "billing"},
	{"Id", "Name", "Code", "Type", "State", "Amount", "Count", "At", "Date", "Note", "Key", "Info", "Data", "Ref", "Flag", "Total", "Status", "Level", "Group", "Value"},
}

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
		c.fields = append(c.fields, oneOf(m.random, []corpusField{
			{name: "content", corpusType: corpusType{java: "T"}},
			{name: "items", corpusType: corpusType{java: "java.util.List<T>"}},
			{name: "tags", corpusType: corpusType{java: "java.util.Set<T>", tag: "Set"}},
			{name: "byKey", corpusType: corpusType{java: "java.util.Map<String, T>"}},
		}))
		c.hold(reflect.TypeFor[any]())
	}
	for range 2 + m.random.IntN(9) {
		f := m.field()
		f.name = oneOf(m.random, corpusNames[0]) + oneOf(m.random, corpusNames[1])
		f.transient = f.transient && c.kind != corpusRecord
		if !taken[f.name] {
			taken[f.name] = true
			c.fields = append(c.fields, f)
		}
	}
	c.goType = m.structOf(c)
	m.add(c)
}

// hold sets the Go type of the type parameter.
func (c *corpusClass) hold(t reflect.Type) {
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

func (m *corpusMaker) field() corpusField {
	f := corpusField{always: m.percent(50), transient: m.percent(1)}
	switch kind := m.random.IntN(200); {
	case kind < 40:
		f.corpusType, f.always = choose(m.random, corpusPrimitives), true
		return f
	case kind < 41 && m.percent(15):
		f.corpusType = corpusType{java: "java.util.concurrent.atomic.AtomicLong", goType: reflect.TypeFor[any](), leftOut: true}
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
		of := choose(m.random, []weighted[corpusType]{scalarType[string](4, "String"), scalarType[int32](2, "int"), scalarType[int64](1, "long"), scalarType[float64](1, "double")})
		if m.percent(20) && len(m.of[corpusBean]) > 0 {
			of = acme(oneOf(m.random, m.of[corpusBean]))
		}
		f.corpusType = corpusType{java: of.java + "[]", goType: reflect.SliceOf(of.goType), tag: "array"}
		return f
	}
	f.corpusType = m.single()
	if nilable := orNil(f.goType); !f.always && nilable != f.goType {
		f.goType, f.tag = nilable, "" // a pointer is boxed
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

// single makes a type of one value: a scalar, an enum or a bean.
func (m *corpusMaker) single() corpusType {
	implemented := slices.IndexFunc(m.classes, func(c *corpusClass) bool { return c.implements != nil })
	switch kind := m.random.IntN(100); {
	case kind < 8:
		return acme(oneOf(m.random, m.of[corpusEnum]))
	case kind < 16 && len(m.of[corpusBean]) > 0:
		return acme(oneOf(m.random, m.of[corpusBean]))
	case kind < 17 && len(m.of[corpusRecord]) > 0:
		return acme(oneOf(m.random, m.of[corpusRecord]))
	case kind < 18 && implemented >= 0:
		shape := acme(m.classes[implemented].implements)
		shape.tag = shape.java
		return shape
	case kind < 21 && len(m.of[corpusGeneric]) > 0:
		return m.parameterized()
	}
	return choose(m.random, corpusScalars)
}

func (m *corpusMaker) parameterized() corpusType {
	generic := *oneOf(m.random, m.of[corpusGeneric])
	of := choose(m.random, corpusScalars)
	if m.percent(60) && len(m.of[corpusBean]) > 0 {
		of = acme(oneOf(m.random, m.of[corpusBean]))
	}
	generic.fields, generic.argument = slices.Clone(generic.fields), of.java
	generic.hold(of.goType)
	return corpusType{java: fmt.Sprintf("acme.%s<%s>", generic.name, of.java), goType: m.structOf(&generic)}
}

func acme(c *corpusClass) corpusType { return corpusType{java: "acme." + c.name, goType: c.goType} }

// container makes a collection or map, sometimes of another.
func (m *corpusMaker) container() corpusType {
	of := m.single()
	if m.percent(8) {
		for of = m.container(); of.tag != ""; { // in Go a list of sets has a type of its own
			of = m.container()
		}
	}
	elem := of.goType
	if elem.Kind() == reflect.Struct && m.percent(50) {
		elem = orNil(elem)
	}
	list := func(java, tag string) corpusType {
		return corpusType{java: java + "<" + of.java + ">", goType: reflect.SliceOf(elem), tag: tag}
	}
	switch kind := m.random.IntN(100); {
	case kind < 55:
		return list("java.util.List", "")
	case kind < 70:
		return list("java.util.Set", "Set")
	case kind < 72:
		return list("java.util.Collection", "Collection")
	}
	key := choose(m.random, []weighted[corpusType]{
		scalarType[string](20, "String"), scalarType[int64](3, "Long"), scalarType[int32](2, "Integer"), scalarType[java.UUID](1, "java.util.UUID"),
		{2, acme(oneOf(m.random, m.of[corpusEnum]))},
	})
	class := choose(m.random, []weighted[string]{{30, "Map"}, {1, "TreeMap"}, {1, "LinkedHashMap"}})
	t := corpusType{java: fmt.Sprintf("java.util.%s<%s, %s>", class, key.java, of.java), goType: reflect.MapOf(key.goType, elem)}
	if class != "Map" {
		t.tag = class
	}
	return t
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
	if c.argument != "" {
		tag += ",of=" + strings.NewReplacer("<", "-", ",", "-").Replace(c.argument)
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
			f.tag = f.java
			tags += ` corpus:"left out"`
		}
		if f.tag != "" {
			tags += fmt.Sprintf(" java:%q", f.tag)
		}
		fields = append(fields, reflect.StructField{Name: strings.ToUpper(f.name[:1]) + f.name[1:], Type: f.goType, Tag: reflect.StructTag(tags)})
	}
	return reflect.StructOf(fields)
}

// source returns the class in Java.
func (c *corpusClass) source() string {
	var fields []string
	for _, f := range c.fields {
		modifiers := ""
		for modifier, has := range map[string]bool{"@corpus.Always ": f.always, "@corpus.LeftOut ": f.leftOut, "transient ": f.transient} {
			if has {
				modifiers = modifier + modifiers
			}
		}
		fields = append(fields, modifiers+f.java+" "+f.name)
	}
	implements := " implements java.io.Serializable"
	if c.implements != nil {
		implements += ", acme." + c.implements.name
	}
	head, body := "class "+c.name, strings.Join(append(fields, ""), ";\n")
	switch c.kind {
	case corpusEnum:
		return fmt.Sprintf("package acme; public enum %s { %s }", c.name, strings.Join(c.constants, ", "))
	case corpusInterface:
		return fmt.Sprintf("package acme; public interface %s { }", c.name)
	case corpusRecord:
		head, body = fmt.Sprintf("record %s(%s)", c.name, strings.Join(fields, ", ")), ""
	case corpusGeneric:
		head += "<T>"
	case corpusBean:
		if c.final {
			head = "final " + head
		}
		if c.super != nil {
			head += " extends acme." + c.super.name
		}
	}
	if c.uid != 0 {
		body += fmt.Sprintf("private static final long serialVersionUID = %dL;\n", c.uid)
	}
	return fmt.Sprintf("package acme; public %s%s {\n%s}\n", head, implements, body)
}

// weighted is a choice and its frequency.
type weighted[T any] struct {
	weight int
	value  T
}

func choose[T any](r *rand.Rand, all []weighted[T]) T {
	total := 0
	for _, w := range all {
		total += w.weight
	}
	n := r.IntN(total)
	for _, w := range all {
		if n -= w.weight; n < 0 {
			return w.value
		}
	}
	panic("unreachable")
}

// scalarType is a type whose boxes of primitives have a tag.
func scalarType[T any](weight int, class string) weighted[corpusType] {
	t := corpusType{java: class, goType: reflect.TypeFor[T]()}
	if slices.Contains([]string{"Long", "Integer", "Boolean", "Double", "Float", "Short", "Byte", "Character"}, class) {
		t.tag = class
	}
	return weighted[corpusType]{weight, t}
}

// corpusScalars are the classes of single values, by their frequency in fields.
var corpusScalars = []weighted[corpusType]{
	scalarType[string](40, "String"), scalarType[int64](12, "Long"), scalarType[int32](10, "Integer"), scalarType[bool](5, "Boolean"),
	scalarType[float64](5, "Double"), scalarType[float32](1, "Float"), scalarType[int16](1, "Short"), scalarType[int8](1, "Byte"), scalarType[uint16](1, "Character"),
	scalarType[java.Decimal](10, "java.math.BigDecimal"), scalarType[*big.Int](1, "java.math.BigInteger"), scalarType[java.Date](7, "java.util.Date"),
	scalarType[java.UUID](6, "java.util.UUID"), scalarType[time.Time](6, "java.time.Instant"), scalarType[time.Duration](1, "java.time.Duration"),
	scalarType[java.LocalDate](5, "java.time.LocalDate"), scalarType[java.LocalTime](1, "java.time.LocalTime"), scalarType[java.LocalDateTime](7, "java.time.LocalDateTime"),
	scalarType[java.OffsetDateTime](2, "java.time.OffsetDateTime"), scalarType[java.ZonedDateTime](2, "java.time.ZonedDateTime"),
	scalarType[java.Period](1, "java.time.Period"), scalarType[java.YearMonth](1, "java.time.YearMonth"), scalarType[java.URI](1, "java.net.URI"),
	scalarType[java.Year](1, "java.time.Year"), scalarType[java.MonthDay](1, "java.time.MonthDay"), scalarType[java.OffsetTime](1, "java.time.OffsetTime"),
	scalarType[java.Currency](1, "java.util.Currency"), scalarType[java.Timestamp](1, "java.sql.Timestamp"), scalarType[java.Locale](1, "java.util.Locale"),
}

var corpusPrimitives = []weighted[corpusType]{
	scalarType[int64](10, "long"), scalarType[int32](10, "int"), scalarType[bool](8, "boolean"), scalarType[float64](4, "double"),
	scalarType[float32](1, "float"), scalarType[int16](1, "short"), scalarType[int8](1, "byte"), scalarType[uint16](1, "char"),
}
