package codec_test

import (
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// The corpus is a few hundred Java classes as services send them: beans, records,
// subclasses, generic containers, interfaces, with fields of the types that such classes
// have. A seed makes them, always the same; Java fills them (testdata/java/corpus).

// corpusType is a declared type of Java, and what a user declares for it in Go.
type corpusType struct {
	java   string // as the source has it
	goType reflect.Type
	tag    string // the java tag that a field needs
	holds  []*corpusClass
	// leftOut says that Go has no type for it.
	leftOut bool
}

type corpusField struct {
	corpusType
	name string
	// always says that it is never null, so that a pointer is not needed.
	always    bool
	transient bool
}

// isCollection reports whether Java may hold one in the field.
func (f corpusField) isCollection() bool {
	kind := f.goType.Kind()
	return kind == reflect.Slice || kind == reflect.Map
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
	name       string // without its package, acme
	kind       corpusKind
	super      *corpusClass
	implements *corpusClass
	uid        int64 // declared; 0 for none
	fields     []corpusField
	final      bool
	constants  []string
	goType     reflect.Type
}

// lacking returns the classes whose Go struct, or one that it holds, leaves a field out.
func lacking(classes []*corpusClass) map[*corpusClass]bool {
	return holders(classes, func(c *corpusClass) bool {
		return slices.ContainsFunc(c.fields, func(f corpusField) bool { return f.leftOut })
	})
}

// holders returns the classes that are so, or hold one that is.
func holders(classes []*corpusClass, is func(*corpusClass) bool) map[*corpusClass]bool {
	holds := map[*corpusClass]bool{}
	mark := func(c *corpusClass, other *corpusClass) bool {
		if other == nil || !holds[other] || holds[c] {
			return false
		}
		holds[c] = true
		return true
	}
	for _, c := range classes {
		holds[c] = is(c)
	}
	for found := true; found; {
		found = false
		for _, c := range classes {
			found = mark(c, c.super) || found
			found = c.implements != nil && mark(c.implements, c) || found
			for _, f := range c.fields {
				for _, held := range f.holds {
					found = mark(c, held) || found
				}
			}
		}
	}
	return holds
}

// Go types that stand for enums; reflection cannot make them.
type (
	enum0 string
	enum1 string
	enum2 string
	enum3 string
	enum4 string
	enum5 string
)

var enumTypes = []reflect.Type{
	reflect.TypeFor[enum0](), reflect.TypeFor[enum1](), reflect.TypeFor[enum2](),
	reflect.TypeFor[enum3](), reflect.TypeFor[enum4](), reflect.TypeFor[enum5](),
}

// weighted is a choice with how often it is taken.
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

func scalarType[T any](weight int, java, tag string) weighted[corpusType] {
	return weighted[corpusType]{weight, corpusType{java: java, goType: reflect.TypeFor[T](), tag: tag}}
}

// corpusScalars are the classes of single values, by how often fields have them.
var corpusScalars = []weighted[corpusType]{
	scalarType[string](40, "String", ""),
	scalarType[int64](12, "Long", "Long"),
	scalarType[int32](10, "Integer", "Integer"),
	scalarType[bool](5, "Boolean", "Boolean"),
	scalarType[float64](5, "Double", "Double"),
	scalarType[codec.Decimal](10, "java.math.BigDecimal", ""),
	scalarType[codec.Date](7, "java.util.Date", ""),
	scalarType[time.Time](6, "java.time.Instant", ""),
	scalarType[codec.LocalDate](5, "java.time.LocalDate", ""),
	scalarType[codec.LocalDateTime](7, "java.time.LocalDateTime", ""),
	scalarType[codec.LocalTime](1, "java.time.LocalTime", ""),
	scalarType[codec.OffsetDateTime](2, "java.time.OffsetDateTime", ""),
	scalarType[time.Duration](1, "java.time.Duration", ""),
	scalarType[codec.UUID](6, "java.util.UUID", ""),
	scalarType[*big.Int](1, "java.math.BigInteger", ""),
	scalarType[float32](1, "Float", "Float"),
	scalarType[int16](1, "Short", "Short"),
	scalarType[int8](1, "Byte", "Byte"),
	scalarType[uint16](1, "Character", "Character"),
	scalarType[codec.ZonedDateTime](2, "java.time.ZonedDateTime", ""),
	scalarType[codec.Period](1, "java.time.Period", ""),
	scalarType[codec.URI](1, "java.net.URI", ""),
	scalarType[codec.Currency](1, "java.util.Currency", ""),
	scalarType[codec.Timestamp](1, "java.sql.Timestamp", ""),
	scalarType[codec.Locale](1, "java.util.Locale", ""),
}

// corpusPrimitives are the types that are no classes.
var corpusPrimitives = []weighted[corpusType]{
	scalarType[int64](10, "long", ""), scalarType[int32](10, "int", ""), scalarType[bool](8, "boolean", ""),
	scalarType[float64](4, "double", ""), scalarType[float32](1, "float", ""), scalarType[int16](1, "short", ""),
	scalarType[int8](1, "byte", ""), scalarType[uint16](1, "char", ""),
}

// corpusForeign are those that Go has none for.
var corpusForeign = []string{"java.util.concurrent.atomic.AtomicLong", "java.time.YearMonth"}

// corpusNames are put together to names of fields.
var corpusNames = [2][]string{
	{"customer", "order", "payment", "delivery", "item", "user", "account", "product", "invoice", "session", "event", "source", "target", "parent", "billing"},
	{"Id", "Name", "Code", "Type", "State", "Amount", "Count", "At", "Date", "Note", "Key", "Info", "Data", "Ref", "Flag", "Total", "Status", "Level", "Group", "Value"},
}
