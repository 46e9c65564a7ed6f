package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Layout is the way a value and its random id are packed into a member of the timeout set and the pending list. The constants are named
// after the format strings of Lua's struct library.
type Layout uint8

// The two layouts. Redisson reads only the one of its release: on a queue that holds both, it stalls at the first member of the other.
//
// The length of a member distinguishes them, because a member is as long as its length field says. Both fit only some members whose value
// is empty or nothing but one or five zero bytes: see UnpackAny.
const (
	// LayoutDLc0 packs an 8-byte IEEE double, the length of the value and the value; to Redisson 3.21.0 and in all of 2.x.
	LayoutDLc0 Layout = iota + 1
	// LayoutBc0Lc0 packs the byte 8, 8 random bytes, the length of the value and the value; since Redisson 3.21.1.
	LayoutBc0Lc0
)

// Sizes, in bytes, of the length field 'L' of a member.
const (
	// LengthSize is the size on a 64-bit Unix.
	LengthSize = 8
	// WindowsLengthSize is the size on Windows, where a C long has 4 bytes. The scripts of Redisson fail on such members on every other
	// Redis, to which a dump may have brought them.
	WindowsLengthSize = 4
)

const idSize = 8

// String returns the format string of the layout: "dLc0" or "Bc0Lc0".
func (l Layout) String() string {
	switch l {
	case LayoutDLc0:
		return "dLc0"
	case LayoutBc0Lc0:
		return "Bc0Lc0"
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// Pack returns the member for a value, as a Redis on a 64-bit Unix packs it.
func (l Layout) Pack(id [8]byte, value []byte) []byte {
	return Member{Layout: l, ID: id, Value: value}.Bytes()
}

// Unpack reads a member packed by a Redis on a 64-bit Unix. It fails unless b is exactly one member of this layout.
//
// Lua's struct.unpack is laxer: it ignores bytes after the value, and takes a
// LayoutBc0Lc0 with an id of any size. UnpackAny reads members of both layouts.
func (l Layout) Unpack(b []byte) (Member, error) {
	return l.UnpackSized(b, LengthSize)
}

// UnpackSized reads a member whose length field has lengthSize bytes, LengthSize or WindowsLengthSize.
func (l Layout) UnpackSized(b []byte, lengthSize int) (Member, error) {
	m, reason := l.unpack(b, lengthSize)
	if reason != "" {
		return Member{}, fmt.Errorf("not a %s member: %s (%d bytes: %s)", l, reason, len(b), resp.AppendQuoted(nil, string(b[:min(len(b), 40)])))
	}
	return m, nil
}

// unpack reads a member. The reason says why b is not one.
func (l Layout) unpack(b []byte, lengthSize int) (m Member, reason string) {
	m = Member{Layout: l, LengthSize: lengthSize}
	if l == LayoutBc0Lc0 {
		if len(b) == 0 || b[0] != idSize {
			return m, "the first byte is not 8"
		}
		b = b[1:]
	}
	if len(b) < idSize+lengthSize {
		return m, "too short for id and length"
	}
	b = b[copy(m.ID[:], b):]
	length := uint64(binary.LittleEndian.Uint32(b))
	if lengthSize == LengthSize {
		length = binary.LittleEndian.Uint64(b)
	}
	m.Value = b[lengthSize:]
	if length != uint64(len(m.Value)) {
		reason = "the length field says " + strconv.FormatUint(length, 10) + " bytes, " + strconv.Itoa(len(m.Value)) + " follow"
	}
	return m, reason
}

// UnpackAny reads a member of either layout, whichever fits its length exactly. The Member says which that was. If more than one fits, the
// first of these counts: l, the other layout, then l and the other with a WindowsLengthSize. That can only happen to the empty value and to
// values of one or five zero bytes, and to these with one or two ids in 256.
//
// Bytes that no layout fits are an error.
func (l Layout) UnpackAny(b []byte) (Member, error) {
	for _, size := range [...]int{LengthSize, WindowsLengthSize} {
		for _, layout := range [...]Layout{l, l.Other()} {
			if m, reason := layout.unpack(b, size); reason == "" {
				return m, nil
			}
		}
	}
	return Member{}, fmt.Errorf("neither a %s nor a %s member: no length field fits its %d bytes: %s",
		LayoutDLc0, LayoutBc0Lc0, len(b), resp.AppendQuoted(nil, string(b[:min(len(b), 40)])))
}

// Other returns the layout that is not l.
func (l Layout) Other() Layout {
	if l == LayoutBc0Lc0 {
		return LayoutDLc0
	}
	return LayoutBc0Lc0
}

// Member is the content of one packed element.
type Member struct {
	Layout Layout
	// ID makes equal values different members: the little-endian bytes of a double in LayoutDLc0, raw bytes in LayoutBc0Lc0.
	ID [8]byte
	// Value is the value as the codec encoded it.
	Value []byte
	// LengthSize is the size of the length field in bytes; 0 means LengthSize.
	LengthSize int
}

// Bytes packs the member, little endian.
func (m Member) Bytes() []byte {
	b := make([]byte, 0, 1+idSize+LengthSize+len(m.Value))
	if m.Layout == LayoutBc0Lc0 {
		b = append(b, idSize)
	}
	b = append(b, m.ID[:]...)
	if m.LengthSize == WindowsLengthSize {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Value)))
	} else {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(m.Value)))
	}
	return append(b, m.Value...)
}

// DoubleID returns the id that LayoutDLc0 packs for a random number which
// Redisson sends as decimal text: Lua's tonumber rounds it to a double.
func DoubleID(random int64) [8]byte {
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], math.Float64bits(float64(random)))
	return id
}

// RandomForID returns a random number for which DoubleID gives id. Many numbers round to one double; this is the exact value of the double.
// It is false if the double is no 64-bit integer.
func RandomForID(id [8]byte) (int64, bool) {
	f := math.Float64frombits(binary.LittleEndian.Uint64(id[:]))
	if f != math.Trunc(f) || f < math.MinInt64 || f > math.MaxInt64 {
		return 0, false
	}
	if f == math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(f), true
}
