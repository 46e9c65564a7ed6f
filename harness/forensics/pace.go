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
)

// Cost is what reading has asked of the server, as seen from here: with the time on the
// network, which is the more by far.
type Cost struct {
	Calls   int
	Longest time.Duration
	Bytes   int64 // of members read
}

// pace sizes chunks by what the last one took. A round trip that does nothing is
// idle: what a call takes beyond that is at most what it keeps the server busy.
type pace struct {
	size int
	most int
	idle time.Duration
	cost Cost
}

func newPace() *pace { return &pace{size: firstChunk, most: maxChunk, idle: time.Hour} }

// bare takes note of a round trip that did nothing.
func (p *pace) bare(took time.Duration) {
	p.idle = min(p.idle, took)
	p.count(took, 0)
}

// chunk takes note of one that read members of so many bytes.
func (p *pace) chunk(took time.Duration, bytes int) {
	p.count(took, bytes)
	switch busy := took - p.idle; {
	case busy > busyTarget, bytes > maxChunkBytes:
		p.size = min(max(minChunk, p.size/2), p.most)
	case busy < busyTarget/2 && bytes < maxChunkBytes/2:
		p.size = min(p.size*2, p.most)
	}
}

func (p *pace) count(took time.Duration, bytes int) {
	p.cost.Calls++
	p.cost.Longest = max(p.cost.Longest, took)
	p.cost.Bytes += int64(bytes)
}
