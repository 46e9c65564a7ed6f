package forensics

import "time"

const (
	// busyTarget is how long a call may keep the server busy before the next one asks
	// for less; a tenth of what nobody should notice.
	busyTarget = 500 * time.Microsecond
	// minChunk is what a chunk is not made smaller than for the time that it takes, only for
	// the size of its members.
	minChunk = 32
	// firstChunk is how many members a walk reads of which it does not know how large they are.
	firstChunk = 1
	maxChunk   = 1000
	// maxChunkBytes keeps the replies of large members small.
	maxChunkBytes = 512 << 10
	// setBytes is what a chunk of a set is not made smaller than: it takes the server some
	// tenths of a millisecond, and a way that takes now this long, now that should not make more
	// calls of it.
	setBytes = 32 << 10
	// listBytes is what a chunk of a list is not made smaller than: much of the time
	// goes into seeking, which would only be done more often.
	listBytes = 128 << 10
)

// Cost is what reading has asked of the server, as seen from here: with the time on the
// network, which is the more by far.
type Cost struct {
	Calls   int
	Longest time.Duration
	Bytes   int64 // of members read
}

// meter measures calls. The shortest round trip is idle, most likely one that did nothing:
// what a call takes beyond that is at most what it keeps the server busy.
type meter struct {
	idle time.Duration
	cost Cost
}

// count takes note of a call, and returns for how long it may have kept the server busy.
func (m *meter) count(took time.Duration, bytes int) time.Duration {
	m.idle = min(m.idle, took)
	m.cost.Calls++
	m.cost.Longest = max(m.cost.Longest, took)
	m.cost.Bytes += int64(bytes)
	return took - m.idle
}

// pace sizes the chunks of a key by what the last one took.
type pace struct {
	*meter
	size, most int // members
	bytes      int // that a chunk is not made smaller than
}

func newPace(m *meter, bytes int) *pace {
	return &pace{meter: m, size: firstChunk, most: maxChunk, bytes: bytes}
}

// chunk takes note of a call that read some members of so many bytes together, and returns
// for how long it may have kept the server busy.
func (p *pace) chunk(took time.Duration, members, bytes int) time.Duration {
	busy := p.count(took, bytes)
	switch {
	case bytes > maxChunkBytes:
		p.size = min(p.size, max(1, maxChunkBytes/(bytes/members)))
	case busy > busyTarget && bytes > p.bytes:
		p.size = min(p.size, max(minChunk, p.size/2))
	case bytes < maxChunkBytes/2 && (busy < busyTarget/2 || bytes < p.bytes/2):
		p.size = min(p.size*2, p.most)
	}
	return busy
}
