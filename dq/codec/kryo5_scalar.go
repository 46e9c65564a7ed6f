package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"time"
)

// zigzag reads an int.
func (r *kryoReader) zigzag() int32 {
	n := uint32(r.varint())
	return int32(n>>1) ^ -int32(n&1)
}

// fixed reads a number of size bytes, the lowest first.
func (r *kryoReader) fixed(size int) uint64 {
	var data [8]byte
	copy(data[:], r.take(size))
	return binary.LittleEndian.Uint64(data[:])
}

// scalar reads a number that is neither int nor long, or a scalar.
func (r *kryoReader) scalar(k kind) any {
	var value any
	switch k {
	case kindByte:
		return int8(r.byte())
	case kindShort:
		return int16(r.fixed(2))
	case kindChar:
		return uint16(r.fixed(2))
	case kindFloat:
		return math.Float32frombits(uint32(r.fixed(4)))
	case kindDouble:
		return math.Float64frombits(r.fixed(8))
	case kindDate:
		return Date(r.varlong())
	case kindBigInteger, kindDecimal:
		return r.bigNumber(k)
	case kindUUID:
		most := int64(r.fixed(8))
		return uuidOf(most, int64(r.fixed(8)))
	case kindInstant:
		seconds := int64(r.varlong())
		value = time.Unix(seconds, int64(r.nano())).UTC()
	case kindDuration:
		d, fits := durationOf(int64(r.fixed(8)), r.nano())
		if !fits {
			return foreign{durationName, "of more than 292 years, which time.Duration cannot hold"}
		}
		value = d
	case kindLocalDate:
		value = r.kryoDate()
	case kindLocalTime:
		value = r.localTime(r.nano)
	case kindLocalDateTime:
		value = LocalDateTime{r.kryoDate(), r.localTime(r.nano)}
	case kindOffsetDateTime:
		value = OffsetDateTime{LocalDateTime{r.kryoDate(), r.localTime(r.nano)}, r.kryoOffset()}
	case kindURI:
		value = URI(r.text())
	case kindCurrency:
		code, isText := r.stringOrNull().(string)
		if !isText {
			return nil
		}
		value = Currency(code)
	case kindPeriod:
		value = Period{int32(uint32(r.varint())), int32(uint32(r.varint())), int32(uint32(r.varint()))}
	case kindYear:
		value = Year(uint32(r.varint()))
	case kindYearMonth:
		value = YearMonth{int32(uint32(r.varint())), r.byte()}
	case kindMonthDay:
		value = MonthDay{r.byte(), r.byte()}
	case kindOffsetTime:
		value = OffsetTime{r.localTime(r.nano), r.kryoOffset()}
	case kindAtomicLong, kindAtomicInteger, kindAtomicBoolean:
		return r.atomic(k)
	case kindTimestamp:
		ms := int64(r.varlong())
		at := time.UnixMilli(ms)
		value = Timestamp{at.Unix(), int32(at.Nanosecond())}
	case kindZonedDateTime:
		value = zoned(LocalDateTime{r.kryoDate(), r.localTime(r.nano)}, r.text())
	case kindLocale:
		value = Locale{r.text(), r.text(), r.text()}
	default:
		r.fail("a value of a type that is not read")
		return nil
	}
	if problem := checkScalar(value); problem != "" {
		r.fail("%s", problem)
	}
	return value
}

// atomicForm is how Kryo writes AtomicLong, AtomicInteger and AtomicBoolean: as an object
// with a number for its field, or, in newer releases, as that number in all its bytes.
type atomicForm uint8

const (
	atomicOfFields atomicForm = iota
	atomicFixed
	atomicRefused
)

func (r *kryoReader) atomic(k kind) any {
	r.hasAtomic = true
	fixed := r.atomics == atomicFixed
	switch {
	case r.atomics == atomicRefused && r.err == nil:
		r.err = &ValueError{r.codec, fmt.Sprintf("the value holds a %s, which the releases of Redisson write in two ways, and the bytes fit both, with other values", scalarKinds[k].class)}
		return nil
	case k == kindAtomicLong && fixed:
		return AtomicLong(r.fixed(8))
	case k == kindAtomicLong:
		return AtomicLong(r.long())
	case k == kindAtomicInteger && fixed:
		return AtomicInteger(uint32(r.fixed(4)))
	case k == kindAtomicInteger:
		return AtomicInteger(r.zigzag())
	case fixed:
		return AtomicBoolean(r.flag())
	}
	n := r.zigzag()
	if n != 0 && n != 1 {
		r.fail("%d in an AtomicBoolean, expected 0 or 1", n)
	}
	return AtomicBoolean(n == 1)
}

func (r *kryoReader) nano() int32 { return int32(uint32(r.varint())) }

func (r *kryoReader) bigNumber(k kind) any {
	size := int(int32(r.varint()))
	if size == 0 {
		return nil
	}
	data := r.take(size - 1)
	if len(data) == 0 {
		r.fail("a number without bytes")
		return nil
	}
	n := integerOf(data)
	if k == kindBigInteger {
		return n
	}
	return decimalOf(n, r.zigzag())
}

func (r *kryoReader) kryoDate() LocalDate {
	year := int32(uint32(r.varint()))
	return LocalDate{year, r.byte(), r.byte()}
}

// kryoOffset is offset with the lowest byte of the seconds first.
func (r *kryoReader) kryoOffset() int32 {
	quarters := int8(r.byte())
	if quarters == offsetInSeconds {
		return int32(r.fixed(4))
	}
	return int32(quarters) * quarterHour
}

// scalar writes a number that is neither int nor long, or a scalar.
func (w *kryoWriter) scalar(value any) {
	le := binary.LittleEndian
	switch value := value.(type) {
	case int8:
		w.buf = append(w.buf, byte(value))
	case int16:
		w.buf = le.AppendUint16(w.buf, uint16(value))
	case uint16:
		w.buf = le.AppendUint16(w.buf, value)
	case float32:
		w.buf = le.AppendUint32(w.buf, javaFloatBits(value))
	case float64:
		w.buf = le.AppendUint64(w.buf, uint64(javaBits(value)))
	case Date:
		w.varlong(uint64(value))
	case *big.Int:
		w.bigNumber(value)
	case Decimal:
		unscaled, scale, _ := value.parts() // scalarToJava has checked it
		w.bigNumber(unscaled)
		w.zigzag(scale)
	case UUID:
		w.buf = le.AppendUint64(w.buf, binary.BigEndian.Uint64(value[:8]))
		w.buf = le.AppendUint64(w.buf, binary.BigEndian.Uint64(value[8:]))
	case time.Time:
		w.varlong(uint64(value.Unix()))
		w.varint(uint64(value.Nanosecond()))
	case time.Duration:
		seconds, nanos := durationParts(value)
		w.buf = le.AppendUint64(w.buf, uint64(seconds))
		w.varint(uint64(nanos))
	case LocalDate:
		w.date(value)
	case LocalTime:
		w.time(value)
	case LocalDateTime:
		w.date(value.Date)
		w.time(value.Time)
	case OffsetDateTime:
		w.date(value.Local.Date)
		w.time(value.Local.Time)
		w.buf = appendOffset(w.buf, value.Offset, le.AppendUint32)
	case URI:
		w.text(string(value))
	case Currency:
		w.text(string(value))
	case Period:
		w.varint(uint64(uint32(value.Years)))
		w.varint(uint64(uint32(value.Months)))
		w.varint(uint64(uint32(value.Days)))
	case Year:
		w.varint(uint64(uint32(value)))
	case YearMonth:
		w.varint(uint64(uint32(value.Year)))
		w.buf = append(w.buf, value.Month)
	case MonthDay:
		w.buf = append(w.buf, value.Month, value.Day)
	case OffsetTime:
		w.time(value.Time)
		w.buf = appendOffset(w.buf, value.Offset, le.AppendUint32)
	case Timestamp:
		w.varlong(uint64(value.Time().UnixMilli()))
	case ZonedDateTime:
		w.date(value.Local.Date)
		w.time(value.Local.Time)
		w.text(value.Zone)
	case Locale:
		w.text(value.Language)
		w.text(value.Country)
		w.text(value.Variant)
	}
}

func (w *kryoWriter) zigzag(n int32) { w.varint(uint64(uint32(n<<1 ^ n>>31))) }

// varlong writes 9 bytes at most: the ninth has eight bits.
func (w *kryoWriter) varlong(u uint64) {
	for range 8 {
		if u < 0x80 {
			break
		}
		w.buf = append(w.buf, byte(u)|0x80)
		u >>= 7
	}
	w.buf = append(w.buf, byte(u))
}

func (w *kryoWriter) bigNumber(n *big.Int) {
	data := integerBytes(n)
	w.varint(uint64(len(data)) + 1)
	w.buf = append(w.buf, data...)
}

func (w *kryoWriter) date(d LocalDate) {
	w.varint(uint64(uint32(d.Year)))
	w.buf = append(w.buf, d.Month, d.Day)
}

func (w *kryoWriter) time(t LocalTime) {
	var nano bool
	if w.buf, nano = appendLocalTime(w.buf, t); nano {
		w.varint(uint64(t.Nano))
	}
}
