package dq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Offer queues a value that becomes available after delay. The due time is the clock's time in whole milliseconds
// plus delay in whole milliseconds, both truncated, so that a value may arrive up to 2 ms early against a finer clock.
// Cancel takes the ticket.
//
// The error wraps ErrNegativeDelay if delay is negative. If it wraps ErrUncertain, the value may have been queued, and the
// ticket is valid: Cancel reports which. After any other error the value was not queued.
func (q *Queue[T]) Offer(ctx context.Context, value T, delay time.Duration) (Ticket, error) {
	if delay < 0 {
		return Ticket{}, fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	}
	if err := q.takesOffers(ctx); err != nil {
		return Ticket{}, err
	}
	data, err := q.encode(value)
	if err != nil {
		return Ticket{}, err
	}
	began := time.Now()
	due, id := q.client.clock.Now().UnixMilli()+delay.Milliseconds(), q.client.newID()
	confirmed := 1
	if err = q.sendPatiently(ctx, due, id, data); err != nil {
		confirmed, err = 0, sortError("offer to", q.Name(), err)
	}
	q.tellOffered(began, confirmed, due, err)
	if err != nil && !errors.Is(err, ErrUncertain) {
		return Ticket{}, err
	}
	return q.client.ticketOf(due, id), err
}

// takesOffers returns why nothing can be offered.
func (q *Queue[T]) takesOffers(ctx context.Context) error {
	if q.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

func (q *Queue[T]) encode(value T) ([]byte, error) {
	data, err := encodeOffered(q.codec, value)
	if err != nil {
		return nil, fmt.Errorf("dq: offer to %q: %w", q.Name(), err)
	}
	return data, nil
}

// offered has the transfer task know of a value that is queued or may be: it does not
// depend on the announcement, which arrives over another connection.
func (q *Queue[T]) offered(due int64, err error) {
	if q.task != nil && (err == nil || errors.Is(err, ErrUncertain)) {
		q.client.scheduler.offered(q.task, due)
	}
}

func (q *Queue[T]) tellOffered(began time.Time, confirmed int, due int64, err error) {
	q.offered(due, err)
	q.client.tell(Offered{Queue: q.Name(), Messages: confirmed, Took: time.Since(began), Err: err})
}

// OfferAll queues values in order, all due after delay, over one connection
// without waiting for each reply. Those due in one millisecond arrive in any order. It returns how many of them were confirmed,
// counted from the first. An error that wraps ErrUncertain says that some of the
// others may be queued too; with any other error no other is queued.
func (q *Queue[T]) OfferAll(ctx context.Context, delay time.Duration, values ...T) (confirmed int, err error) {
	for len(values) > 0 {
		// The first offer of a batch has the server learn the script.
		if _, err := q.Offer(ctx, values[0], delay); err != nil {
			return confirmed, err
		}
		confirmed++
		values = values[1:]
		batch := values[:min(len(values), offerBatch-1)]
		if q.client.durable != nil || len(batch) == 0 {
			continue
		}
		n, err := q.offerBatch(ctx, delay, batch)
		confirmed += n
		if err != nil && !passes(err) { // else the next Offer waits
			return confirmed, err
		}
		values = values[n:]
	}
	return confirmed, nil
}

// offerBatch is how many offers are under way on one connection.
const offerBatch = 512

func (q *Queue[T]) offerBatch(ctx context.Context, delay time.Duration, values []T) (confirmed int, err error) {
	all := make([][]byte, len(values))
	for i, v := range values {
		if all[i], err = q.encode(v); err != nil {
			return 0, err
		}
	}
	script, err := q.client.script(wire.ScriptOffer)
	if err == nil {
		err = q.client.usable(ctx)
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	due := q.client.clock.Now().UnixMilli() + delay.Milliseconds()
	commands := make([][]any, len(all))
	for i, data := range all {
		commands[i] = q.offerCommand(due, q.client.newID(), data)
	}
	r := q.client.scriptRequest(script, commands)
	r.Key = q.Name()
	confirmed, err = q.confirmed(q.client.conns.Send(ctx, r))
	q.tellOffered(began, confirmed, due, err)
	return confirmed, err
}

// confirmed counts the offers that succeeded, up to the first that did not. If one
// after that may be queued all the same, the error says so: a caller that offers the rest
// again must know.
func (q *Queue[T]) confirmed(replies []any) (n int, err error) {
	for _, reply := range replies {
		failure, failed := reply.(error)
		switch {
		case !failed && err == nil:
			n++
		case failed && err == nil:
			err = sortError("offer to", q.Name(), q.client.explain(failure))
		case !failed || errors.Is(sortError("offer to", q.Name(), failure), ErrUncertain):
			if !errors.Is(err, ErrUncertain) {
				err = fmt.Errorf("%w: %w", ErrUncertain, err)
			}
		}
	}
	return n, err
}

// sendPatiently sends an offer until the server takes it, or it is more than a matter of time.
func (q *Queue[T]) sendPatiently(ctx context.Context, due int64, id [8]byte, data []byte) error {
	var retry conn.Backoff
	for began := time.Now(); ; {
		err := q.send(ctx, due, id, data)
		if err == nil || !passes(err) {
			return err
		}
		left := q.client.patience - time.Since(began)
		if left <= 0 || q.client.ctx.Err() != nil || conn.Pause(ctx, min(retry.Next(), left)) != nil {
			return err
		}
	}
}

// send runs the offer script.
//
//	KEYS    destination, timeout set, pending list, channel
//	ARGV    due time in Unix ms; random id; value
//	returns nil
//	cost    O(log n) in the timeout set
//
// offer-v1 is sent to 3.21.0 and in 2.x, offer-v2 from 3.21.1.
func (q *Queue[T]) send(ctx context.Context, due int64, id [8]byte, data []byte) error {
	script, err := q.client.script(wire.ScriptOffer)
	if err != nil {
		return err
	}
	if q.client.durable != nil {
		return q.sendDurably(ctx, script, q.offerCommand(due, id, data))
	}
	r := q.client.scriptRequest(script, [][]any{q.offerCommand(due, id, data)})
	r.Key = q.Name()
	_, err = q.client.one(ctx, r)
	return err
}

// offerCommand returns the command that runs the offer script.
func (q *Queue[T]) offerCommand(due int64, id [8]byte, data []byte) []any {
	command := append(make([]any, 0, len(q.offerHead)+3), q.offerHead...)
	return append(command, due, idArgument(q.client.release.Layout(), id), data)
}

// offerHeadOf returns what all commands that run the offer script begin with.
func offerHeadOf(c *Client, n wire.Names) []any {
	script, err := c.script(wire.ScriptOffer)
	if err != nil {
		return nil // no release
	}
	return c.scriptCommand("EVALSHA", script, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, nil)
}
