package dq

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// ErrNotWaiting is wrapped by the error of a Cancel that came too late: the message has been
// transferred to the destination queue, where it may still be, or was removed before.
var ErrNotWaiting = errors.New("dq: the message does not wait in the delayed queue: it has come, or was removed")

// Ticket names one message in a delayed queue, so that Cancel finds it without a search. It is
// the due time and the random id of the member, which neither a migration to the other
// layout nor unlisting (see package scripts) changes. As text it is about 30 letters, digits and
// hyphens, to be kept beside the order that the message is about.
type Ticket struct {
	due int64 // Unix ms
	id  [8]byte
}

// Due is when the message comes due.
func (t Ticket) Due() time.Time { return time.UnixMilli(t.due) }

// String returns the text that ParseTicket reads: the due time in Unix ms, a hyphen, and the id
// in lower-case hex.
func (t Ticket) String() string {
	return strconv.FormatInt(t.due, 10) + "-" + hex.EncodeToString(t.id[:])
}

// MarshalText is String.
func (t Ticket) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText is ParseTicket.
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

// OfferTicket is Offer, and returns what Cancel takes. It does so too with an error that wraps
// ErrUncertain: Cancel then reports whether the message was queued, once the server answers again.
func (d *DelayedQueue[T]) OfferTicket(ctx context.Context, value T, delay time.Duration) (Ticket, error) {
	if delay < 0 {
		return Ticket{}, fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	}
	t, err := d.offer(ctx, value, delay.Milliseconds())
	if err != nil && !errors.Is(err, ErrUncertain) {
		return Ticket{}, err
	}
	return t, err
}

// Cancel removes the message of a ticket, and no other of equal value. nil says that it will not
// come. An error that wraps ErrNotWaiting says that Cancel came too late, or was done before; a
// message that is due and whose transfer has failed half-way may have come, and counts so. After any
// other error nobody knows: cancel again.
//
// Where the message has been unlisted (see package scripts), which no value can tell any more, Cancel finds
// it all the same. Redisson has no such call: it is a script of dq's own, WithStrictWire too.
//
//	KEYS    timeout set, pending list, and those of unlisting
//	ARGV    due time in Unix ms; id; now in Unix ms
//	returns 1, or 0 where it is not there
//	cost    see scripts.Cancel: Remove looks at each member before it, Cancel walks from the end that
//	        is nearer
func (d *DelayedQueue[T]) Cancel(ctx context.Context, t Ticket) error {
	removed, err := d.cancel(ctx, strconv.FormatInt(t.due, 10), string(t.id[:]))
	if err == nil && !removed {
		err = ErrNotWaiting
	}
	return in("cancel", d.Name(), err)
}

// ticketOf returns the ticket of a member that is offered with this id.
func (c *Client) ticketOf(due int64, id [8]byte) Ticket {
	if c.release.Layout() == wire.LayoutDLc0 {
		id = wire.DoubleID(idNumber(id))
	}
	return Ticket{due: due, id: id}
}
