package embedded

import (
	"encoding/binary"
	"math"
	"regexp"

	lua "github.com/yuin/gopher-lua"
)

// sizes has the supported options of Redis's Lua library struct, in little-endian order: unsigned integers, a double, and c0, a string
// whose length is the value before it.
var sizes = map[string]int{"B": 1, "I4": 4, "L": 8, "d": 8, "c0": 0}

var option = regexp.MustCompile(`[A-Za-z]\d*|[^A-Za-z]`)

func parseFormat(l *lua.LState) (options []string) {
	for _, o := range option.FindAllString(l.CheckString(1), -1) {
		if _, known := sizes[o]; known {
			options = append(options, o)
		} else if o != "<" { // the default
			l.RaiseError("the embedded server has no struct option '%s'", o)
		}
	}
	return options
}

// structPack is struct.pack(format, value…).
func structPack(l *lua.LState) int {
	var out []byte
	for i, o := range parseFormat(l) {
		if o == "c0" {
			out = append(out, l.CheckString(i+2)...)
			continue
		}
		n := float64(l.CheckNumber(i + 2))
		bits := uint64(int64(n))
		switch {
		case o == "d":
			bits = math.Float64bits(n)
		case n >= 1<<63:
			bits = uint64(n)
		}
		out = append(out, binary.LittleEndian.AppendUint64(nil, bits)[:sizes[o]]...)
	}
	l.Push(lua.LString(out))
	return 1
}

// structUnpack is struct.unpack(format, data[, position]): the values, then the position after them.
func structUnpack(l *lua.LState) int {
	options := parseFormat(l)
	data, at := l.CheckString(2), l.OptInt(3, 1)-1
	if at < 0 {
		l.RaiseError("bad argument #3 to 'unpack' (offset must be 1 or greater)")
	}
	var values []lua.LValue
	for _, o := range options {
		size := sizes[o]
		if o == "c0" {
			last := len(values) - 1
			if last < 0 || values[last].Type() != lua.LTNumber {
				l.RaiseError("format 'c0' needs a previous size")
			}
			size, values = int(min(max(values[last].(lua.LNumber), -1), math.MaxInt32)), values[:last]
		}
		if size < 0 || at > len(data) || size > len(data)-at {
			l.RaiseError("bad argument #2 to 'unpack' (data string too short)")
		}
		field := data[at : at+size]
		at += size
		if o == "c0" {
			values = append(values, lua.LString(field))
			continue
		}
		bits := binary.LittleEndian.Uint64(append([]byte(field), make([]byte, 8-size)...))
		n := lua.LNumber(bits)
		if o == "d" {
			n = lua.LNumber(math.Float64frombits(bits))
		}
		values = append(values, n)
	}
	for _, v := range append(values, lua.LNumber(at+1)) {
		l.Push(v)
	}
	return len(values) + 1
}
