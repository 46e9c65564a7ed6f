package dq

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// DelayedQueue puts values into a destination queue later, Redisson's
// RDelayedQueue. While it is open it also transfers what comes due, no matter
// who offered it.
type DelayedQueue[T any] struct {
	dest   *BlockingQueue[T]
	client *Client
	task   *task
	closed atomic.Bool
	err    error
	// offerHead is what each offer's command begins with.
	offerHead []any
}

// NewDelayedQueue returns the delayed queue in front of dest and starts its
// transfer task, in the background; Ready waits for that. All DelayedQueues of
// one name in one Client share a task, which ends when the last is closed.
//
// It never returns nil. What is wrong, with dest or with its name in a Cluster, Err
// tells at once, and so does every call.
func NewDelayedQueue[T any](dest *BlockingQueue[T]) *DelayedQueue[T] {
	if err := checkDelayed("NewDelayedQueue", dest); err != nil {
		name := ""
		if dest != nil {
			name = dest.Name()
		}
		broken := brokenClient(err)
		dest = &BlockingQueue[T]{client: broken, names: wire.NamesOf(name), codec: brokenCodec[T]{err}, err: err}
		return &DelayedQueue[T]{dest: dest, client: broken, task: newTask(dest.names), err: err}
	}
	return &DelayedQueue[T]{
		dest:      dest,
		client:    dest.client,
		task:      dest.client.scheduler.open(dest.names),
		offerHead: offerHeadOf(dest.client, dest.names),
	}
}

// Err returns what was wrong with the argument of NewDelayedQueue, nil for nothing.
func (d *DelayedQueue[T]) Err() error { return d.err }

// Ready waits until the subscription stands and the first transfer has run. When
// ctx ends before, the error also tells what went wrong so far.
func (d *DelayedQueue[T]) Ready(ctx context.Context) error {
	if d.err != nil {
		return d.err
	}
	if d.client.ctx.Err() != nil || d.closed.Load() {
		return ErrClosed
	}
	select {
	case <-d.task.ready:
		return nil // also where the subscription was refused before
	default:
	}
	select {
	case <-d.task.ready:
		return nil
	case <-d.client.ctx.Done():
		return ErrClosed
	case <-d.task.refused:
		return fmt.Errorf("dq: %q is not ready: %w", d.dest.Name(), d.task.refusal)
	case <-ctx.Done():
		if err := d.client.scheduler.lastError(d.task); err != nil {
			return fmt.Errorf("dq: %q is not ready: %w (%w)", d.dest.Name(), err, ctx.Err())
		}
		return fmt.Errorf("dq: %q is not ready: %w", d.dest.Name(), ctx.Err())
	}
}

// Offer queues a value that becomes available after delay. The due time is the
// clock's time in whole milliseconds plus delay in whole milliseconds, both
// truncated, so that a value may come up to 2 ms early against a finer clock.
//
// A negative delay is ErrNegativeDelay. An error that wraps ErrUncertain says that
// the value may be queued: ctx ended or the connection broke after the offer was
// sent, or the script failed after it had begun. After any other error it is not
// queued, and may be offered again. Nothing that may have arrived is sent again; what
// has certainly not, because the server is away or not ready, is for 5 s: see
// WithOfferPatience.
func (d *DelayedQueue[T]) Offer(ctx context.Context, value T, delay time.Duration) error {
	if delay < 0 {
		return fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	}
	_, err := d.offer(ctx, value, delay.Milliseconds())
	return err
}

func (d *DelayedQueue[T]) offer(ctx context.Context, value T, delay int64) (Ticket, error) {
	if err := d.takesOffers(ctx); err != nil {
		return Ticket{}, err
	}
	data, err := d.encode(value)
	if err != nil {
		return Ticket{}, err
	}
	return d.offerData(ctx, data, delay, d.client.patience)
}

// takesOffers returns why nothing can be offered.
func (d *DelayedQueue[T]) takesOffers(ctx context.Context) error {
	if d.closed.Load() {
		return ErrClosed
	}
	return ctx.Err()
}

func (d *DelayedQueue[T]) encode(value T) ([]byte, error) {
	data, err := encodeOffered(d.dest.codec, value)
	if err != nil {
		return nil, fmt.Errorf("dq: offer to %q: %w", d.dest.Name(), err)
	}
	return data, nil
}

// offerData offers a value as it is on the wire, for patience where it is certain not to be queued.
func (d *DelayedQueue[T]) offerData(ctx context.Context, data []byte, delay int64, patience time.Duration) (t Ticket, err error) {
	began := time.Now()
	due, id := d.client.clock.Now().UnixMilli()+delay, d.client.newID()
	confirmed := 1
	if err = d.sendPatiently(ctx, patience, due, id, data); err != nil {
		confirmed, err = 0, offerError(d.dest.Name(), err)
	}
	d.offered(due, err)
	d.tellOffered(began, confirmed, err)
	return d.client.ticketOf(due, id), err
}

// offered has the transfer task know of a value that is queued or may be: it does not
// depend on the announcement, which comes over another connection.
func (d *DelayedQueue[T]) offered(due int64, err error) {
	if err == nil || errors.Is(err, ErrUncertain) {
		d.client.scheduler.offered(d.task, due)
	}
}

func (d *DelayedQueue[T]) tellOffered(began time.Time, confirmed int, err error) {
	d.client.tell(Offered{Queue: d.dest.Name(), Messages: confirmed, Took: time.Since(began), Err: err})
}

// OfferAll queues values in order, all due after delay, over one connection
// without waiting for each reply. It returns how many of them were confirmed,
// counted from the first. An error that wraps ErrUncertain says that some of the
// others may be queued too; with any other error none of them is.
func (d *DelayedQueue[T]) OfferAll(ctx context.Context, delay time.Duration, values ...T) (confirmed int, err error) {
	for len(values) > 0 {
		// The first offer of a batch has the server learn the script.
		if err := d.Offer(ctx, values[0], delay); err != nil {
			return confirmed, err
		}
		confirmed++
		batch := values[1:min(len(values), offerBatch)]
		n, err := d.offerBatch(ctx, delay, batch)
		confirmed += n
		if err != nil {
			return confirmed, err
		}
		values = values[1+len(batch):]
	}
	return confirmed, nil
}

// offerBatch is how many offers are under way on one connection.
const offerBatch = 512

func (d *DelayedQueue[T]) offerBatch(ctx context.Context, delay time.Duration, values []T) (confirmed int, err error) {
	all := make([][]byte, len(values))
	for i, v := range values {
		if all[i], err = d.encode(v); err != nil {
			return 0, err
		}
	}
	replies, err := d.offerBatchData(ctx, delay, all)
	if err != nil {
		return 0, err
	}
	return d.confirmed(replies)
}

// offerBatchData offers values as they are on the wire, and returns what each was answered.
func (d *DelayedQueue[T]) offerBatchData(ctx context.Context, delay time.Duration, all [][]byte) (replies []any, err error) {
	script, err := d.client.script(wire.ScriptOffer)
	if err != nil {
		return nil, err
	}
	if err := d.client.usable(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	due := d.client.clock.Now().UnixMilli() + delay.Milliseconds()
	commands := make([][]any, len(all))
	for i, data := range all {
		commands[i] = d.offerCommand(due, d.client.newID(), data)
	}
	r := d.client.scriptRequest(script, commands)
	r.key = d.dest.Name()
	replies = d.client.send(ctx, r)
	confirmed, err := d.confirmed(replies)
	d.offered(due, err)
	d.tellOffered(began, confirmed, err)
	return replies, nil
}

// confirmed counts the offers that succeeded, up to the first that did not. If one
// behind that may be queued all the same, the error says so: whoever offers the rest
// again must know.
func (d *DelayedQueue[T]) confirmed(replies []any) (n int, err error) {
	for _, reply := range replies {
		failure, failed := reply.(error)
		switch {
		case !failed && err == nil:
			n++
		case failed && err == nil:
			err = offerError(d.dest.Name(), d.client.explain(failure))
		case !failed || errors.Is(offerError(d.dest.Name(), failure), ErrUncertain):
			if !errors.Is(err, ErrUncertain) {
				err = fmt.Errorf("%w: %w", ErrUncertain, err)
			}
		}
	}
	return n, err
}

// sendPatiently sends an offer until the server takes it, or it is more than a matter of time.
func (d *DelayedQueue[T]) sendPatiently(ctx context.Context, patience time.Duration, due int64, id [8]byte, data []byte) error {
	var retry backoff
	for began := time.Now(); ; {
		err := d.send(ctx, due, id, data)
		if err == nil || !passes(err) {
			return err
		}
		left := patience - time.Since(began)
		if left <= 0 || d.client.ctx.Err() != nil || pause(ctx, min(retry.Next(), left)) != nil {
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
func (d *DelayedQueue[T]) send(ctx context.Context, due int64, id [8]byte, data []byte) error {
	script, err := d.client.script(wire.ScriptOffer)
	if err != nil {
		return err
	}
	r := d.client.scriptRequest(script, [][]any{d.offerCommand(due, id, data)})
	r.key = d.dest.Name()
	_, err = d.client.one(ctx, r)
	return err
}

// offerCommand returns the command that runs the offer script.
func (d *DelayedQueue[T]) offerCommand(due int64, id [8]byte, data []byte) []any {
	command := append(make([]any, 0, len(d.offerHead)+3), d.offerHead...)
	return append(command, due, idArgument(d.client.release.Layout(), id), data)
}

// offerHeadOf returns what all commands that run the offer script begin with.
func offerHeadOf(c *Client, n wire.Names) []any {
	script, err := c.script(wire.ScriptOffer)
	if err != nil {
		return nil // no release
	}
	return c.scriptCommand("EVALSHA", script, []string{n.Destination, n.TimeoutSet, n.Pending, n.Channel}, nil)
}

// Size returns the number of values that wait for their time: LLEN of the
// pending list.
func (d *DelayedQueue[T]) Size(ctx context.Context) (int, error) {
	return d.client.length(ctx, d.dest.names.Pending)
}

// Clear removes all values that wait, and reports whether there were any:
// DEL pending list, timeout set. Redisson's delete does the same.
func (d *DelayedQueue[T]) Clear(ctx context.Context) (bool, error) {
	n := d.dest.names
	reply, err := d.client.do(ctx, n.Pending, "DEL", n.Pending, n.TimeoutSet)
	ok, err := replyBool(reply, err)
	return ok, in("clear", d.Name(), err)
}

// Name returns the name of the destination queue.
func (d *DelayedQueue[T]) Name() string { return d.dest.names.Destination }

// Close gives the queue back. What waits in it stays, and moves when any process
// has the queue open.
func (d *DelayedQueue[T]) Close() error {
	if d.closed.CompareAndSwap(false, true) && d.err == nil {
		d.client.scheduler.leave(d.task)
	}
	return nil
}
