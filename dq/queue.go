package dq

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Queue is a delay queue: values are offered with a delay and taken when it is over. It shares its keys with Redisson's RDelayedQueue of
// the same name and the RBlockingQueue behind it. It is safe for use by many goroutines.
type Queue[T any] struct {
	client    *Client
	names     wire.Names
	codec     codec.Codec[T]
	task      *task // nil without transfers
	closed    atomic.Bool
	offers    conn.Request // without a command
	offerHead []any        // what each offer's command begins with
}

// QueueOption changes how a Queue behaves.
type QueueOption func(idle *bool)

// WithoutTransfer makes a Queue that neither transfers nor subscribes, for a user without rights to the delayed queue's keys.
// Other processes must transfer; they are notified of this Queue's offers.
func WithoutTransfer() QueueOption { return func(idle *bool) { *idle = true } }

// NewQueue returns the queue of that name, and transfers its due messages, whichever client offered them, until Close. All Queues of one
// name in one Client share the work. Any name that Redis allows as a key will do, except the empty one; in a Cluster its keys must share a
// slot. The codec must be the one that the Java services use; any method Check() error is called.
func NewQueue[T any](c *Client, name string, values codec.Codec[T], options ...QueueOption) (*Queue[T], error) {
	if err := checkQueue(c, name, values); err != nil {
		return nil, err
	}
	var idle bool
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("dq: NewQueue(%q): option %d of %d is nil", name, i+1, len(options))
		}
		option(&idle)
	}
	q := &Queue[T]{client: c, names: wire.NamesOf(name), codec: values}
	q.prepareOffers()
	if err := c.checkSlots(q.names); err != nil {
		return nil, err
	}
	if !idle {
		q.task = c.scheduler.open(q.names)
	}
	return q, nil
}

// checkQueue checks the arguments of NewQueue.
func checkQueue[T any](c *Client, name string, values codec.Codec[T]) error {
	switch {
	case c == nil || c.ctx == nil:
		return fmt.Errorf("dq: NewQueue(%q): expected a Client of NewClient, got nil or a zero value", name)
	case c.ctx.Err() != nil:
		return ErrClosed
	case name == "":
		return errors.New("dq: NewQueue: expected a name, got an empty one")
	case any(values) == nil:
		return fmt.Errorf("dq: NewQueue(%q): expected a codec, got nil", name)
	case isNil(values):
		return fmt.Errorf("dq: NewQueue(%q): expected a codec, got a nil %T", name, values)
	}
	if c, ok := any(values).(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("dq: NewQueue(%q): %w", name, err)
		}
	}
	return nil
}

// checkSlots refuses names whose keys a Cluster keeps in several slots: a script may only name keys of one.
func (c *Client) checkSlots(n wire.Names) error {
	slot := wire.Slot(n.Destination)
	for _, key := range []string{n.TimeoutSet, n.Pending, n.Channel} {
		if c.conns.Clustered && wire.Slot(key) != slot {
			return fmt.Errorf("dq: NewQueue(%q): in a Cluster its keys must share a slot, and %q does not share the slot of %q: "+
				"Redisson puts braces around a name only if it has no \"{\"; take a name without one, or with a hash tag such as {orders}",
				n.Destination, key, n.Destination)
		}
	}
	return nil
}

// Name returns the queue's name, which is the key of the LIST that consumers take from.
func (q *Queue[T]) Name() string { return q.names.Destination }

// Ready waits until the queue's subscription is confirmed and its first transfer has run. If ctx ends first, the error
// also reports failures so far.
func (q *Queue[T]) Ready(ctx context.Context) error {
	if q.task == nil {
		return nil
	}
	if q.client.ctx.Err() != nil || q.closed.Load() {
		return ErrClosed
	}
	select {
	case <-q.task.ready.Done():
	case <-q.client.ctx.Done():
	case <-q.task.refused.Done():
	case <-ctx.Done():
	}
	why := ctx.Err()
	switch failed := q.task.failed.Load(); {
	case q.task.ready.Err() != nil:
		return nil //nolint:nilerr // also if the subscription was refused before
	case q.client.ctx.Err() != nil:
		return ErrClosed
	case q.task.refused.Err() != nil:
		why = context.Cause(q.task.refused)
	case failed != nil:
		why = fmt.Errorf("%w (%w)", *failed, why)
	}
	return fmt.Errorf("dq: %q is not ready: %w", q.Name(), why)
}

// Cancel removes the message of a ticket, and no other message of equal value. If it returns nil, the message will not be delivered. An
// error that wraps ErrNotWaiting says that Cancel was too late, or was done before. It is also returned for a due message whose transfer
// failed half-way, which may have been delivered. After any other error the result is unknown: cancel again.
//
// Cancel also finds a message that was unlisted and cannot be found by its value. Redisson has no
// such call: Cancel is dq's own script, even WithRedissonCommands.
//
//	KEYS    timeout set, pending list, and the keys of unlisting
//	ARGV    due time in Unix ms; id; now in Unix ms
//	returns 1, or 0 if it is not there
//	cost    see scripts.Cancel: Remove looks at each member before it, Cancel walks from the end that
//	        is nearer
func (q *Queue[T]) Cancel(ctx context.Context, t Ticket) error {
	removed, err := q.cancel(ctx, strconv.FormatInt(t.due, 10), string(t.id[:]))
	if err == nil && !removed {
		err = ErrNotWaiting
	}
	return in("cancel", q.Name(), err)
}

// Take waits for a value, without limit, by BLPOP. If ctx ends it returns ctx's error, unless a value was just popped. After Client.Close it
// returns ErrClosed. If the server refuses or is unreachable, it returns an error at once: pause before retrying. A value that the codec
// cannot decode is a *DecodeError and is out of the queue. A process that dies after Take returned has lost the value: a Worker has leases.
func (q *Queue[T]) Take(ctx context.Context) (T, error) {
	for {
		reply, err := q.client.conns.Block(ctx, q.Name(), "BLPOP", q.Name())
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			reply = pair[1]
			q.client.tell(Taken{Queue: q.Name(), Messages: 1})
		}
		v, err := replyValue(q.codec, reply, err)
		switch {
		case err == ErrEmpty: //nolint:errorlint // this very value
			// Another client unblocked the connection: CLIENT UNBLOCK, a failover.
			continue
		case err != nil && ctx.Err() != nil && reply == nil:
			return v, ctx.Err()
		}
		return v, in("take", q.Name(), err)
	}
}

// Poll takes up to most values that are there, without waiting: LPOP, with a count if most is above 1. It returns
// ErrEmpty if there is no value. Values that the codec cannot decode are out of the queue: the error then holds a
// *DecodeError for each, and the other values are returned. Ask for few large values: a reply of more than 1 GiB is given up.
func (q *Queue[T]) Poll(ctx context.Context, most int) ([]T, error) {
	if most < 1 {
		return nil, fmt.Errorf("dq: poll of %q: expected 1 or more, got %d", q.Name(), most)
	}
	list, err := replyList(q.popCount(ctx, most))
	if err != nil && most > 1 && strings.HasPrefix(err.Error(), "ERR wrong number") { // before Redis 6.2
		list, err = replyList(q.popCount(ctx, 1))
	}
	if err != nil {
		return nil, in("poll", q.Name(), err)
	}
	if len(list) == 0 {
		return nil, ErrEmpty
	}
	q.client.tell(Taken{Queue: q.Name(), Messages: len(list)})
	values := make([]T, 0, len(list))
	var failed []error
	for _, element := range list {
		v, err := replyValue(q.codec, element, nil)
		if err != nil {
			failed = append(failed, in("poll", q.Name(), err))
			continue
		}
		values = append(values, v)
	}
	return values, errors.Join(failed...)
}

// Waiting is a message that is not due yet.
type Waiting[T any] struct {
	Ticket Ticket // for Cancel; Ticket.Due is the due time
	Value  T
}

// Waiting walks the messages that are not due, in the order of their due times, up to 500 a call. It takes no snapshot: a message that is
// offered or rescheduled during the walk may be missing. Messages may be cancelled during the walk. A member that cannot be read is
// yielded as an error, with its Ticket if it has one; the walk goes on after it.
func (q *Queue[T]) Waiting(ctx context.Context) iter.Seq2[Waiting[T], error] {
	return func(yield func(Waiting[T], error) bool) {
		for m, err := range q.client.walk(ctx, q.Name(), q.names.TimeoutSet, 500) {
			var w Waiting[T]
			if err == nil {
				w, err = q.waiting(m)
			}
			if !yield(w, in("waiting", q.Name(), err)) {
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
		w.Value, err = replyValue(q.codec, string(read.Value), nil)
	}
	return w, err
}

// popCount takes up to n values that are there: LPOP, with a count if n is above 1, which needs Redis 6.2.
func (q *Queue[T]) popCount(ctx context.Context, n int) (any, error) {
	command := []any{"LPOP", q.Name(), n}
	if n == 1 {
		command = command[:2]
	}
	reply, err := q.client.one(ctx, conn.Request{Key: q.Name(), Commands: [][]any{command}, Pops: true})
	if one, ok := reply.(string); ok {
		return []any{one}, err
	}
	return reply, err
}

// Clear removes all messages that are not due, and reports whether there were any: DEL of the pending list and
// the timeout set, as Redisson's delete. Transferred messages stay.
func (q *Queue[T]) Clear(ctx context.Context) (bool, error) {
	reply, err := q.client.do(ctx, q.names.Pending, "DEL", q.names.Pending, q.names.TimeoutSet)
	ok, err := replyBool(reply, err)
	return ok, in("clear", q.Name(), err)
}

// Close ends this Queue's transfers and offers; other calls still work. Messages stay, and arrive when any process has the queue open.
func (q *Queue[T]) Close() error {
	if q.closed.CompareAndSwap(false, true) && q.task != nil {
		q.client.scheduler.leave(q.task)
	}
	return nil
}

// The place of partition i of a logical queue among the slots: at most partitionReach from (partitionFirst + i × partitionStep) modulo
// wire.Slots. The numbers were searched for: the first 1 to 6, 8 and 12 partitions have equal shares on any number of masters that divides
// their number, and so do 24 on up to 6 and on 12, if each master has one run of slots, all equally long.
const (
	partitionFirst = 14736
	partitionStep  = 6258
	partitionReach = 32
)

// maxPartitionK bounds the search for k. All values of CRC-16 were tried: for i below 1024 a k is below the bound.
const maxPartitionK = 2000

// PartitionName returns the name of partition i, from 0, of a logical queue: NAME-i-k, k being the first number from 0 for which the slot
// of that name (wire.Slot) is at most 32 from (14736 + 6258 × i) modulo 16384, with the last slot next to the first. So the names for more
// partitions begin with the names for fewer, and any first few of them spread over the slots. Plain numbers do not: with orders-0 to
// orders-5, two of six masters have two names, and two have no name.
//
// The slot of a name with a hash tag, such as {orders}, depends only on the tag: k is then 0.
func PartitionName(name string, i int) string {
	home := (partitionFirst + partitionStep*i) % wire.Slots
	prefix := name + "-" + strconv.Itoa(i) + "-"
	for k := range maxPartitionK {
		candidate := prefix + strconv.Itoa(k)
		if (wire.Slot(candidate)-home+partitionReach+wire.Slots)%wire.Slots <= 2*partitionReach {
			return candidate
		}
	}
	return prefix + "0"
}
