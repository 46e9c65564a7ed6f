package codec

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Len returns the length of s as Java counts it, in UTF-16 units.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// appendUnits appends s with each UTF-16 unit in UTF-8 of its own, so that a
// character outside the BMP takes 6 bytes. The two ways of Java to write a zero
// differ: Kryo keeps it, "modified UTF-8" writes C0 80.
func appendUnits(dst []byte, s string, modified bool) []byte {
	for _, r := range s {
		switch {
		case r == 0 && modified:
			dst = append(dst, 0xc0, 0x80)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = appendSurrogate(appendSurrogate(dst, high), low)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

func appendSurrogate(dst []byte, r rune) []byte {
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
}

// readUnits reads count UTF-16 units, each in 1 to 3 bytes. A lone surrogate,
// which only Java strings can hold, becomes U+FFFD; an exact reader fails.
func (r *reader) readUnits(count int) string {
	if r.err != nil {
		return ""
	}
	if count > r.left() {
		r.cut("a text of %d characters, but %d bytes left", count, r.left())
		return ""
	}
	if ascii := r.data[r.at : r.at+count]; !slices.ContainsFunc(ascii, func(b byte) bool { return b >= 0x80 }) {
		r.at += count
		return string(ascii)
	}
	units := make([]uint16, 0, count)
	for len(units) < count && r.err == nil {
		units = append(units, r.unit())
	}
	return r.decoded(units)
}

// readUnitBytes reads count bytes of such units.
func (r *reader) readUnitBytes(count int) string {
	text := r.take(count)
	part := reader{codec: r.codec, data: text}
	units := make([]uint16, 0, len(text))
	for part.left() > 0 && part.err == nil {
		units = append(units, part.unit())
	}
	if part.err != nil {
		r.at -= len(text) - part.at
		r.fail("broken UTF-8")
	}
	return r.decoded(units)
}

// loneSurrogate is what is wrong with a text that Go cannot hold.
const loneSurrogate = "a text with half of a surrogate pair, which Go cannot hold"

func (r *reader) decoded(units []uint16) string {
	if r.exact && hasLoneSurrogate(units) {
		r.fail(loneSurrogate)
	}
	return string(utf16.Decode(units))
}

func hasLoneSurrogate(units []uint16) bool {
	for i := 0; i < len(units); i++ {
		switch {
		case !utf16.IsSurrogate(rune(units[i])):
		case i+1 == len(units) || utf16.DecodeRune(rune(units[i]), rune(units[i+1])) == utf8.RuneError:
			return true
		default:
			i++
		}
	}
	return false
}

// hasLoneEscape reports whether a text of JSON has an escape for half of a surrogate pair alone.
func hasLoneEscape(data []byte) bool {
	var high rune
	for i := 0; i < len(data); i++ {
		before := high
		high = 0
		if data[i] == '\\' && i+5 < len(data) && data[i+1] == 'u' {
			unit, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 16)
			paired := before != 0 && utf16.DecodeRune(before, rune(unit)) != utf8.RuneError
			if err == nil && !paired && utf16.IsSurrogate(rune(unit)) {
				high = rune(unit)
			}
			i += 5
			if paired {
				continue
			}
		} else if data[i] == '\\' {
			i++
		}
		if before != 0 {
			return true
		}
	}
	return high != 0
}

func (r *reader) unit() uint16 {
	first := uint16(r.byte())
	continuation := func() uint16 {
		b := r.byte()
		if b>>6 != 2 && r.err == nil {
			r.fail("broken UTF-8: continuation byte 0x%02x", b)
		}
		return uint16(b & 0x3f)
	}
	switch {
	case first < 0x80:
		return first
	case first>>5 == 6:
		return first&0x1f<<6 | continuation()
	case first>>4 == 14:
		return first&0xf<<12 | continuation()<<6 | continuation()
	}
	r.fail("broken UTF-8: lead byte 0x%02x", first)
	return 0
}

// javaBits returns the bits of d as Double.doubleToLongBits does, which knows one
// NaN only.
func javaBits(d float64) int64 {
	if math.IsNaN(d) {
		return 0x7ff8 << 48
	}
	return int64(math.Float64bits(d))
}

// javaFloatBits returns the bits of f as Float.floatToIntBits does.
func javaFloatBits(f float32) uint32 {
	if f != f {
		return 0x7fc0_0000
	}
	return math.Float32bits(f)
}

// appendPrimitive appends a number, a character or a boolean as a DataOutput does.
func appendPrimitive(dst []byte, value any) []byte {
	be := binary.BigEndian
	switch value := value.(type) {
	case bool:
		return append(dst, boolByte(value))
	case int8:
		return append(dst, byte(value))
	case int16:
		return be.AppendUint16(dst, uint16(value))
	case uint16:
		return be.AppendUint16(dst, value)
	case int32:
		return be.AppendUint32(dst, uint32(value))
	case int64:
		return be.AppendUint64(dst, uint64(value))
	case float32:
		return be.AppendUint32(dst, javaFloatBits(value))
	case float64:
		return be.AppendUint64(dst, uint64(javaBits(value)))
	}
	return dst
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// javaDouble returns d as Double.toString writes it in JDK 19 and newer: the
// shortest digits that read back as d, two at least, in plain notation from 1e-3
// up to 1e7. Older JDKs now and then print a digit more, of the same value.
func javaDouble(d float64) string { return javaDecimal(d, 64) }

// javaFloat is Float.toString.
func javaFloat(f float32) string { return javaDecimal(float64(f), 32) }

func javaDecimal(d float64, bits int) string {
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
