package codec

import (
	"math"
	"math/big"
	"math/bits"
	"time"
	"unicode/utf16"
)

// javaHash returns what hashCode does, and false where Java itself has another one each
// time, as for enums, or where it is not known here.
func javaHash(key any) (uint32, bool) {
	switch key := key.(type) {
	case string:
		return hashText(key), true
	case int32:
		return uint32(key), true
	case int64:
		return folded(key), true
	case int16:
		return uint32(key), true
	case int8:
		return uint32(key), true
	case uint16:
		return uint32(key), true
	case bool:
		if key {
			return 1231, true
		}
		return 1237, true
	case float32:
		if key != key {
			return javaNaN32, true
		}
		return math.Float32bits(key), true
	case float64:
		if key != key {
			return folded(javaNaN64), true
		}
		return folded(int64(math.Float64bits(key))), true
	case *big.Int:
		return hashInteger(key), true
	case Decimal:
		unscaled, scale, err := key.parts()
		if err != nil {
			return 0, false
		}
		return 31*hashInteger(unscaled) + uint32(scale), true
	case UUID:
		var n int64
		for i, b := range key {
			n ^= int64(b) << (56 - i%8*8)
		}
		return uint32(n>>32) ^ uint32(n), true
	}
	return hashTime(key)
}

// hashTime is javaHash for the classes of times.
func hashTime(key any) (uint32, bool) {
	switch key := key.(type) {
	case Date:
		return folded(int64(key)), true
	case Timestamp:
		return folded(key.Time().UnixMilli()), true
	case time.Time:
		return folded(key.Unix()) + 51*uint32(key.Nanosecond()), true
	case time.Duration:
		seconds, nanos := durationParts(key)
		return folded(seconds) + 51*uint32(nanos), true
	case Year:
		return uint32(key), true
	case YearMonth:
		return uint32(key.Year) ^ uint32(key.Month)<<27, true
	case MonthDay:
		return uint32(key.Month)<<6 + uint32(key.Day), true
	case Period:
		return uint32(key.Years) + bits.RotateLeft32(uint32(key.Months), 8) + bits.RotateLeft32(uint32(key.Days), 16), true
	case LocalDate:
		return hashDate(key), true
	case LocalTime:
		return hashHours(key), true
	case LocalDateTime:
		return hashLocal(key), true
	case OffsetTime:
		return hashHours(key.Time) ^ uint32(key.Offset), true
	case OffsetDateTime:
		return hashLocal(key.Local) ^ uint32(key.Offset), true
	case ZonedDateTime:
		zone := hashText(key.Zone)
		if offset, is := parseOffset(key.Zone); is {
			zone = uint32(offset)
		}
		return hashLocal(key.Local) ^ uint32(key.Offset) ^ bits.RotateLeft32(zone, 3), true
	}
	return 0, false
}

// The one NaN of floatToIntBits and doubleToLongBits.
const (
	javaNaN32 = 0x7fc0_0000
	javaNaN64 = 0x7ff8_0000_0000_0000
)

func folded(n int64) uint32 { return uint32(n ^ int64(uint64(n)>>32)) }

func hashText(text string) (hash uint32) {
	for _, unit := range utf16.Encode([]rune(text)) {
		hash = 31*hash + uint32(unit)
	}
	return hash
}

func hashInteger(n *big.Int) (hash uint32) {
	const word = 4
	for i, b := range n.FillBytes(make([]byte, (n.BitLen()+31)/32*word)) {
		if i%word == 0 {
			hash *= 31
		}
		hash += uint32(b) << (24 - 8*(i%word))
	}
	if n.Sign() < 0 {
		return -hash
	}
	return hash
}

func hashDate(d LocalDate) uint32 {
	return uint32(d.Year)&0xffff_f800 ^ (uint32(d.Year)<<11 + uint32(d.Month)<<6 + uint32(d.Day))
}

func hashHours(t LocalTime) uint32 {
	return folded(OffsetTime{Time: t}.nanos())
}

func hashLocal(t LocalDateTime) uint32 { return hashDate(t.Date) ^ hashHours(t.Time) }
