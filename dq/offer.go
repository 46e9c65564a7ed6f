package dq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Offer queues a value that becomes available after delay. The due time is the clock's time in whole milliseconds plus delay in whole
// milliseconds, both truncated, so that a value may arrive up to 2 ms early against a finer clock. Cancel takes the ticket.
//
// The error wraps ErrNegativeDelay if delay is negative. If it wraps ErrUncertain, the value may have been queued, and the
// ticket is valid: Cancel reports which. After any other error the value was not queued.
func (q *Queue[T]) Offer(ctx context.Context, value T, delay time.Duration) (Ticket, error) {
	if err := q.takesOffers(ctx, delay); err != nil {
		return Ticket{}, err
	}
	t, _, err := q.offer(ctx, delay, value)
	return t, err
}

// takesOffers returns why nothing can be offered with that delay.
func (q *Queue[T]) takesOffers(ctx context.Context, delay time.Duration) error {
	switch {
	case delay < 0:
		return fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	case q.closed.Load():
		return ErrClosed
	}
	return ctx.Err()
}

// offered returns the ticket of a value that is queued or may be, and a zero one otherwise. It has the transfer task know of
// the value, which does not depend on the announcement: that arrives over another connection.
func (q *Queue[T]) offered(t Ticket, err error) Ticket {
	if err != nil && !errors.Is(err, ErrUncertain) {
		return Ticket{}
	}
	if q.task != nil {
		q.client.scheduler.offered(q.task, t.due)
	}
	return t
}

// OfferAll queues values in order, all due after delay, over one connection without waiting for each reply. Values due in one millisecond
// arrive in any order. OfferAll returns how many were confirmed, counted from the first. If the error wraps ErrUncertain, some others may
// be queued too; after any other error, no other value is queued.
func (q *Queue[T]) OfferAll(ctx context.Context, delay time.Duration, values ...T) (confirmed int, err error) {
	for most := 1; len(values) > 0; most = offerBatch - most { // the first offer of a batch has the server learn the script
		if q.client.durable != nil {
			most = 1
		}
		if err := q.takesOffers(ctx, delay); err != nil {
			return confirmed, err
		}
		some := values[:min(len(values), most)]
		_, n, err := q.offer(ctx, delay, some...)
		if confirmed += n; err != nil {
			return confirmed, err
		}
		values = values[len(some):]
	}
	return confirmed, nil
}

// offerBatch is how many offers are under way on one connection.
const offerBatch = 512

// offer sends offers together, until the server has taken each or it is more than a matter of time. It returns the ticket of
// the first, if that may be queued, and how many are.
func (q *Queue[T]) offer(ctx context.Context, delay time.Duration, values ...T) (first Ticket, confirmed int, err error) {
	began, r := time.Now(), q.offers
	due := q.client.clock.Now().UnixMilli() + delay.Milliseconds()
	for i, value := range values {
		data, err := encodeOffered(q.codec, value)
		if err != nil {
			return Ticket{}, 0, in("offer", q.Name(), err)
		}
		argument, id := q.client.newID()
		if i == 0 {
			first = Ticket{due: due, id: id}
		}
		r.Commands = append(r.Commands, append(slices.Clip(q.offerHead), due, argument, data))
	}
	for retry := (conn.Backoff{}); ; {
		var n int
		n, err = q.confirmed(q.sendOffers(ctx, r))
		confirmed, r.Commands = confirmed+n, r.Commands[n:]
		if err == nil || !passes(err) {
			break
		}
		left := q.client.conn.Patience - time.Since(began)
		if left <= 0 || q.client.ctx.Err() != nil || conn.Pause(ctx, min(retry.Next(), left)) != nil {
			break
		}
	}
	first = q.offered(first, err)
	q.client.tell(Offered{Queue: q.Name(), Messages: confirmed, Took: time.Since(began), Err: err})
	return first, confirmed, err
}

func (q *Queue[T]) sendOffers(ctx context.Context, r conn.Request) []any {
	if q.client.durable != nil {
		return []any{q.sendDurably(ctx, r)}
	}
	return q.client.conns.Send(ctx, r)
}

// confirmed counts the offers that succeeded, up to the first that did not. If one after that may be queued all the same, the error says
// so: a caller that offers the rest again must know.
func (q *Queue[T]) confirmed(replies []any) (n int, err error) {
	for _, reply := range replies {
		failure, failed := reply.(error)
		switch {
		case !failed && err == nil:
			n++
		case failed && err == nil:
			err = in("offer", q.Name(), uncertain(failure))
		case (!failed || errors.Is(uncertain(failure), ErrUncertain)) && !errors.Is(err, ErrUncertain):
			err = fmt.Errorf("%w: %w", ErrUncertain, err)
		}
	}
	return n, err
}

// prepareOffers makes what all commands that run the offer script share. Every release has one.
//
//	KEYS    destination, timeout set, pending list, channel
//	ARGV    due time in Unix ms; random id; value
//	returns nil
//	cost    O(log n) in the timeout set
//
// offer-v1 is sent to 3.21.0 and in 2.x, offer-v2 from 3.21.1.
func (q *Queue[T]) prepareOffers() {
	n := q.names
	script, _ := q.client.release.Script(wire.ScriptOffer)
	q.offers = q.client.scriptRequest("EVALSHA", script, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, nil)
	q.offerHead, q.offers.Commands = q.offers.Commands[0], nil
}
