package codec

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Date is a java.util.Date: milliseconds since 1970.
type Date int64

// DateOf returns t, of which Java keeps milliseconds.
func DateOf(t time.Time) Date { return Date(t.UnixMilli()) }

// Time returns the date in UTC.
func (d Date) Time() time.Time { return time.UnixMilli(int64(d)).UTC() }

// Decimal is a java.math.BigDecimal, as its toString writes it: "12.50". The digits
// behind the point are part of the value, as they are in Java.
type Decimal string

// parts returns the digits as an integer, and how many of them are behind the point.
func (d Decimal) parts() (unscaled *big.Int, scale int32, err error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToUpper(string(d)), "E")
	var power int64
	if scientific {
		if power, err = strconv.ParseInt(exponent, 10, 32); err != nil {
			return nil, 0, fmt.Errorf("the exponent of %.40q is no 32-bit integer", string(d))
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	wide := int64(len(fraction)) - power
	if !ok || strings.Contains(mantissa, "_") || int64(int32(wide)) != wide {
		return nil, 0, fmt.Errorf("%.40q is no decimal number, such as 12.50 or 1E+3", string(d))
	}
	return unscaled, int32(wide), nil
}

// decimalOf writes a number as BigDecimal.toString does.
func decimalOf(unscaled *big.Int, scale int32) Decimal {
	digits := new(big.Int).Abs(unscaled).String()
	var sign string
	if unscaled.Sign() < 0 {
		sign = "-"
	}
	adjusted := int64(len(digits)) - 1 - int64(scale)
	switch {
	case scale == 0:
		return Decimal(sign + digits)
	case scale > 0 && adjusted >= -6:
		return Decimal(plainDigits(unscaled, int(scale)))
	}
	if len(digits) > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	return Decimal(fmt.Sprintf("%s%sE%+d", sign, digits, adjusted))
}

// plainDigits writes a number with scale digits behind the point, none for 0.
func plainDigits(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	var sign string
	if unscaled.Sign() < 0 {
		sign = "-"
	}
	if scale == 0 {
		return sign + digits
	}
	if missing := scale - len(digits) + 1; missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	return sign + digits[:point] + "." + digits[point:]
}

// UUID is a java.util.UUID. Any other array type of 16 bytes is taken for one too,
// such as that of github.com/google/uuid.
type UUID [16]byte

// String returns the canonical text.
func (u UUID) String() string {
	text := hex.EncodeToString(u[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

// LocalDate is a java.time.LocalDate.
type LocalDate struct {
	Year       int32
	Month, Day uint8
}

// String returns the date as ISO 8601 writes it.
func (d LocalDate) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day) }

func (d LocalDate) valid() bool {
	if d.Month < 1 || d.Month > 12 || d.Day < 1 || d.Year < -maxYear || d.Year > maxYear {
		return false
	}
	last := time.Date(int(d.Year), time.Month(d.Month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return int(d.Day) <= last
}

// maxYear is the last year of java.time.
const maxYear = 999_999_999

// LocalTime is a java.time.LocalTime.
type LocalTime struct {
	Hour, Minute, Second uint8
	Nano                 int32
}

// String returns the time as ISO 8601 writes it.
func (t LocalTime) String() string {
	text := fmt.Sprintf("%02d:%02d:%02d", t.Hour, t.Minute, t.Second)
	if t.Nano != 0 {
		text += fmt.Sprintf(".%09d", t.Nano)
	}
	return text
}

func (t LocalTime) valid() bool {
	return t.Hour < 24 && t.Minute < 60 && t.Second < 60 && t.Nano >= 0 && t.Nano < 1e9
}

// LocalDateTime is a java.time.LocalDateTime.
type LocalDateTime struct {
	Date LocalDate
	Time LocalTime
}

// String returns the date and time as ISO 8601 writes them.
func (t LocalDateTime) String() string { return t.Date.String() + "T" + t.Time.String() }

func (t LocalDateTime) valid() bool { return t.Date.valid() && t.Time.valid() }

// OffsetDateTime is a java.time.OffsetDateTime.
type OffsetDateTime struct {
	Local LocalDateTime
	// Offset is what the local time is ahead of UTC, in seconds; 18 hours at most.
	Offset int32
}

// Time returns the instant, in a zone of that offset.
func (t OffsetDateTime) Time() time.Time {
	d, l := t.Local.Date, t.Local.Time
	zone := time.FixedZone("", int(t.Offset))
	return time.Date(int(d.Year), time.Month(d.Month), int(d.Day), int(l.Hour), int(l.Minute), int(l.Second), int(l.Nano), zone)
}

func (t OffsetDateTime) valid() bool {
	return t.Local.valid() && t.Offset >= -maxOffset && t.Offset <= maxOffset
}

const maxOffset = 18 * 3600

// ZonedDateTime is a java.time.ZonedDateTime.
type ZonedDateTime struct {
	Local LocalDateTime
	// Offset is what the local time is ahead of UTC, in seconds. Kryo5 does not write it:
	// there it is what the zone had at that time, by the time zones of this machine, and 0
	// where these do not know the zone.
	Offset int32
	// Zone is the id of the zone, such as "Europe/Berlin", "Z" or "+02:00".
	Zone string
}

// Time returns the instant, in a zone of that name and offset.
func (t ZonedDateTime) Time() time.Time {
	at := OffsetDateTime{t.Local, t.Offset}.Time()
	return at.In(time.FixedZone(t.Zone, int(t.Offset)))
}

func (t ZonedDateTime) valid() bool {
	return OffsetDateTime{t.Local, t.Offset}.valid() && t.Zone != "" && isASCII(t.Zone)
}

// zoned returns the time with the offset that its zone has then.
func zoned(local LocalDateTime, zone string) ZonedDateTime {
	at := ZonedDateTime{Local: local, Zone: zone}
	if offset, is := parseOffset(zone); is {
		at.Offset = offset
		return at
	}
	if place, err := time.LoadLocation(zone); err == nil && local.valid() {
		d, l := local.Date, local.Time
		_, offset := time.Date(int(d.Year), time.Month(d.Month), int(d.Day), int(l.Hour), int(l.Minute), int(l.Second), 0, place).Zone()
		at.Offset = int32(offset)
	}
	return at
}

// parseOffset reads the id of a java.time.ZoneOffset: "Z", "+02:00" or "+02:00:30".
func parseOffset(id string) (seconds int32, ok bool) {
	if id == "Z" {
		return 0, true
	}
	for _, layout := range []string{"-07:00", "-07:00:00"} {
		if at, err := time.Parse(layout, id); err == nil {
			_, offset := at.Zone()
			return int32(offset), true
		}
	}
	return 0, false
}

// Locale is a java.util.Locale without script and extensions.
type Locale struct {
	Language, Country, Variant string
}

// Set is a java.util.HashSet where no field declares the class: in an any, in a
// list or in a map. Its order is the one in which Java wrote or will read it.
type Set []any
