package forensics

import (
	"encoding/binary"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// Form is how the bytes of a member are packed.
type Form uint8

// The forms. A Redis on Windows packs a length field of four bytes, which the scripts
// of every Redisson take for garbage on any other Redis.
const (
	Unreadable Form = iota
	DLc0
	Bc0Lc0
	DLc0Windows
	Bc0Lc0Windows
)

// Forms are all of them, in the order that reports list them.
var Forms = []Form{DLc0, Bc0Lc0, DLc0Windows, Bc0Lc0Windows, Unreadable}

// String returns the name that reports use: "dLc0", "dLc0-windows", "unreadable".
func (f Form) String() string {
	return [...]string{"unreadable", "dLc0", "Bc0Lc0", "dLc0-windows", "Bc0Lc0-windows"}[f]
}

// Reads reports whether scripts of that layout are made for members of the form.
func (f Form) Reads(l wire.Layout) bool {
	return f == DLc0 && l == wire.LayoutDLc0 || f == Bc0Lc0 && l == wire.LayoutBc0Lc0
}

// Content is a member taken apart. Where Form is Unreadable, the Member is zero.
type Content struct {
	wire.Member
	Form Form
}

// Unpack takes a member apart, whichever layout it is of. The few that fit more than
// one (see wire.Layout.UnpackAny) count as own.
func Unpack(raw []byte, own wire.Layout) Content {
	m, err := own.UnpackAny(raw)
	if err != nil {
		return Content{}
	}
	form := map[wire.Layout]Form{wire.LayoutDLc0: DLc0, wire.LayoutBc0Lc0: Bc0Lc0}[m.Layout]
	if m.LengthSize == wire.WindowsLengthSize {
		form += DLc0Windows - DLc0
	}
	return Content{Member: m, Form: form}
}

// Read returns the value that Redisson's scripts of a layout get from a member on a
// 64-bit Unix, and false where they fail. It is struct.unpack as Redis has it: bytes
// behind the value are ignored, and a Bc0Lc0 may have an id of any size, so that now
// and then a member of the other layout is read, and not always as what was offered.
// A length goes through a double: from 2^64-1024 on that is 2^64, which an x86-64 makes
// 0 of, so that the value is empty; other machines fail.
func Read(raw []byte, l wire.Layout) ([]byte, bool) {
	id := 8
	if l == wire.LayoutBc0Lc0 {
		if len(raw) == 0 {
			return nil, false
		}
		id, raw = int(raw[0]), raw[1:]
	}
	if len(raw) < id+wire.LengthSize {
		return nil, false
	}
	length := binary.LittleEndian.Uint64(raw[id:])
	if float64(length) >= 1<<64 {
		length = 0
	}
	rest := raw[id+wire.LengthSize:]
	if length > uint64(len(rest)) {
		return nil, false
	}
	return rest[:length], true
}
