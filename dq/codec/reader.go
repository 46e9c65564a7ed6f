package codec

import (
	"encoding/binary"
	"fmt"
	"math"
)

const (
	// maxDepth bounds how deep values may be nested, in both directions.
	maxDepth = 500
	// maxShared bounds what references to one object may multiply: values, and
	// bytes of byte arrays, beyond the length of the input. It bounds as well the
	// values that take no bytes.
	maxShared = 1 << 20
	// maxAhead bounds what is allocated before the elements were seen: each of
	// nested lists may claim all the bytes that are left.
	maxAhead = 64
)

// reader walks over bytes. Its first error stays; every later read answers zero.
type reader struct {
	codec Name
	data  []byte
	at    int
	depth int
	free  int // values that took no bytes
	err   error
	// exact says that a text must come as Java holds it.
	exact bool
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Codec: r.codec, Offset: r.at, Problem: fmt.Sprintf(format, args...)}
	}
}

// cut fails where the bytes end before the value.
func (r *reader) cut(format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Codec: r.codec, Offset: r.at, Truncated: true, Problem: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) left() int { return len(r.data) - r.at }

// take returns the next n bytes, which are not the caller's to keep.
func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 {
		r.fail("a length of %d bytes", n)
		return nil
	}
	if n > r.left() {
		r.cut("expected %d more bytes, %d left", n, r.left())
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// peek returns the next byte without reading it.
func (r *reader) peek() byte {
	if b := r.take(1); b != nil {
		r.at--
		return b[0]
	}
	return 0
}

// primitive reads a value of the type that class files call by code.
func (r *reader) primitive(code byte) any {
	switch code {
	case 'Z':
		return r.byte() != 0
	case 'B':
		return int8(r.byte())
	case 'S':
		return int16(r.uint16())
	case 'C':
		return r.uint16()
	case 'I':
		return r.int32()
	case 'J':
		return r.int64()
	case 'F':
		return math.Float32frombits(uint32(r.int32()))
	case 'D':
		return r.float64()
	}
	r.fail("a field of type %q", code)
	return nil
}

func (r *reader) float64() float64 { return math.Float64frombits(uint64(r.int64())) }

// count checks a number of things of one byte or more each that are to follow,
// so that no more is allocated than the input can fill.
func (r *reader) count(n int) int {
	if r.err == nil && n < 0 {
		r.fail("%d elements to come", n)
	}
	if r.err == nil && n > r.left() {
		r.cut("%d elements to come, but %d bytes left", n, r.left())
	}
	if r.err != nil {
		return 0
	}
	return n
}

// elements reads n values, each of a byte or more.
func (r *reader) elements(n int, read func() any) []any {
	all := make([]any, 0, min(r.count(n), maxAhead))
	for len(all) < n && r.err == nil {
		all = append(all, read())
	}
	return all
}

// spend counts values that take no bytes.
func (r *reader) spend(n int) {
	r.free += n
	if n < 0 || r.free > maxShared {
		r.fail("more than %d values that take no bytes", maxShared)
	}
}

// enter counts a level of nesting; leave it again when it reports true.
func (r *reader) enter() bool {
	if r.depth >= maxDepth {
		r.fail("values nested deeper than %d", maxDepth)
	}
	if r.err != nil {
		return false
	}
	r.depth++
	return true
}

func (r *reader) leave() { r.depth-- }

// end returns the first error, or one for what is left over.
func (r *reader) end() error {
	if r.left() > 0 {
		r.fail("%d bytes after the end of the value", r.left())
	}
	return r.err
}
