package program

import (
	"encoding/binary"
	"fmt"
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
	Taken    Kind = 't' // A due, B came
	Removed  Kind = 'r' // A began, B ended
	TooLate  Kind = 'l' // the same, and nothing was found
	Unmoved  Kind = 'm' // the same, by an error
	Foreign  Kind = 'u' // a value of another run
	Corrupt  Kind = 'c' // a value of this run with other bytes
	TakeFail Kind = 'e' // a take that failed
	Held     Kind = 'h' // A due: the implementation still holds it; in answer to load.held
	Dropped  Kind = 'd' // A samples were dropped, for the coordinator did not read
)

// Sample is one thing that happened. Waited is for how many µs an offer that was ready found no
// sender free, since all waited for answers.
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
