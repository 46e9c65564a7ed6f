package codec

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Types that java.time.Ser writes in its first byte.
const (
	serDuration       = 1
	serInstant        = 2
	serLocalDate      = 3
	serLocalTime      = 4
	serLocalDateTime  = 5
	serZonedDateTime  = 6
	serZoneRegion     = 7
	serZoneOffset     = 8
	serOffsetTime     = 9
	serOffsetDateTime = 10
	serYear           = 11
	serYearMonth      = 12
	serMonthDay       = 13
	serPeriod         = 14
)

// timeOf reads what java.time.Ser writes.
func timeOf(data []byte) any {
	r := reader{data: data}
	var value any
	code := r.byte()
	switch code {
	case serDuration:
		d, fits := durationOf(r.int64(), r.int32())
		if !fits {
			return foreign{durationName, "of more than 292 years, which time.Duration cannot hold"}
		}
		value = d
	case serInstant:
		seconds := r.int64()
		value = time.Unix(seconds, int64(r.int32())).UTC()
	case serLocalDate:
		value = r.localDate()
	case serLocalTime:
		value = r.localTime(r.int32)
	case serLocalDateTime:
		value = LocalDateTime{r.localDate(), r.localTime(r.int32)}
	case serOffsetDateTime:
		value = OffsetDateTime{LocalDateTime{r.localDate(), r.localTime(r.int32)}, r.offset()}
	case serOffsetTime:
		value = OffsetTime{r.localTime(r.int32), r.offset()}
	case serYear:
		value = Year(r.int32())
	case serYearMonth:
		value = YearMonth{r.int32(), r.byte()}
	case serMonthDay:
		value = MonthDay{r.byte(), r.byte()}
	case serPeriod:
		value = Period{r.int32(), r.int32(), r.int32()}
	case serZonedDateTime:
		value = ZonedDateTime{LocalDateTime{r.localDate(), r.localTime(r.int32)}, r.offset(), r.zone()}
	default:
		return foreign{class: fmt.Sprintf("java.time, type %d of java.time.Ser", code)}
	}
	if r.end() != nil || checkScalar(value) != "" {
		return foreign{serName, "that does not hold what the JDK writes"}
	}
	return value
}

func (r *reader) localDate() LocalDate {
	year := r.int32()
	return LocalDate{year, r.byte(), r.byte()}
}

// localTime reads hours, minutes and seconds as far as they are not 0: the last
// one that comes is inverted, unless nanoseconds follow.
func (r *reader) localTime(nano func() int32) (t LocalTime) {
	for _, part := range []*uint8{&t.Hour, &t.Minute, &t.Second} {
		n := r.byte()
		if n >= 0x80 {
			*part = ^n
			return t
		}
		*part = n
	}
	t.Nano = nano()
	return t
}

// offset reads a java.time.ZoneOffset: in quarters of an hour, or 127 and seconds.
func (r *reader) offset() int32 {
	quarters := int8(r.byte())
	if quarters == offsetInSeconds {
		return r.int32()
	}
	return int32(quarters) * quarterHour
}

// zone reads the id of a java.time.ZoneId, of which an offset is one.
func (r *reader) zone() string {
	switch code := r.byte(); code {
	case serZoneRegion:
		n := int(r.uint16())
		if n == 0 { // Marshalling's writeUTF has the length in 32 bits
			n = int(r.uint16())
		}
		return r.readUnitBytes(n)
	case serZoneOffset:
		return offsetID(r.offset())
	default:
		r.fail("type %d of java.time.Ser, expected a zone", code)
		return ""
	}
}

// offsetID returns the id of a java.time.ZoneOffset.
func offsetID(seconds int32) string {
	if seconds == 0 {
		return "Z"
	}
	sign := '+'
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	id := fmt.Sprintf("%c%02d:%02d", sign, seconds/3600, seconds/60%60)
	if seconds%60 != 0 {
		id += fmt.Sprintf(":%02d", seconds%60)
	}
	return id
}

const (
	offsetInSeconds = 127
	quarterHour     = 900
)

// appendLocalTime writes t as localTime reads it, but for the nanoseconds, which it
// reports to be missing.
func appendLocalTime(dst []byte, t LocalTime) (_ []byte, nano bool) {
	switch {
	case t.Nano != 0:
		return append(dst, t.Hour, t.Minute, t.Second), true
	case t.Second != 0:
		return append(dst, t.Hour, t.Minute, ^t.Second), false
	case t.Minute != 0:
		return append(dst, t.Hour, ^t.Minute), false
	}
	return append(dst, ^t.Hour), false
}

// appendOffset writes what offset reads.
func appendOffset(dst []byte, offset int32, seconds func([]byte, uint32) []byte) []byte {
	if offset%quarterHour == 0 {
		return append(dst, byte(offset/quarterHour))
	}
	return seconds(append(dst, offsetInSeconds), uint32(offset))
}

// timeBytes returns what java.time.Ser writes; utf is the writeUTF of the stream.
func timeBytes(value any, utf func(dst []byte, s string) []byte) []byte {
	be := binary.BigEndian
	local := func(dst []byte, t LocalTime) []byte {
		dst, nano := appendLocalTime(dst, t)
		if nano {
			dst = be.AppendUint32(dst, uint32(t.Nano))
		}
		return dst
	}
	date := func(dst []byte, d LocalDate) []byte {
		return append(be.AppendUint32(dst, uint32(d.Year)), d.Month, d.Day)
	}
	switch value := value.(type) {
	case time.Duration:
		seconds, nanos := durationParts(value)
		return be.AppendUint32(be.AppendUint64([]byte{serDuration}, uint64(seconds)), uint32(nanos))
	case time.Time:
		return be.AppendUint32(be.AppendUint64([]byte{serInstant}, uint64(value.Unix())), uint32(value.Nanosecond()))
	case LocalDate:
		return date([]byte{serLocalDate}, value)
	case LocalTime:
		return local([]byte{serLocalTime}, value)
	case LocalDateTime:
		return local(date([]byte{serLocalDateTime}, value.Date), value.Time)
	case OffsetDateTime:
		data := local(date([]byte{serOffsetDateTime}, value.Local.Date), value.Local.Time)
		return appendOffset(data, value.Offset, be.AppendUint32)
	case OffsetTime:
		return appendOffset(local([]byte{serOffsetTime}, value.Time), value.Offset, be.AppendUint32)
	case Year:
		return be.AppendUint32([]byte{serYear}, uint32(value))
	case YearMonth:
		return append(be.AppendUint32([]byte{serYearMonth}, uint32(value.Year)), value.Month)
	case MonthDay:
		return []byte{serMonthDay, value.Month, value.Day}
	case Period:
		data := be.AppendUint32([]byte{serPeriod}, uint32(value.Years))
		return be.AppendUint32(be.AppendUint32(data, uint32(value.Months)), uint32(value.Days))
	case ZonedDateTime:
		data := appendOffset(local(date([]byte{serZonedDateTime}, value.Local.Date), value.Local.Time), value.Offset, be.AppendUint32)
		if offset, is := parseOffset(value.Zone); is {
			return appendOffset(append(data, serZoneOffset), offset, be.AppendUint32)
		}
		return utf(append(data, serZoneRegion), value.Zone)
	}
	panic("codec: no value of java.time")
}
