package dq

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// IDSource returns the 8 random bytes that make equal values different members.
// Releases since 3.21.1 send them raw; earlier ones send them as a signed 64-bit
// little-endian number in decimal. It is called from many goroutines at once.
type IDSource func() [8]byte

// randomID draws from the runtime's generator, which is seeded per process.
func randomID() (id [8]byte) {
	binary.LittleEndian.PutUint64(id[:], rand.Uint64())
	return id
}

// idArgument returns an id in the form that the layout's offer script takes.
func idArgument(l wire.Layout, id [8]byte) []byte {
	if l == wire.LayoutDLc0 {
		return strconv.AppendInt(nil, idNumber(id), 10)
	}
	return id[:]
}

// idNumber returns an id as the number that earlier releases send.
func idNumber(id [8]byte) int64 { return int64(binary.LittleEndian.Uint64(id[:])) }
