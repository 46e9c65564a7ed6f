package forensics

import "time"

const (
	// busyTarget is how long a call may keep the server busy before the next one asks
	// for less; a tenth of what nobody should notice.
	busyTarget = 500 * time.Microsecond
	minChunk   = 32
	firstChunk = 128
	maxChunk   = 1000
	// maxChunkBytes keeps the replies of large members small.
	maxChunkBytes = 512 << 10
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

// meter measures calls. A round trip that does nothing is idle: what a call takes beyond
// that is at most what it keeps the server busy.
type meter struct {
	idle time.Duration
	cost Cost
}

// bare takes note of a round trip that did nothing.
func (m *meter) bare(took time.Duration) {
	m.idle = min(m.idle, took)
	m.count(took, 0)
}

func (m *meter) count(took time.Duration, bytes int) {
	m.cost.Calls++
	m.cost.Longest = max(m.cost.Longest, took)
	m.cost.Bytes += int64(bytes)
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

// chunk takes note of a call that read members of so many bytes, and returns for how
// long it may have kept the server busy.
func (p *pace) chunk(took time.Duration, bytes int) time.Duration {
	p.count(took, bytes)
	busy := took - p.idle
	switch {
	case busy > busyTarget && bytes > p.bytes, bytes > maxChunkBytes:
		p.size = min(max(minChunk, p.size/2), p.most)
	case bytes < maxChunkBytes/2 && (busy < busyTarget/2 || bytes < p.bytes/2):
		p.size = min(p.size*2, p.most)
	}
	return busy
}
