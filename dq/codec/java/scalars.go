package java

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Date is a java.util.Date: milliseconds since 1970.
type Date int64

// DateOf returns t in whole milliseconds.
func DateOf(t time.Time) Date { return Date(t.UnixMilli()) }

// Time returns the date in UTC.
func (d Date) Time() time.Time { return time.UnixMilli(int64(d)).UTC() }

// Timestamp is a java.sql.Timestamp, in UTC. Kryo5Codec keeps milliseconds only, so Kryo5 refuses to write finer ones.
type Timestamp struct{ time.Time }

// UUID is a java.util.UUID. Any other array of 16 bytes is one too.
type UUID [16]byte

// String returns the canonical text.
func (u UUID) String() string {
	text := hex.EncodeToString(u[:])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

func uuidOf(high, low uint64) UUID {
	return UUID(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
}

// ParseUUID reads the canonical text, in letters of either case.
func ParseUUID(text string) (id UUID, err error) {
	n, err := hex.Decode(id[:], []byte(strings.ReplaceAll(text[:min(len(text), 36)], "-", "")))
	if err != nil || n != len(id) || id.String() != strings.ToLower(text) {
		return UUID{}, fmt.Errorf("expected a java.util.UUID, got %.40q", text)
	}
	return id, nil
}

// The texts of these types are as toString of the Java class writes them: "12.50", "2024-02-29", "13:05:07.000000009",
// "2024-02-29T23:59:58", "2024-02-29T23:59+01:00[Europe/Berlin]", "--02-29", "P1Y2M3D", "EUR", "de_DE".
//
//nolint:revive // the types are named as their Java classes
type (
	// Decimal is a java.math.BigDecimal. The digits after the point are part of the value.
	Decimal        string
	LocalDate      string
	LocalTime      string
	LocalDateTime  string
	OffsetDateTime string
	OffsetTime     string
	ZonedDateTime  string
	Year           string
	YearMonth      string
	MonthDay       string
	Period         string
	URI            string
	Currency       string
	Locale         string
)

const uuidClass = "java.util.UUID"

// scalar is a class of the JDK that holds one value.
type scalar struct {
	class  string
	goType reflect.Type
	final  bool   // Kryo and Jackson do not name a final class that is declared
	inJSON bool   // every release writes it as the same JSON
	layout string // of a class of java.time that is read and written as a moment
}

var scalars = []*scalar{
	{"java.util.Date", reflect.TypeFor[Date](), false, true, ""},
	{"java.sql.Timestamp", reflect.TypeFor[Timestamp](), false, false, ""},
	{"java.math.BigInteger", reflect.TypeFor[big.Int](), false, true, ""},
	{"java.math.BigDecimal", reflect.TypeFor[Decimal](), false, true, ""},
	{uuidClass, reflect.TypeFor[UUID](), true, true, ""},
	{"java.time.Instant", reflect.TypeFor[time.Time](), true, false, ""},
	{"java.time.Duration", reflect.TypeFor[time.Duration](), true, false, ""},
	{"java.time.LocalDate", reflect.TypeFor[LocalDate](), true, false, "y-m-a"},
	{"java.time.LocalTime", reflect.TypeFor[LocalTime](), true, false, "t"},
	{"java.time.LocalDateTime", reflect.TypeFor[LocalDateTime](), true, false, "y-m-aTt"},
	{"java.time.OffsetDateTime", reflect.TypeFor[OffsetDateTime](), true, false, "y-m-aTto"},
	{"java.time.OffsetTime", reflect.TypeFor[OffsetTime](), true, false, "to"},
	{"java.time.ZonedDateTime", reflect.TypeFor[ZonedDateTime](), true, false, "y-m-aTtoz"},
	{"java.time.Year", reflect.TypeFor[Year](), true, false, "y"},
	{"java.time.YearMonth", reflect.TypeFor[YearMonth](), true, false, "y-m"},
	{"java.time.MonthDay", reflect.TypeFor[MonthDay](), true, false, "--m-a"},
	{"java.time.Period", reflect.TypeFor[Period](), true, false, "p"},
	{"java.net.URI", reflect.TypeFor[URI](), true, false, ""},
	{"java.util.Currency", reflect.TypeFor[Currency](), true, false, ""},
	{"java.util.Locale", reflect.TypeFor[Locale](), true, false, ""},
}

var scalarOfGo, scalarOfClass = func() (map[reflect.Type]*scalar, map[string]*scalar) {
	byGo, byClass := map[reflect.Type]*scalar{}, map[string]*scalar{}
	for _, s := range scalars {
		byGo[s.goType], byClass[s.class] = s, s
	}
	return byGo, byClass
}()

// parts returns the digits as an integer, and the number of digits after the point.
func (d Decimal) parts() (unscaled *big.Int, scale int32, err error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToUpper(string(d)), "E")
	var power int64
	if scientific {
		power, err = strconv.ParseInt(exponent, 10, 32)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	unscaled, ok := new(big.Int).SetString(whole+fraction, 10)
	wide := int64(len(fraction)) - power
	if err != nil || !ok || strings.Contains(mantissa, "_") || int64(int32(wide)) != wide {
		return nil, 0, fmt.Errorf("expected a java.math.BigDecimal such as 12.50 or 1E+3, got %.40q", string(d))
	}
	return unscaled, int32(wide), nil
}

// decimalOf writes a number as BigDecimal.toString does.
func decimalOf(unscaled *big.Int, scale int32) Decimal {
	digits := unscaled.String()
	first := 1 // the length to the first digit
	if unscaled.Sign() < 0 {
		first = 2
	}
	adjusted := int64(len(digits)-first) - int64(scale)
	switch {
	case scale >= 0 && adjusted >= -6:
		return Decimal(plainText(unscaled, int(scale)))
	case len(digits) > first:
		digits = digits[:first] + "." + digits[first:]
	}
	return Decimal(fmt.Sprintf("%sE%+d", digits, adjusted))
}

// plainText writes a number as BigDecimal.toPlainString does.
func plainText(unscaled *big.Int, scale int) string {
	switch {
	case scale < 0 && unscaled.Sign() != 0:
		return unscaled.String() + strings.Repeat("0", -scale)
	case scale <= 0:
		return unscaled.String()
	}
	width := scale + 1 // of a digit before the point
	if unscaled.Sign() < 0 {
		width++
	}
	digits := fmt.Sprintf("%0*d", width, unscaled)
	return digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

// integerBytes is BigInteger.toByteArray: two's complement in the fewest bytes.
func integerBytes(n *big.Int) []byte {
	size := n.BitLen()/8 + 1
	if n.Sign() >= 0 {
		return n.FillBytes(make([]byte, size))
	}
	if n.TrailingZeroBits() == uint(n.BitLen()-1) && n.BitLen()%8 == 0 {
		size-- // -2^(8k-1) needs no further sign bit
	}
	wrapped := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	return wrapped.Add(wrapped, n).FillBytes(make([]byte, size))
}

// integerOf is the reverse of integerBytes. It needs one byte at least.
func integerOf(data []byte) *big.Int {
	n := new(big.Int).SetBytes(data)
	if n.Sign() != 0 && data[0]&0x80 != 0 {
		return n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return new(big.Int).Set(n)
}

// durationOf fails for more than 292 years, the range of time.Duration.
func durationOf(seconds int64, nanos int32) (time.Duration, error) {
	d := time.Duration(seconds)*time.Second + time.Duration(nanos)
	if back, rest := durationParts(d); back != seconds || rest != nanos {
		return 0, fmt.Errorf("a java.time.Duration of %d s and %d ns, beyond the 292 years of time.Duration", seconds, nanos)
	}
	return d, nil
}

// durationParts returns seconds, rounded down, and the nanoseconds beyond them.
func durationParts(d time.Duration) (seconds int64, nanos int32) {
	at := time.Unix(0, int64(d))
	return at.Unix(), int32(at.Nanosecond())
}

// of returns the Go value for a moment. It fails for one that java.time has not.
func (s *scalar) of(m moment) (any, error) {
	if err := m.valid(s.layout); err != nil {
		return nil, fmt.Errorf("a %s: %w", s.class, err)
	}
	return reflect.ValueOf(m.text(s.layout)).Convert(s.goType).Interface(), nil
}

// instantOf fails beyond the range of java.time.Instant, which Java fails to read.
func instantOf(seconds, nanos int64) (time.Time, error) {
	const least, most = -31_557_014_167_219_200, 31_556_889_864_403_199
	if seconds < least || seconds > most || nanos < 0 || nanos >= 1e9 {
		return time.Time{}, fmt.Errorf("a java.time.Instant of %d s and %d ns, which Java has not", seconds, nanos)
	}
	return time.Unix(seconds, nanos).UTC(), nil
}

// floatText is Double.toString of JDK 19 and newer, or Float.toString: the shortest digits that read back as the number.
func floatText(d float64, bits int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(d, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(d, 'e', 1, bits), "e")
	}
	power, err := strconv.Atoi(exponent)
	switch {
	case d == 0:
		return strconv.FormatFloat(d, 'f', 1, bits)
	case err != nil: // NaN, +Inf, -Inf
		return strings.TrimPrefix(strings.Replace(mantissa, "Inf", "Infinity", 1), "+")
	case power >= -3 && power < 7:
		plain := strconv.FormatFloat(d, 'f', -1, bits)
		if !strings.Contains(plain, ".") {
			plain += ".0"
		}
		return plain
	}
	return mantissa + "E" + strconv.Itoa(power)
}
