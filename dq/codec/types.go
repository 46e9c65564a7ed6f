package codec

import (
	"cmp"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
)

type kind uint8

const (
	kindAny kind = iota // java.lang.Object
	kindString
	kindInt
	kindLong
	kindBool
	kindDouble
	kindByte
	kindShort
	kindChar
	kindFloat
	kindBytes
	kindList // any java.util.Collection, and arrays
	kindMap
	kindObject
	kindEnum
	kindDate
	kindBigInteger
	kindDecimal
	kindUUID
	kindInstant
	kindDuration
	kindLocalDate
	kindLocalTime
	kindLocalDateTime
	kindOffsetDateTime
	kindZonedDateTime
	kindLocale
	kindURI
	kindCurrency
	kindTimestamp
	kindPeriod
	kindYear
	kindYearMonth
	kindMonthDay
	kindOffsetTime
	kindAtomicLong
	kindAtomicInteger
	kindAtomicBoolean
	kindOptional
	kindOther // no Java type: whatever encoding/json makes of it
)

// javaType is a declared type of Java.
type javaType struct {
	kind  kind
	boxed bool // Integer rather than int
	// param says that Java declares a type parameter of the class, of which this is the
	// argument.
	param bool
	// erasure is the bound of a type parameter, as which Java declares it; nil for Object.
	erasure *javaType
	// mixed says that of several type arguments some are type parameters, and others are not. Only a model has such.
	mixed bool
	// sorted says of a list or map without a class that Java holds it as a TreeSet or TreeMap.
	sorted bool
	// declared is the class or interface of kindAny; empty for Object.
	declared string
	// unsure is why it is not known whether the class of kindAny is final, so that nothing but null can
	// be read or written where it counts. Only a model has such.
	unsure string
	key    *javaType   // of kindMap
	elem   *javaType   // of kindList, kindMap and kindOptional
	list   *collection // of kindList and kindMap; nil for List and Map, which hold an ArrayList and a HashMap
	class  *class      // of kindObject
	enum   *enum       // of kindEnum
}

// enum is a Java enum and the Go string type that stands for it.
type enum struct {
	name      string
	goType    reflect.Type
	constants []string
	// noJackson3 says that Jackson 3 writes other names.
	noJackson3 bool
	// noJSON says that Jackson writes what annotations say.
	noJSON bool
}

// constant is a value of an enum.
type constant struct {
	of   *enum
	name string
}

func (c constant) ordinal() int { return slices.Index(c.of.constants, c.name) }

// scalar is a class of Java whose Go type is not of its own making.
type scalar struct {
	kind  kind
	class string
	// final classes have no subclasses, so that Kryo needs not tell the class of a
	// field.
	final bool
}

// scalars has the classes by the Go type that stands for them.
var scalars = map[reflect.Type]scalar{
	reflect.TypeFor[Date]():           {kindDate, dateName, false},
	reflect.TypeFor[big.Int]():        {kindBigInteger, bigIntegerName, false},
	reflect.TypeFor[Decimal]():        {kindDecimal, bigDecimalName, false},
	reflect.TypeFor[UUID]():           {kindUUID, uuidName, true},
	reflect.TypeFor[time.Time]():      {kindInstant, "java.time.Instant", true},
	reflect.TypeFor[time.Duration]():  {kindDuration, durationName, true},
	reflect.TypeFor[LocalDate]():      {kindLocalDate, "java.time.LocalDate", true},
	reflect.TypeFor[LocalTime]():      {kindLocalTime, "java.time.LocalTime", true},
	reflect.TypeFor[LocalDateTime]():  {kindLocalDateTime, "java.time.LocalDateTime", true},
	reflect.TypeFor[OffsetDateTime](): {kindOffsetDateTime, "java.time.OffsetDateTime", true},
	reflect.TypeFor[ZonedDateTime]():  {kindZonedDateTime, "java.time.ZonedDateTime", true},
	reflect.TypeFor[Locale]():         {kindLocale, localeName, true},
	reflect.TypeFor[URI]():            {kindURI, uriName, true},
	reflect.TypeFor[Currency]():       {kindCurrency, currencyName, true},
	reflect.TypeFor[Period]():         {kindPeriod, "java.time.Period", true},
	reflect.TypeFor[Timestamp]():      {kindTimestamp, timestampName, false},
	reflect.TypeFor[Year]():           {kindYear, "java.time.Year", true},
	reflect.TypeFor[YearMonth]():      {kindYearMonth, yearMonthName, true},
	reflect.TypeFor[MonthDay]():       {kindMonthDay, "java.time.MonthDay", true},
	reflect.TypeFor[OffsetTime]():     {kindOffsetTime, "java.time.OffsetTime", true},
	reflect.TypeFor[AtomicLong]():     {kindAtomicLong, atomicLongName, false},
	reflect.TypeFor[AtomicInteger]():  {kindAtomicInteger, atomicIntegerName, false},
	reflect.TypeFor[AtomicBoolean]():  {kindAtomicBoolean, atomicBooleanName, false},
}

// scalarKinds and scalarClasses have the same by their kind and by their class.
var scalarKinds, scalarClasses = func() (map[kind]scalar, map[string]scalar) {
	kinds, classes := map[kind]scalar{}, map[string]scalar{}
	for _, s := range scalars {
		kinds[s.kind], classes[s.class] = s, s
	}
	return kinds, classes
}()

// primitives has the kinds that are classes when boxed and none when not.
var primitives = map[kind]struct {
	signature string
	box       string
}{
	kindInt: {"I", javaLangInteger}, kindLong: {"J", javaLangLong}, kindBool: {"Z", javaLangBoolean}, kindDouble: {"D", javaLangDouble},
	kindByte: {"B", javaLangByte}, kindShort: {"S", javaLangShort}, kindChar: {"C", javaLangCharacter}, kindFloat: {"F", javaLangFloat},
}

// isPrimitive tells int, long, boolean and so on from classes.
func (j *javaType) isPrimitive() bool {
	_, is := primitives[j.kind]
	return is && !j.boxed
}

// isFinal reports whether the class of a declared type has no subclasses, so that
// the reader knows the class of the value.
func (j *javaType) isFinal() bool {
	switch j.kind {
	case kindAny, kindMap:
		return false
	case kindObject:
		return j.class.final
	case kindList:
		return j.isArray() && j.elem.isFinal()
	}
	s, isScalar := scalarKinds[j.kind]
	return !isScalar || s.final
}

// isOptional reports whether an Optional is declared, also where streams are read or written, which have none.
func (j *javaType) isOptional() bool {
	return j != nil && (j.kind == kindOptional || j.kind == kindAny && j.declared == optionalName)
}

func (j *javaType) isArray() bool { return j.kind == kindList && j.list != nil && j.list.class == "" }

// className returns the declared class as Class.getName writes it: "int",
// "java.util.List", "[I", "[Ljava.lang.String;".
func (j *javaType) className() string {
	primitive, isPrimitive := primitives[j.kind]
	switch {
	case j.param && j.erasure != nil:
		return j.erasure.className()
	case j.param:
		return javaLangObject
	case isPrimitive && j.boxed:
		return primitive.box
	case isPrimitive:
		return primitive.signature
	case j.isArray():
		return "[" + nameInArray(j.elem)
	}
	switch j.kind {
	case kindAny:
		return cmp.Or(j.declared, javaLangObject)
	case kindString:
		return javaLangString
	case kindBytes:
		return bytesName
	case kindList:
		if j.list != nil {
			return j.list.declared
		}
		return listName
	case kindMap:
		if j.list != nil {
			return j.list.declared
		}
		return mapName
	case kindObject:
		return j.class.name
	case kindEnum:
		return j.enum.name
	case kindOptional:
		return optionalName
	}
	return scalarKinds[j.kind].class
}

// nameInArray returns the class of elements as the name of their array has it.
func nameInArray(j *javaType) string {
	name := j.className()
	if j.isPrimitive() || name[0] == '[' {
		return name
	}
	return "L" + name + ";"
}

// signature returns the declared class as class files write it.
func (j *javaType) signature() string {
	name := j.className()
	if j.isPrimitive() || name[0] == '[' {
		return strings.ReplaceAll(name, ".", "/")
	}
	return "L" + strings.ReplaceAll(name, ".", "/") + ";"
}
