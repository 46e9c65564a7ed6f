package migrate

import "time"

// What a batch is bounded by.
const (
	// maxBatch is the most entries of a batch. An entry takes the server some 15 µs in a
	// list of 100,000: LSET seeks its way from the nearer end.
	maxBatch   = 256
	firstBatch = 16
	// batchTarget is for how long a call may keep the server busy before the next ones have
	// half as many entries; below half of it, they have twice as many.
	batchTarget = 3 * time.Millisecond
	// slowCalls is how many calls in a row must have taken longer: one or two may have been
	// delayed on the way.
	slowCalls = 3
	// batchBytes bounds the members of one batch, unless it has one entry alone: some 3 ms.
	batchBytes = 64 << 10
	// searchEntries bounds how many entries of the list a call passes that looks for
	// members in it: about 3 ms. A list that is longer is searched for one member a call.
	searchEntries = 200_000
)

// batch is how many entries the next call takes.
type batch struct {
	size    int
	slow    int // calls in a row
	calls   int // that changed something
	longest time.Duration
}

// ended takes note of a call that took so long, for some of which the server was busy.
func (b *batch) ended(took, busy time.Duration, changed bool) {
	if changed {
		b.calls++
	}
	b.longest = max(b.longest, took)
	if b.slow++; busy <= batchTarget {
		b.slow = 0
	}
	switch {
	case b.slow == slowCalls:
		b.size, b.slow = max(1, b.size/2), 0
	case busy < batchTarget/2:
		b.size = min(maxBatch, b.size*2)
	}
}
