package codec

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// compareTo is that of a class of the JDK, and false for values of another one, or of two.
func compareTo(a, b any) (order int, known bool) {
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return 0, false
	}
	switch a := a.(type) {
	case string:
		return compareTexts(a, b.(string)), true
	case bool:
		return cmp.Compare(boolByte(a), boolByte(b.(bool))), true
	case int8:
		return cmp.Compare(a, b.(int8)), true
	case int16:
		return cmp.Compare(a, b.(int16)), true
	case uint16:
		return cmp.Compare(a, b.(uint16)), true
	case int32:
		return cmp.Compare(a, b.(int32)), true
	case int64:
		return cmp.Compare(a, b.(int64)), true
	case float32:
		return compareFloats(float64(a), float64(b.(float32))), true
	case float64:
		return compareFloats(a, b.(float64)), true
	case UUID:
		return compareUUIDs(a, b.(UUID)), true
	case *big.Int:
		return a.Cmp(b.(*big.Int)), true
	case Decimal:
		return compareDecimals(a, b.(Decimal)), true
	case constant:
		return cmp.Compare(a.ordinal(), b.(constant).ordinal()), a.of.name == b.(constant).of.name
	}
	return compareTimes(a, b)
}

// compareTimes is compareTo for the classes of times, two values of one.
func compareTimes(a, b any) (order int, known bool) {
	switch a := a.(type) {
	case Date:
		return cmp.Compare(a, b.(Date)), true
	case Timestamp:
		return a.Time().Compare(b.(Timestamp).Time()), true
	case time.Time:
		return a.Compare(b.(time.Time)), true
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration)), true
	case Year:
		return cmp.Compare(a, b.(Year)), true
	case YearMonth:
		b := b.(YearMonth)
		return cmp.Or(cmp.Compare(a.Year, b.Year), cmp.Compare(a.Month, b.Month)), true
	case MonthDay:
		b := b.(MonthDay)
		return cmp.Or(cmp.Compare(a.Month, b.Month), cmp.Compare(a.Day, b.Day)), true
	case LocalDate:
		return compareDates(a, b.(LocalDate)), true
	case LocalTime:
		return compareHours(a, b.(LocalTime)), true
	case LocalDateTime:
		return compareLocals(a, b.(LocalDateTime)), true
	case OffsetTime:
		b := b.(OffsetTime)
		return cmp.Or(cmp.Compare(a.nanos(), b.nanos()), compareHours(a.Time, b.Time)), true
	case OffsetDateTime:
		b := b.(OffsetDateTime)
		return cmp.Or(a.Time().Compare(b.Time()), compareLocals(a.Local, b.Local)), true
	case ZonedDateTime:
		b := b.(ZonedDateTime)
		return cmp.Or(a.Time().Compare(b.Time()), compareLocals(a.Local, b.Local), compareTexts(a.Zone, b.Zone)), true
	}
	return 0, false
}

// compareTexts compares by units of UTF-16, as Java does.
func compareTexts(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// compareFloats has -0.0 before 0.0, and NaN behind all.
func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	rank := func(f float64) int {
		switch {
		case f != f:
			return 1
		case f == 0 && math.Signbit(f):
			return -1
		}
		return 0
	}
	return cmp.Compare(rank(a), rank(b))
}

// compareDecimals compares by value, without writing out the zeros of an exponent.
func compareDecimals(a, b Decimal) int {
	first, firstScale, _ := a.parts()
	second, secondScale, _ := b.parts()
	if first == nil || second == nil {
		return strings.Compare(string(a), string(b)) // no numbers, which are not written
	}
	sign := first.Sign()
	if order := cmp.Compare(sign, second.Sign()); order != 0 || sign == 0 {
		return order
	}
	digits, others := first.Abs(first).String(), second.Abs(second).String()
	above := cmp.Compare(int64(len(digits))-int64(firstScale), int64(len(others))-int64(secondScale))
	return sign * cmp.Or(above, strings.Compare(strings.TrimRight(digits, "0"), strings.TrimRight(others, "0")))
}

// compareUUIDs compares both halves as longs, which have a sign.
func compareUUIDs(a, b UUID) int {
	half := func(u UUID, at int) int64 { return int64(binary.BigEndian.Uint64(u[at:])) }
	return cmp.Or(cmp.Compare(half(a, 0), half(b, 0)), cmp.Compare(half(a, 8), half(b, 8)))
}

func compareDates(a, b LocalDate) int {
	return cmp.Or(cmp.Compare(a.Year, b.Year), cmp.Compare(a.Month, b.Month), cmp.Compare(a.Day, b.Day))
}

func compareHours(a, b LocalTime) int {
	return cmp.Or(cmp.Compare(a.Hour, b.Hour), cmp.Compare(a.Minute, b.Minute), cmp.Compare(a.Second, b.Second), cmp.Compare(a.Nano, b.Nano))
}

func compareLocals(a, b LocalDateTime) int {
	return cmp.Or(compareDates(a.Date, b.Date), compareHours(a.Time, b.Time))
}

// nanos are those of the day in UTC.
func (t OffsetTime) nanos() int64 {
	l := t.Time
	seconds := int64(l.Hour)*3600 + int64(l.Minute)*60 + int64(l.Second) - int64(t.Offset)
	return seconds*int64(time.Second) + int64(l.Nano)
}
