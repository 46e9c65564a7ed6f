package dq

import (
	"sync/atomic"
	"time"
)

// Taking several values at a time, where a backlog shows.
const (
	// defaultPrefetch bounds how many are taken at a time.
	defaultPrefetch = 100
	// prefetchTime is in what time those taken at once should be handled: so long they are kept
	// from other consumers.
	prefetchTime = 5 * time.Millisecond
	// prefetchHeld is after what time those whose turn has not come go back.
	prefetchHeld = 50 * time.Millisecond
	// prefetchReturn bounds putting them back; then they are handled where they are.
	prefetchReturn = time.Second
	// maxPrefetchSkip is how many values are taken one by one, at most, until it is looked again
	// whether several are there; and where the server cannot tell, refusedSkip.
	maxPrefetchSkip = 32
	refusedSkip     = 10_000
)

// prefetch says how many values one worker takes at a time: as many as it handles within
// prefetchTime, but two at first, twice as many where as many were there, and half as many
// where fewer were. Where none are it looks again after one value, then two, and so on.
type prefetch struct {
	most  int          // of the options
	count int          // for the next time
	skip  int          // how many values to take one by one
	pause int          // what skip was at last
	each  atomic.Int64 // what handling one takes, in ns; handlers say so from goroutines of their own
}

func newPrefetch(most int) prefetch { return prefetch{most: most, count: 2} }

// next returns how many to take, 0 for one by one.
func (p *prefetch) next() int {
	each := time.Duration(p.each.Load())
	if each == 0 {
		return 0 // nothing is known yet
	}
	n := min(p.count, p.most, int(prefetchTime/each))
	if n < 2 || p.skip > 0 {
		return 0
	}
	return n
}

// one takes note of a value that was taken by itself.
func (p *prefetch) one() { p.skip = max(p.skip-1, 0) }

// came takes note of how many of n were there.
func (p *prefetch) came(n, count int) {
	switch {
	case count == 0:
		p.pause = min(max(2*p.pause, 1), maxPrefetchSkip)
		p.skip, p.count = p.pause, 2
	case count < n:
		p.pause, p.count = 0, max(n/2, 2)
	default:
		p.pause, p.count = 0, min(2*n, p.most)
	}
}

// refused takes note of a server, or a user, that cannot take several.
func (p *prefetch) refused() { p.skip = refusedSkip }

// handled takes note of how long a handler took.
func (p *prefetch) handled(took time.Duration) {
	ns := int64(max(took, time.Microsecond))
	if p.each.CompareAndSwap(0, ns) {
		return
	}
	p.each.Add((ns - p.each.Load()) / 8)
}
