package program

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Warm is the bit of an index that marks a message of the warm-up.
const Warm = 1 << 31

// Item is a message to offer.
type Item struct {
	// Index numbers the messages of a phase; with Warm it is one of the warm-up.
	Index uint32
	// CancelAfter is 0 for a message that stays, else 1 ms more than the time after which it is to be cancelled, in ms.
	CancelAfter uint32
	// At is the instant to send it, Unix ns.
	At int64
	// Delay is in ms. Due, if not 0, replaces it: Unix ms.
	Delay, Due int64
}

// DelayAt is the delay in ms of a message that is sent at an instant, Unix ns.
func (i Item) DelayAt(sent int64) int64 {
	if i.Due == 0 {
		return i.Delay
	}
	return max(i.Due-sent/1e6, 0)
}

// DueAt is when a message is due that is sent at an instant, both Unix ns.
func (i Item) DueAt(sent int64) int64 { return sent + i.DelayAt(sent)*1e6 }

// Kind is the subject of a Sample.
type Kind byte

// The kinds of samples, and what their A and B are: Unix ns.
const (
	Offering Kind = 'o' // A sent, B due; before the offer, of an agent that reports each step
	Offered  Kind = 'a' // A sent, B answered: confirmed
	Failed   Kind = 'f' // the same, by an error
	Refused  Kind = 'x' // the same, by an error which says that nothing was queued
	Skipped  Kind = 's' // not offered, after load.halt or load.end; each item ends by one of these four
	Taken    Kind = 't' // A due, B received
	Removed  Kind = 'r' // A began, B ended
	TooLate  Kind = 'l' // the same, and nothing was found
	Unmoved  Kind = 'm' // the same, by an error
	Foreign  Kind = 'u' // a value of another run
	Corrupt  Kind = 'c' // a value of this run with other bytes
	TakeFail Kind = 'e' // a take that failed
	Held     Kind = 'h' // A due: the implementation still holds it; in answer to load.held
	Dropped  Kind = 'd' // A samples were dropped, for the coordinator did not read
)

// Sample is one thing that happened. Waited is for how many µs an offer that was ready found no sender free, since all waited for answers.
type Sample struct {
	Kind   Kind
	Waited uint32
	Index  uint32
	A, B   int64
}

// SampleSize is the length of a Sample that is encoded; an Item has 32 bytes.
const SampleSize = 25

// Append encodes a record: its fields in their order, little-endian.
func Append[T Sample | Item](b []byte, record T) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, record) // whose size is fixed
	return b
}

// Decode calls each with every record, to the first error.
func Decode[T Sample | Item](b []byte, each func(T) error) error {
	var record T
	size := binary.Size(record)
	if len(b)%size != 0 {
		return fmt.Errorf("expected records of %d bytes, got %d bytes", size, len(b))
	}
	for ; len(b) > 0; b = b[size:] {
		_, _ = binary.Decode(b, binary.LittleEndian, &record)
		if err := each(record); err != nil {
			return err
		}
	}
	return nil
}

// Every value says which message it is and when it is due. It is ASCII, the same for every driver and language:
//
//	dqb3|<run id>|<index>|<due>|<checksum>|.....
//
// run id and index are 8 hex digits, due 16 (Unix ns), checksum 8, all lower case. Dots fill up
// the payload size. The checksum is the CRC-32 (IEEE 802.3) of all the value but its own digits.
const (
	magic  = "dqb3|"
	header = magic + "%08x|%08x|%016x|"

	// Offsets of the digits of each field.
	indexAt, dueAt, checksumAt = len(magic) + 9, len(magic) + 18, len(magic) + 35
	// HeaderSize is the length of a payload without the filling.
	HeaderSize = checksumAt + 9
)

// Payload returns the value of a message, of size bytes, at least HeaderSize. It is newly allocated: an implementation may keep it.
func Payload(run, index uint32, due int64, size int) []byte {
	b := fmt.Appendf(make([]byte, 0, max(size, HeaderSize)), header+"00000000|", run, index, uint64(due))
	for len(b) < size {
		b = append(b, '.')
	}
	copy(b[checksumAt:], checksum(b))
	return b
}

// checksum is of a whole payload but for its digits.
func checksum(value []byte) string {
	return fmt.Sprintf("%08x", crc32.Update(crc32.ChecksumIEEE(value[:checksumAt]), crc32.IEEETable, value[checksumAt+8:]))
}

// ParsePayload reads a value that was taken in a run: Taken, Corrupt or Foreign.
func ParsePayload(value []byte, run uint32) (kind Kind, index uint32, due int64) {
	switch {
	case !bytes.HasPrefix(value, []byte(magic)):
		return Foreign, 0, 0
	case len(value) < HeaderSize || checksum(value) != string(value[checksumAt:checksumAt+8]):
		return Corrupt, 0, 0
	}
	if index, due, ok := FindPayload(value, run); ok {
		return Taken, index, due
	}
	return Foreign, 0, 0
}

// FindPayload looks for a message of a run anywhere in value: an implementation may store its own framing around it.
func FindPayload(value []byte, run uint32) (index uint32, due int64, ok bool) {
	for at := bytes.Index(value, []byte(magic)); at >= 0 && len(value)-at >= HeaderSize; at = bytes.Index(value, []byte(magic)) {
		text := string(value[at : at+checksumAt])
		index, _ := strconv.ParseUint(text[indexAt:dueAt-1], 16, 32) // the same text again: no error
		due, _ := strconv.ParseUint(text[dueAt:checksumAt-1], 16, 64)
		if due <= math.MaxInt64 && text == fmt.Sprintf(header, run, index, due) {
			return uint32(index), int64(due), true
		}
		value = value[at+1:]
	}
	return 0, 0, false
}

// HoldsPayload reports whether a text has the beginning of a payload in it.
func HoldsPayload(text string) bool { return strings.Contains(text, magic) }

// Setup is sent to an agent once, by load.open.
type Setup struct {
	Redis       string   `json:"redis"`
	Queues      []string `json:"queues"`
	RunID       string   `json:"run_id"` // 8 hex digits
	PayloadSize int      `json:"payload_size"`
	// Senders offer at once; if all of them wait for answers, more are started, to MostSenders.
	Senders     int `json:"senders"`
	MostSenders int `json:"most_senders"`
	Consumers   int `json:"consumers"` // that take at once, at most
	// Poll, if above 0, makes each consumer look every so often, in ns, instead of waiting for a value.
	Poll    time.Duration `json:"poll,omitempty"`
	Work    time.Duration `json:"work,omitempty"`    // how long a consumer is busy with each value, in ns
	Cancels bool          `json:"cancels,omitempty"` // items may have a CancelAfter
	Each    bool          `json:"each,omitempty"`    // every sample is written before the next step, so that a kill loses no sample
	// ClientName names the connections, and Codec how values are written: for programs that have these.
	ClientName string `json:"client_name,omitempty"`
	Codec      string `json:"codec,omitempty"`
}

// Opened is the answer to load.open. Now is the clock of the agent, Unix ns.
type Opened struct {
	Handle string `json:"handle"`
	Now    int64  `json:"now,string"`
}

// HeldBy is the answer to load.held.
type HeldBy struct {
	Held    int64  `json:"held"`
	Samples []byte `json:"samples"`
}

// Failing are the calls whose first error an agent reports.
var Failing = []string{"offer", "take", "remove"}

// Usage is the resources that a process has used since its start.
type Usage struct {
	CPUSeconds     float64 `json:"cpu_seconds"`
	GCPauseSeconds float64 `json:"gc_pause_seconds"`
	// Processors is how many it may use at a time.
	Processors int `json:"processors"`
}

// ReadUsage asks the kernel and the runtime about this process.
func ReadUsage() Usage {
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	return Usage{CPUSeconds: cpuSeconds(), GCPauseSeconds: gc.PauseTotal.Seconds(), Processors: min(runtime.GOMAXPROCS(0), runtime.NumCPU())}
}

// Epoch turns instants into Unix time by the monotonic clock, so that a step of the wall clock during a run shifts no lateness.
type Epoch struct{ zero time.Time }

// NewEpoch looks at the clocks several times: time.Now reads the wall clock and then the monotonic one, and a goroutine that is
// held up in between pairs a wall clock that is too old, which would make every delivery look early.
func NewEpoch() Epoch {
	e := Epoch{time.Now()}
	for range 20 {
		if now := time.Now(); now.UnixNano() > e.Wall(now) {
			e.zero = now
		}
	}
	return e
}

// Wall returns the Unix time of t in ns.
func (e Epoch) Wall(t time.Time) int64 { return e.zero.UnixNano() + int64(t.Sub(e.zero)) }

// Set is by how much the wall clock was set since, in ns.
func (e Epoch) Set() int64 { now := NewEpoch().zero; return now.UnixNano() - e.Wall(now) }

// Instant is the reverse of Wall.
func (e Epoch) Instant(ns int64) time.Time { return e.zero.Add(time.Duration(ns - e.zero.UnixNano())) }

// Pause waits, and reports whether ctx let it.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
