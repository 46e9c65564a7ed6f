package java

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxDepth  = 500  // how deep values may be nested
	maxAhead  = 64   // elements to allocate before reading them
	maxDigits = 1000 // of a number in JSON: Jackson's limit
	maxNumber = 4096 // bytes of a number in decimal
	shortText = 32   // the longest text whose last byte Kryo marks
)

// problem is the first error of a codec.
type problem struct {
	codec string
	err   error
}

func (p *problem) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = &ValueError{p.codec, fmt.Sprintf(format, args...)}
	}
}

// reader walks over bytes. It keeps its first error; later reads return zero.
type reader struct {
	problem
	data  []byte
	at    int
	depth int
	free  int
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = &FormatError{Codec: r.codec, Offset: r.at, Problem: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) left() int { return len(r.data) - r.at }

// take returns the next n bytes. The caller must not keep them.
func (r *reader) take(n int) []byte {
	if r.count(n) != n {
		return make([]byte, min(max(n, 0), 8))
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if r.err != nil || r.left() == 0 {
		r.take(1)
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *reader) uint16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) int32() int32   { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) int64() int64   { return int64(binary.BigEndian.Uint64(r.take(8))) }

// primitive reads a primitive of its own size.
func (r *reader) primitive(order binary.ByteOrder, k kind) any {
	v := reflect.New(primitives[k].goType)
	_, _ = binary.Decode(r.take(int(v.Elem().Type().Size())), order, v.Interface())
	return v.Elem().Interface()
}

// count checks a number of elements of a byte or more each.
func (r *reader) count(n int) int {
	if r.err == nil && (n < 0 || n > r.left()) {
		r.err = &FormatError{Codec: r.codec, Offset: r.at, Truncated: n > 0, Problem: fmt.Sprintf("expected %d more bytes, got %d", n, r.left())}
	}
	if r.err != nil {
		return 0
	}
	return n
}

// most returns how many values the bytes may stand for: references repeat values, and Kryo5 writes only the number of nulls.
func most(size int) int { return size + 4096 + min(64*size, 1<<20) }

// spend counts values without bytes, and reports whether there may be so many.
func (r *reader) spend(n int) bool {
	if r.free += n; n < 0 || r.free > most(len(r.data)) {
		r.fail("more than %d values in %d bytes", most(len(r.data)), len(r.data))
	}
	return r.err == nil
}

// enter counts a level of nesting; leave it again when it reports true.
func (r *reader) enter() bool {
	if r.depth >= maxDepth {
		r.refuse("values nested deeper than %d", maxDepth)
	}
	r.depth++
	return r.err == nil
}

// end returns the first error, or an error for bytes left over.
func (r *reader) end() error {
	if r.left() > 0 {
		r.fail("%d bytes after the end of the value", r.left())
	}
	return r.err
}

// text reads count UTF-16 units, each in one to three bytes.
func (r *reader) text(count int) string {
	units := make([]uint16, 0, r.count(count))
	for len(units) < count && r.err == nil {
		units = append(units, r.unit())
	}
	return r.decoded(units)
}

// halfPair is about texts of Java that Go strings cannot hold.
const halfPair = "the value holds a text with half of a surrogate pair, which no Go string holds; codec.PreserveBytes of codec.Bytes keeps the bytes, and Java reads them"

// decoded returns the text of UTF-16 units.
func (r *reader) decoded(units []uint16) string {
	runes := utf16.Decode(units)
	if slices.Contains(runes, utf8.RuneError) && !slices.Equal(utf16.Encode(runes), units) {
		r.refuse(halfPair)
	}
	return string(runes)
}

// textOf reads a text of n bytes.
func (r *reader) textOf(n int) string {
	end := r.at + r.count(n)
	var units []uint16
	for r.at < end && r.err == nil {
		units = append(units, r.unit())
	}
	if r.at > end {
		r.fail("broken UTF-8")
	}
	return r.decoded(units)
}

func (r *reader) unit() uint16 {
	first := uint16(r.byte())
	more := func() uint16 {
		b := r.byte()
		if b>>6 != 2 {
			r.fail("broken UTF-8: continuation byte 0x%02x", b)
		}
		return uint16(b & 0x3f)
	}
	switch {
	case first < 0x80:
		return first
	case first>>5 == 6:
		return first&0x1f<<6 | more()
	case first>>4 == 14:
		return first&0xf<<12 | more()<<6 | more()
	}
	r.fail("broken UTF-8: lead byte 0x%02x", first)
	return 0
}

// values reads n values, of a byte or more each.
func (r *reader) values(n int, read func() any) []any {
	all := make([]any, 0, min(r.count(n), maxAhead))
	for len(all) < n && r.err == nil {
		all = append(all, read())
	}
	return all
}
