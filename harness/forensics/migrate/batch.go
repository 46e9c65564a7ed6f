package migrate

import "time"

// What a batch is bounded by.
const (
	// maxBatch is the most entries of a batch. An entry takes the server some 15 µs in a
	// list of 100,000: LSET seeks its way from the nearer end.
	maxBatch   = 256
	firstBatch = 16
	// batchTarget is how long a call may take, with the way there and back, before the
	// next one has half as many entries; below a quarter of it, it has twice as many.
	batchTarget = 4 * time.Millisecond
	// batchBytes bounds the members of one batch, unless it has one entry alone.
	batchBytes = 512 << 10
	// searchEntries bounds how many entries of the list a call passes that looks for
	// members in it: about 3 ms. A list that is longer is searched for one member a call.
	searchEntries = 200_000
)

// batch is how many entries the next call takes.
type batch struct {
	size    int
	calls   int // that changed something
	longest time.Duration
}

// ended takes note of a call that took so long for so many bytes.
func (b *batch) ended(took time.Duration, bytes int, changed bool) {
	if changed {
		b.calls++
	}
	b.longest = max(b.longest, took)
	switch {
	case took > batchTarget, bytes > batchBytes:
		b.size = max(1, b.size/2)
	case took < batchTarget/4 && bytes < batchBytes/4:
		b.size = min(maxBatch, b.size*2)
	}
}
