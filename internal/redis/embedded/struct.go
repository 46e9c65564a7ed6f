package embedded

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// field is one item of a format of Redis's Lua library struct. Supported are the integers b B h H i[n] I[n] l L
// of at most 8 bytes, d, c[n], c0, the orders < and >, and blanks.
type field struct {
	kind byte
	size int
	big  bool
}

// kinds has the sizes of the options; the orders and the blank have no size.
var kinds = map[byte]int{'b': 1, 'B': 1, 'h': 2, 'H': 2, 'i': 4, 'I': 4, 'l': 8, 'L': 8, 'd': 8, 'c': 1, '<': 0, '>': 0, ' ': 0}

func parseFormat(l *lua.LState) (fields []field) {
	big := false
	for format := l.CheckString(1); format != ""; {
		kind := format[0]
		size, known := kinds[kind]
		option, rest := format[:1], format[1:]
		if strings.IndexByte("iIc", kind) >= 0 {
			rest = strings.TrimLeft(rest, "0123456789")
			option = format[:len(format)-len(rest)]
			if len(option) > 1 {
				n, err := strconv.Atoi(option[1:])
				size, known = n, err == nil && (kind == 'c' || n > 0 && n <= 8)
			}
		}
		switch {
		case !known:
			l.RaiseError("the embedded server has no struct option '%s'", option)
		case kind == '<' || kind == '>':
			big = kind == '>'
		case kind != ' ':
			fields = append(fields, field{kind, size, big})
		}
		format = rest
	}
	return fields
}

// bad raises Lua 5.1's error for an argument.
func bad(l *lua.LState, n int, fn, text string) {
	l.RaiseError("bad argument #%d to '%s' (%s)", n, fn, text)
}

// order turns little-endian bytes into the field's order, and back.
func (f field) order(b []byte) []byte {
	if f.big {
		slices.Reverse(b)
	}
	return b
}

// structPack is struct.pack(format, value…).
func structPack(l *lua.LState) int {
	var out []byte
	for i, f := range parseFormat(l) {
		if f.kind == 'c' {
			s := l.CheckString(i + 2)
			if f.size == 0 {
				f.size = len(s)
			}
			if len(s) < f.size {
				bad(l, i+3, "pack", "string too short") // Redis counts from the next one
			}
			out = append(out, s[:f.size]...)
			continue
		}
		n := float64(l.CheckNumber(i + 2))
		bits := uint64(int64(n))
		switch {
		case f.kind == 'd':
			bits = math.Float64bits(n)
		case n >= 1<<63:
			bits = uint64(n)
		}
		out = append(out, f.order(binary.LittleEndian.AppendUint64(nil, bits)[:f.size])...)
	}
	l.Push(lua.LString(out))
	return 1
}

// structUnpack is struct.unpack(format, data[, position]): the values, then the position after them.
func structUnpack(l *lua.LState) int {
	fields := parseFormat(l)
	data, at := l.CheckString(2), l.OptInt(3, 1)-1
	if at < 0 {
		bad(l, 3, "unpack", "offset must be 1 or greater")
	}
	var values []lua.LValue
	for _, f := range fields {
		if f.kind == 'c' && f.size == 0 { // the value before is its length
			var n lua.LNumber
			ok, last := false, len(values)-1
			if last >= 0 {
				n, ok = values[last].(lua.LNumber)
			}
			if !ok {
				l.RaiseError("format 'c0' needs a previous size")
			}
			f.size, values = int(min(max(n, -1), math.MaxInt32)), values[:last]
		}
		if f.size < 0 || at > len(data) || f.size > len(data)-at {
			bad(l, 2, "unpack", "data string too short")
		}
		values = append(values, f.value(data[at:at+f.size]))
		at += f.size
	}
	for _, v := range append(values, lua.LNumber(at+1)) {
		l.Push(v)
	}
	return len(values) + 1
}

func (f field) value(data string) lua.LValue {
	if f.kind == 'c' {
		return lua.LString(data)
	}
	bits := binary.LittleEndian.Uint64(append(f.order([]byte(data)), make([]byte, 8-f.size)...))
	switch f.kind {
	case 'd':
		return lua.LNumber(math.Float64frombits(bits))
	case 'b', 'h', 'i', 'l':
		shift := 64 - 8*f.size
		return lua.LNumber(int64(bits<<shift) >> shift)
	}
	return lua.LNumber(bits)
}
