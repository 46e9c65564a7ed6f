package java

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// unitsIn returns the length of s as Java counts it, in UTF-16 units.
func unitsIn(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// appendUnits appends s with each UTF-16 unit encoded as UTF-8. Modified UTF-8 writes zero as C0 80; Kryo keeps it.
func appendUnits(dst []byte, s string, modified bool) []byte {
	for _, r := range s {
		switch {
		case r == 0 && modified:
			dst = append(dst, 0xc0, 0x80)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			for _, half := range []rune{high, low} {
				dst = append(dst, 0xe0|byte(half>>12), 0x80|byte(half>>6)&0x3f, 0x80|byte(half)&0x3f)
			}
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
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
