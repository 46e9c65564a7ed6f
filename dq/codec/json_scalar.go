package codec

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// writesScalar reports whether a codec of JSON has a form for a kind of scalars.
func (n Name) writesScalar(k kind) bool {
	return jsonScalars[k] || k == kindUUID && n != NameJSON && n != NameTypedJSON
}

// jsonScalars are those that JsonJacksonCodec writes alike in all releases. A UUID is not:
// see NewJacksonAt; java.time needs a module of Jackson.
var jsonScalars = map[kind]bool{
	kindByte: true, kindShort: true, kindChar: true, kindFloat: true, kindDate: true, kindDecimal: true, kindBigInteger: true,
}

// scalar writes a value that JSON has no form for: with its class, unless that is final
// and declared.
func (f jsonFormat) scalar(dst []byte, value any, declared *javaType) []byte {
	class, final, text := "", kindAny, ""
	switch value := value.(type) {
	case Date:
		class, text = dateName, strconv.FormatInt(int64(value), 10)
		if f.codec.jackson3() {
			text = strconv.Quote(value.Time().Format(isoDate))
		}
	case Decimal:
		class, text = bigDecimalName, value.plain()
		if f.codec.jackson3() {
			text = value.canonical()
		}
	case UUID:
		class, text = uuidName, strconv.Quote(value.String())
		if f.bareUUIDs {
			final = kindUUID
		}
	case *big.Int:
		class, text = bigIntegerName, value.String()
	case int8:
		class, final, text = javaLangByte, kindByte, strconv.Itoa(int(value))
	case int16:
		class, final, text = javaLangShort, kindShort, strconv.Itoa(int(value))
	case float32:
		class, final, text = javaLangFloat, kindFloat, javaFloat(value)
		if math.IsNaN(float64(value)) || math.IsInf(float64(value), 0) {
			text = strconv.Quote(text)
		}
	case uint16:
		class, final, text = javaLangCharacter, kindChar, jsonChar(value)
	case constant:
		class, final, text = value.of.name, kindEnum, string(f.string(nil, value.name))
	}
	if final != kindAny && declared.kind == final {
		return append(dst, text...)
	}
	return f.wrap(dst, class, func(dst []byte) []byte { return append(dst, text...) })
}

// isoDate is how Jackson 3 writes a java.util.Date.
const isoDate = "2006-01-02T15:04:05.000Z07:00"

// isISO reports whether a date has a text that means the same to Go: days before
// 1582-10-15 are Julian in Java.
func (d Date) isISO() bool {
	const gregorian, year10000 = -12_219_292_800_000, 253_402_300_800_000
	return d >= gregorian && d < year10000
}

// canonical is BigDecimal.toString.
func (d Decimal) canonical() string {
	unscaled, scale, err := d.parts()
	if err != nil {
		return string(d)
	}
	return string(decimalOf(unscaled, scale))
}

// maxJSONScale is how far from the point Jackson writes the digits of a BigDecimal, which
// it does without an exponent.
const maxJSONScale = 9999

// plain is BigDecimal.toPlainString; scalarToJava has checked the scale.
func (d Decimal) plain() string {
	unscaled, scale, err := d.parts()
	switch {
	case err != nil || scale > maxJSONScale || scale < -maxJSONScale:
		return string(d)
	case scale >= 0:
		return plainDigits(unscaled, int(scale))
	case unscaled.Sign() == 0:
		return "0"
	}
	return unscaled.String() + strings.Repeat("0", int(-scale))
}

// jsonChar writes a character; half of one outside the BMP is no text of Go.
func jsonChar(unit uint16) string {
	if utf16.IsSurrogate(rune(unit)) {
		return fmt.Sprintf(`"\u%04X"`, unit)
	}
	return string(appendJSONString(nil, string(rune(unit))))
}

// jsonNumber returns a number of a class, and false for another class.
func (d jsonDecoder) jsonNumber(n json.Number, k kind) (value any, ok bool, err error) {
	integer := func(bits int) (int64, error) {
		i, err := strconv.ParseInt(n.String(), 10, bits)
		if err != nil {
			return 0, d.errorf("the number %.40s does not fit %d bits", n, bits)
		}
		return i, nil
	}
	switch k {
	case kindDate:
		i, err := integer(64)
		return Date(i), true, err
	case kindShort:
		i, err := integer(16)
		return int16(i), true, err
	case kindByte:
		i, err := integer(8)
		return int8(i), true, err
	case kindFloat:
		f, err := strconv.ParseFloat(n.String(), 32)
		if err != nil {
			return nil, true, d.errorf("the number %.40s does not fit a float", n)
		}
		return float32(f), true, nil
	case kindBigInteger:
		whole, isWhole := new(big.Int).SetString(n.String(), 10)
		if !isWhole {
			return nil, true, d.errorf("the number %.40s is no integer", n)
		}
		return whole, true, nil
	case kindDecimal:
		unscaled, scale, err := Decimal(n.String()).parts()
		if err != nil {
			return nil, true, d.errorf("%v", err)
		}
		return decimalOf(unscaled, scale), true, nil
	}
	return nil, false, nil
}

// jsonText returns a text of a class, and false for another class.
func (d jsonDecoder) jsonText(s string, declared *javaType) (value any, ok bool, err error) {
	switch declared.kind {
	case kindChar:
		units := utf16.Encode([]rune(s))
		if len(units) != 1 {
			return nil, true, d.errorf("expected one character, got %.40q", s)
		}
		return units[0], true, nil
	case kindFloat:
		switch s {
		case "NaN", "Infinity", "-Infinity":
			f, err := strconv.ParseFloat(s, 32)
			return float32(f), true, err
		}
	case kindDate:
		if at, err := time.Parse(time.RFC3339, s); err == nil && d.codec.jackson3() {
			if date := DateOf(at); date.isISO() {
				return date, true, nil
			}
			return nil, true, d.errorf("the java.util.Date %q is not from 1582-10-15 to 9999", s)
		}
		return nil, true, d.errorf("expected a java.util.Date, got %.40q", s)
	case kindDecimal, kindBigInteger: // Jackson reads these from text too
		return d.jsonNumber(json.Number(s), declared.kind)
	case kindUUID:
		id, err := parseUUID(s)
		if err != nil {
			return nil, true, d.errorf("%v", err)
		}
		return id, true, nil
	case kindEnum:
		return d.registry.enumConstant(declared.enum.name, s), true, nil
	}
	return nil, false, nil
}

// wrappedType returns the declared type that the class of a pair stands for, or nil.
func (d jsonDecoder) wrappedType(class string) *javaType {
	if of := d.registry.enum(class); of != nil {
		return &javaType{kind: kindEnum, enum: of}
	}
	if s, is := scalarClasses[class]; is && (d.codec.writesScalar(s.kind) || s.kind == kindUUID) {
		return &javaType{kind: s.kind}
	}
	for k, p := range primitives {
		if p.box == class && jsonScalars[k] {
			return &javaType{kind: k, boxed: true}
		}
	}
	return nil
}
