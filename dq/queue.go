package dq

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
)

// Queue is a delay queue: values are offered with a delay and taken when it is over. It shares its keys with
// Redisson's RDelayedQueue, and the RBlockingQueue behind it, of the same name. It is safe for use by many
// goroutines.
type Queue[T any] struct {
	client  *Client
	list    *BlockingQueue[T]
	delayed *DelayedQueue[T]
}

// NewQueue returns the queue of that name, and transfers what comes due in it, no matter who offered it, until
// Close. All Queues of one name in one Client share the work. Any name that Redis allows as a key will do, except the
// empty one; in a Cluster its keys must share a slot. The codec must be the one that the Java services use; a method
// Check() error of it is called.
func NewQueue[T any](c *Client, name string, values codec.Codec[T]) (*Queue[T], error) {
	list := NewBlockingQueue(c, name, values)
	if err := list.Err(); err != nil {
		return nil, err
	}
	delayed := NewDelayedQueue(list)
	if err := delayed.Err(); err != nil {
		return nil, err
	}
	return &Queue[T]{client: c, list: list, delayed: delayed}, nil
}

// Name returns the queue's name, which is the key of the LIST that consumers take from.
func (q *Queue[T]) Name() string { return q.list.Name() }

// Ready waits until the queue's subscription stands and its first transfer has run. If ctx ends before, the error
// also says what went wrong so far.
func (q *Queue[T]) Ready(ctx context.Context) error { return q.delayed.Ready(ctx) }

// Offer queues a value that becomes available after delay. The due time is the clock's time in whole milliseconds
// plus delay in whole milliseconds, both truncated, so that a value may arrive up to 2 ms early against a finer clock.
// Cancel takes the ticket.
//
// A negative delay is ErrNegativeDelay. With an error that wraps ErrUncertain the value may have been queued, and the
// ticket is valid: Cancel reports which. With any other error the value was not queued.
func (q *Queue[T]) Offer(ctx context.Context, value T, delay time.Duration) (Ticket, error) {
	return q.delayed.OfferTicket(ctx, value, delay)
}

// OfferAll queues values in order, all due after delay, in pipelines of 512. It returns how many of
// them were confirmed, counted from the first. With an error that wraps ErrUncertain others may be queued too; with any
// other error they are not.
func (q *Queue[T]) OfferAll(ctx context.Context, delay time.Duration, values ...T) (confirmed int, err error) {
	return q.delayed.OfferAll(ctx, delay, values...)
}

// Cancel removes the message of a ticket, and no other of equal value. After nil it will not arrive. An error that
// wraps ErrNotWaiting says that it has arrived, or was removed before. After any other error call Cancel again.
//
// Redisson has no such call: it is the script scripts.Cancel, also under WithStrictWire.
func (q *Queue[T]) Cancel(ctx context.Context, t Ticket) error { return q.delayed.Cancel(ctx, t) }

// Take waits for a value, without limit: BLPOP with 0. If ctx ends it returns ctx's error, unless a value was popped
// at that very moment. After Client.Close it returns ErrClosed. A value that the codec cannot decode is a *DecodeError
// and is out of the queue. A process that dies after Take returned has lost the value: a Worker has leases.
func (q *Queue[T]) Take(ctx context.Context) (T, error) { return q.list.Take(ctx) }

// Poll takes up to most values that are there, without waiting: LPOP, with a count if most is above 1. It returns
// ErrEmpty if there are none. Values that the codec cannot decode are out of the queue: the error then holds a
// *DecodeError for each, and the other values are returned.
func (q *Queue[T]) Poll(ctx context.Context, most int) ([]T, error) {
	if most < 1 {
		return nil, fmt.Errorf("dq: poll of %q: expected 1 or more, got %d", q.Name(), most)
	}
	list, err := replyList(q.list.popCount(ctx, most))
	if err != nil && most > 1 && strings.HasPrefix(err.Error(), "ERR wrong number") { // before Redis 6.2
		list, err = replyList(q.list.popCount(ctx, 1))
	}
	if err != nil {
		return nil, in("poll", q.Name(), err)
	}
	if len(list) == 0 {
		return nil, ErrEmpty
	}
	q.client.tellTaken(q.Name(), len(list))
	values := make([]T, 0, len(list))
	var failed []error
	for _, element := range list {
		v, err := replyValue(q.list.codec, element, nil)
		if err != nil {
			failed = append(failed, in("poll", q.Name(), err))
			continue
		}
		values = append(values, v)
	}
	return values, errors.Join(failed...)
}

// Waiting is a message whose time has not come.
type Waiting[T any] struct {
	Ticket Ticket // for Cancel; Ticket.Due is the due time
	Value  T
}

// Waiting walks the messages that wait for their time, in the order in which they come due, 500 a call. It takes no
// snapshot: a message that is offered or transferred during the walk may be missing, or come twice. A member that cannot
// be read is an error with its Ticket, if the member has one; the walk goes on after it.
func (q *Queue[T]) Waiting(ctx context.Context) iter.Seq2[Waiting[T], error] {
	const page = 500
	n := q.list.names
	return func(yield func(Waiting[T], error) bool) {
		for first := 0; ; first += page {
			reply, err := q.client.do(ctx, n.Destination, "ZRANGE", n.TimeoutSet, first, first+page-1, "WITHSCORES")
			var members []scoredMember
			if err == nil {
				members, err = scored(reply)
			}
			if err != nil {
				yield(Waiting[T]{}, in("waiting", q.Name(), err))
				return
			}
			for _, m := range members {
				if !yield(q.waiting(m)) {
					return
				}
			}
			if len(members) < page {
				return
			}
		}
	}
}

func (q *Queue[T]) waiting(m scoredMember) (w Waiting[T], err error) {
	w.Ticket.due = int64(m.score)
	read, err := q.client.release.Layout().UnpackAny([]byte(m.member))
	if err == nil {
		w.Ticket.id = read.ID
		w.Value, err = replyValue(q.list.codec, string(read.Value), nil)
	}
	return w, in("waiting", q.Name(), err)
}

// popCount takes up to n values that are there: LPOP, with a count if n is above 1, which needs Redis 6.2.
func (q *BlockingQueue[T]) popCount(ctx context.Context, n int) (any, error) {
	command := []any{"LPOP", q.Name(), n}
	if n == 1 {
		command = command[:2]
	}
	reply, err := q.client.one(ctx, request{key: q.Name(), commands: [][]any{command}, pops: true})
	if one, ok := reply.(string); ok {
		return []any{one}, err
	}
	return reply, err
}

// Clear removes all messages that wait for their time, and reports whether there were any: DEL of the pending list and
// the timeout set, as Redisson's delete. Messages that have come due stay.
func (q *Queue[T]) Clear(ctx context.Context) (bool, error) { return q.delayed.Clear(ctx) }

// Close ends this Queue's transfers and offers; other calls still work. Messages stay, and arrive when any
// process has the queue open.
func (q *Queue[T]) Close() error { return q.delayed.Close() }
