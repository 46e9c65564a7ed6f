package dq

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// ErrNotWaiting is wrapped by the error of a late Cancel: the message has been
// transferred to the destination queue, where it may still be, or was removed before.
var ErrNotWaiting = errors.New("dq: the message does not wait in the delayed queue: it was transferred or removed")

// Ticket names one message in a delayed queue, so that Cancel finds it without a search. It is the due time and the random id of the
// member, which neither a migration to the other layout nor unlisting (see package scripts) changes. As text it is about 30 letters, digits
// and hyphens, to be stored with the order it belongs to.
type Ticket struct {
	due int64 // Unix ms
	id  [8]byte
}

// Due is the message's due time.
func (t Ticket) Due() time.Time { return time.UnixMilli(t.due) }

// String returns the text that ParseTicket reads: the due time in Unix ms, a hyphen, and the id in lower-case hex.
func (t Ticket) String() string {
	return strconv.FormatInt(t.due, 10) + "-" + hex.EncodeToString(t.id[:])
}

// MarshalText returns the text of String.
func (t Ticket) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the text as ParseTicket does.
func (t *Ticket) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTicket(string(text))
	return err
}

// ParseTicket reads what String wrote, and nothing else.
func ParseTicket(text string) (Ticket, error) {
	var t Ticket
	at := max(strings.LastIndexByte(text, '-'), 0)
	due, err := strconv.ParseInt(text[:at], 10, 64)
	id, idErr := hex.DecodeString(text[min(at+1, len(text)):])
	if err == nil && idErr == nil && len(id) == len(t.id) {
		t.due, t.id = due, [8]byte(id)
	}
	if t.String() != text {
		return Ticket{}, fmt.Errorf("dq: expected a ticket such as %q, got %.60q", "1795329218107-08af82252204180b", text)
	}
	return t, nil
}

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
