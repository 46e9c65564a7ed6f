package dq

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// newID is the 8 random bytes that make equal values different members. Releases since 3.21.1 send them raw; earlier
// ones send them as a signed 64-bit little-endian number in decimal.
func (c *config) newID() (id [8]byte) {
	binary.LittleEndian.PutUint64(id[:], c.random())
	return id
}

// below draws a duration from 0 to n.
func (c *config) below(n time.Duration) time.Duration {
	return time.Duration(c.random() % uint64(n))
}

// lockedSource makes a source one that many goroutines may draw from.
func lockedSource(s rand.Source) func() uint64 {
	var mu sync.Mutex
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return s.Uint64()
	}
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
