package embedded

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// This file is the Lua library struct as scripts on Redis know it, on a 64-bit
// little-endian server: formats b B h H i[n] I[n] l L T f d c[n] s x, the
// controls < > ![n] and the blank, and its error texts. The behaviour is that
// of redis-server, compared in TestStructAgainstRedis.

// maxInteger is the widest integer, in bytes, and maxAlign the widest default
// alignment.
const (
	maxInteger = 32
	maxAlign   = 8
)

// luaValue is an argument or result of a library function.
type luaValue struct {
	kind byte // 'n' number, 's' string, '-' another type, named by s
	n    float64
	s    string
}

// structArgs reads the arguments of one library function, as Lua coerces them.
type structArgs struct {
	fn   string
	args []luaValue
}

func (a structArgs) bad(i int, format string, with ...any) error {
	return fmt.Errorf("bad argument #%d to '%s' (%s)", i, a.fn, fmt.Sprintf(format, with...))
}

func (a structArgs) typeName(i int) string {
	if i > len(a.args) {
		if a.fn == "pack" {
			return "nil" // the library marks the end of the arguments with one
		}
		return "no value"
	}
	switch v := a.args[i-1]; v.kind {
	case 'n':
		return "number"
	case 's':
		return "string"
	default:
		return v.s
	}
}

func (a structArgs) number(i int) (float64, error) {
	if i <= len(a.args) {
		switch v := a.args[i-1]; v.kind {
		case 'n':
			return v.n, nil
		case 's':
			if n, err := strconv.ParseFloat(strings.TrimSpace(v.s), 64); err == nil {
				return n, nil
			}
		}
	}
	return 0, a.bad(i, "number expected, got %s", a.typeName(i))
}

func (a structArgs) text(i int) (string, error) {
	if i <= len(a.args) && a.args[i-1].kind != '-' {
		return a.args[i-1].s, nil
	}
	return "", a.bad(i, "string expected, got %s", a.typeName(i))
}

// structFormat walks a format string.
type structFormat struct {
	args  structArgs
	rest  string
	big   bool
	align int
}

func newStructFormat(fn string, args []luaValue) (*structFormat, error) {
	f := &structFormat{args: structArgs{fn, args}, align: 1}
	var err error
	f.rest, err = f.args.text(1)
	return f, err
}

// next gives the next option, its size and the padding before it at offset;
// option 0 is the end. Controls are obeyed on the way, and come out as ' '.
func (f *structFormat) next(offset int) (option byte, size, pad int, err error) {
	if f.rest == "" {
		return 0, 0, 0, nil
	}
	option, f.rest = f.rest[0], f.rest[1:]
	switch option {
	case 'b', 'B', 'x':
		size = 1
	case 'h', 'H':
		size = 2
	case 'l', 'L', 'T', 'd':
		size = 8
	case 'f':
		size = 4
	case 'c':
		size, err = f.count(1)
	case 's':
	case 'i', 'I':
		if size, err = f.count(4); err == nil && size > maxInteger {
			err = fmt.Errorf("integral size %d is larger than limit of %d", size, maxInteger)
		}
	default:
		return ' ', 0, 0, f.control(option)
	}
	if size > 0 && option != 'c' {
		a := min(size, f.align)
		pad = (a - offset&(a-1)) & (a - 1)
	}
	return option, size, pad, err
}

func (f *structFormat) control(option byte) error {
	switch option {
	case ' ':
	case '<':
		f.big = false
	case '>':
		f.big = true
	case '!':
		a, err := f.count(maxAlign)
		if err != nil {
			return err
		}
		if a <= 0 || a&(a-1) != 0 {
			return fmt.Errorf("alignment %d is not a power of 2", a)
		}
		f.align = a
	default:
		return f.args.bad(1, "invalid format option '%c'", option)
	}
	return nil
}

// count reads the digits after an option.
func (f *structFormat) count(otherwise int) (int, error) {
	n := strings.IndexFunc(f.rest, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		n = len(f.rest)
	}
	if n == 0 {
		return otherwise, nil
	}
	size, err := strconv.ParseInt(f.rest[:n], 10, 32)
	if err != nil {
		return 0, fmt.Errorf("integral size overflow")
	}
	f.rest = f.rest[n:]
	return int(size), nil
}

// structPack is struct.pack(format, value…).
func structPack(args []luaValue) ([]byte, error) {
	f, err := newStructFormat("pack", args)
	if err != nil {
		return nil, err
	}
	var out []byte
	arg := 2
	for {
		option, size, pad, err := f.next(len(out))
		if err != nil || option == 0 {
			return out, err
		}
		out = append(out, make([]byte, pad)...)
		switch option {
		case ' ':
			continue
		case 'x':
			out = append(out, 0)
			continue
		case 'c', 's':
			s, err := f.args.text(arg)
			if err != nil {
				return nil, err
			}
			arg++
			if size == 0 {
				size = len(s)
			}
			if len(s) < size {
				return nil, f.args.bad(arg, "string too short")
			}
			out = append(out, s[:size]...)
			if option == 's' {
				out = append(out, 0)
			}
			continue
		}
		n, err := f.args.number(arg)
		if err != nil {
			return nil, err
		}
		arg++
		out = append(out, f.number(option, size, n)...)
	}
}

func (f *structFormat) number(option byte, size int, n float64) []byte {
	b := make([]byte, max(size, 8))
	switch option {
	case 'f':
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(n)))
	case 'd':
		binary.LittleEndian.PutUint64(b, math.Float64bits(n))
	default:
		binary.LittleEndian.PutUint64(b, truncate(n))
	}
	return f.order(b[:size])
}

// truncate converts as C on amd64 does: a negative number through int64.
func truncate(n float64) uint64 {
	switch {
	case n < -1<<63 || n != n:
		return 1 << 63
	case n < 0:
		return uint64(int64(n))
	case n >= 1<<64:
		return 0
	default:
		return uint64(n)
	}
}

// order turns little-endian bytes into the format's order, in place.
func (f *structFormat) order(b []byte) []byte {
	if f.big {
		for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
	return b
}

// structUnpack is struct.unpack(format, data[, position]): the values, then
// the position after them.
func structUnpack(args []luaValue) ([]luaValue, error) {
	f, err := newStructFormat("unpack", args)
	if err != nil {
		return nil, err
	}
	data, err := f.args.text(2)
	if err != nil {
		return nil, err
	}
	pos := 0
	if len(args) > 2 && args[2].s != "nil" {
		n, err := f.args.number(3)
		if err != nil {
			return nil, err
		}
		if n < 1 {
			return nil, f.args.bad(3, "offset must be 1 or greater")
		}
		pos = int(min(n, math.MaxInt32)) - 1
	}
	var values []luaValue
	for {
		option, size, pad, err := f.next(pos)
		if err != nil {
			return nil, err
		}
		if option == 0 {
			return append(values, luaValue{kind: 'n', n: float64(pos + 1)}), nil
		}
		pos += pad
		if option == 'c' && size == 0 {
			if size, values, err = popSize(values); err != nil {
				return nil, err
			}
		}
		if size < 0 || size > len(data) || pos > len(data)-size {
			return nil, f.args.bad(2, "data string too short")
		}
		field := data[pos : pos+size]
		switch option {
		case ' ', 'x':
		case 'c':
			values = append(values, luaValue{kind: 's', s: field})
		case 's':
			size = strings.IndexByte(data[pos:], 0) + 1
			if size == 0 {
				return nil, fmt.Errorf("unfinished string in data")
			}
			values = append(values, luaValue{kind: 's', s: data[pos : pos+size-1]})
		default:
			values = append(values, luaValue{kind: 'n', n: f.value(option, field)})
		}
		pos += size
	}
}

// popSize takes the length of a c0 from the value read before it.
func popSize(values []luaValue) (int, []luaValue, error) {
	last := len(values) - 1
	if last < 0 || values[last].kind != 'n' {
		return 0, nil, fmt.Errorf("format 'c0' needs a previous size")
	}
	n := values[last].n
	if !(n >= 0 && n < math.MaxInt32) {
		n = math.MaxInt32 // longer than any data
	}
	return int(n), values[:last], nil
}

func (f *structFormat) value(option byte, field string) float64 {
	b := f.order(bytes.Clone([]byte(field)))
	width := len(b)
	b = append(b, make([]byte, max(0, 8-width))...)
	u := binary.LittleEndian.Uint64(b)
	switch option {
	case 'f':
		return float64(math.Float32frombits(uint32(u)))
	case 'd':
		return math.Float64frombits(u)
	case 'b', 'h', 'i', 'l':
		shift := 64 - 8*min(width, 8)
		return float64(int64(u<<shift) >> shift)
	default:
		return float64(u)
	}
}

// structSize is struct.size(format).
func structSize(args []luaValue) (int, error) {
	f, err := newStructFormat("size", args)
	if err != nil {
		return 0, err
	}
	total := 0
	for {
		option, size, pad, err := f.next(total)
		switch {
		case err != nil || option == 0:
			return total, err
		case option == 's':
			return 0, f.args.bad(1, "option 's' has no fixed size")
		case option == 'c' && size == 0:
			return 0, f.args.bad(1, "option 'c0' has no fixed size")
		}
		total += pad + size
	}
}
