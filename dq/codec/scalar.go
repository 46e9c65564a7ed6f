package codec

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"time"
	"unicode/utf8"
)

// optional is a java.util.Optional; of nil it is empty.
type optional struct{ value any }

// scalarToJava converts what is neither text, a number of JSON, a collection nor an
// object.
func (g *registry) scalarToJava(v reflect.Value, j *javaType) (any, error) {
	switch j.kind {
	case kindByte:
		return int8(v.Int()), nil
	case kindShort:
		return int16(v.Int()), nil
	case kindChar:
		return uint16(v.Uint()), nil
	case kindFloat:
		return float32(v.Float()), nil
	case kindEnum:
		if j.enum.noJSON && g.isJSON() {
			return nil, &ValueError{g.codec, "the enum " + j.enum.name + " " + annotated}
		}
		if j.enum.noJackson3 && g.codec.jackson3() {
			return nil, &ValueError{g.codec, "a constant of the enum " + j.enum.name + spoken}
		}
		c := constant{j.enum, v.String()}
		if c.ordinal() < 0 {
			return nil, &ValueError{g.codec, fmt.Sprintf("%q is no constant of the enum %s, which has %q", c.name, j.enum.name, j.enum.constants)}
		}
		return c, nil
	case kindUUID:
		var id UUID
		reflect.Copy(reflect.ValueOf(&id).Elem(), v)
		return id, nil
	}
	if k := j.kind; g.codec == NameKryo5 && (k == kindAtomicLong || k == kindAtomicInteger || k == kindAtomicBoolean) {
		return nil, &ValueError{g.codec, "a " + scalarKinds[k].class + ", which the releases of Redisson write in two ways, so that it is only read"}
	}
	value := v.Interface()
	if number, is := value.(big.Int); is {
		value = &number
	}
	if reason := checkScalar(value); reason != "" {
		return nil, &ValueError{g.codec, reason}
	}
	if d, is := value.(Decimal); is && g.isJSON() {
		if _, scale, _ := d.parts(); scale > maxJSONScale || scale < -maxJSONScale {
			return nil, &ValueError{g.codec, fmt.Sprintf("%.40q has digits further from the point than %d, which Jackson does not write", string(d), maxJSONScale)}
		}
	}
	if wrong := g.limits().exceeded(value); wrong != "" {
		return nil, &ValueError{g.codec, wrong}
	}
	if d, is := value.(Date); is && g.codec.jackson3() && !d.isISO() {
		return nil, &ValueError{g.codec, fmt.Sprintf("the java.util.Date of %d ms is not from 1582-10-15 to 9999", d)}
	}
	if t, is := value.(time.Time); is {
		return t.Round(0).UTC(), nil
	}
	return value, nil
}

// checkScalar says why value is none of Java, or nothing.
func checkScalar(value any) string {
	type checked interface{ valid() bool }
	switch value := value.(type) {
	case Decimal:
		if _, _, err := value.parts(); err != nil {
			return err.Error()
		}
	case checked:
		if !value.valid() {
			return fmt.Sprintf("%+v is no value of %s", value, scalars[reflect.TypeOf(value)].class)
		}
	case time.Time:
		if year := value.UTC().Year(); year < -maxYear || year > maxYear {
			return fmt.Sprintf("the year %d is beyond those of java.time.Instant", year)
		}
	case URI:
		if !utf8.ValidString(string(value)) {
			return fmt.Sprintf("the URI %.80q is not UTF-8", string(value))
		}
	case Currency:
		if len(value) != 3 || !isASCII(string(value)) {
			return fmt.Sprintf("%q is no code of a currency, such as EUR", string(value))
		}
	case Locale:
		for _, part := range []string{value.Language, value.Country, value.Variant} {
			if !isASCII(part) {
				return fmt.Sprintf("%q is no part of a java.util.Locale", part)
			}
		}
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// durationOf answers false for what does not fit time.Duration, of 292 years.
func durationOf(seconds int64, nanos int32) (time.Duration, bool) {
	const most = math.MaxInt64 / int64(time.Second)
	if seconds >= most || seconds <= -most || nanos < 0 || nanos >= 1e9 {
		return 0, false
	}
	return time.Duration(seconds)*time.Second + time.Duration(nanos), true
}

// durationParts returns seconds, rounded down, and the nanoseconds beyond them.
func durationParts(d time.Duration) (seconds int64, nanos int32) {
	seconds, rest := int64(d/time.Second), int64(d%time.Second)
	if rest < 0 {
		seconds, rest = seconds-1, rest+int64(time.Second)
	}
	return seconds, int32(rest)
}

// integerBytes returns n as BigInteger.toByteArray does: big endian two's
// complement in as few bytes as its sign allows.
func integerBytes(n *big.Int) []byte {
	size := n.BitLen()/8 + 1
	if n.Sign() >= 0 {
		return n.FillBytes(make([]byte, size))
	}
	if n.TrailingZeroBits() == uint(n.BitLen()-1) && n.BitLen()%8 == 0 {
		size-- // -2^(8k-1) needs no sign bit of its own
	}
	wrapped := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	return wrapped.Add(wrapped, n).FillBytes(make([]byte, size))
}

// integerOf reads what integerBytes returns, which is one byte at least.
func integerOf(data []byte) *big.Int {
	n := new(big.Int).SetBytes(data)
	if n.Sign() == 0 {
		return new(big.Int) // which is what big.NewInt(0) is, deeply
	}
	if data[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return n
}
