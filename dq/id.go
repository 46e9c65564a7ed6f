package dq

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// newID draws the 8 random bytes that make equal values different members, and returns the argument of the offer script that
// has them packed. Releases since 3.21.1 send them raw; earlier ones send a signed 64-bit number in decimal.
func (c *config) newID() (argument []byte, id [8]byte) {
	random := c.random()
	if c.release.Layout() == wire.LayoutDLc0 {
		return strconv.AppendInt(nil, int64(random), 10), wire.DoubleID(int64(random))
	}
	binary.LittleEndian.PutUint64(id[:], random)
	return id[:], id
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
