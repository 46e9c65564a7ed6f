package dq

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// BlockingQueue is a destination queue: the LIST that consumers take values
// from, Redisson's RBlockingQueue and RBlockingDeque. It needs no Close.
type BlockingQueue[T any] struct {
	client *Client
	names  wire.Names
	codec  codec.Codec[T]
	err    error
}

// NewBlockingQueue returns the queue of that name. Any name that Redis allows as
// a key will do, except the empty one.
//
// It never returns nil. What is wrong with the arguments, a Client or codec that is
// nil or was not made by its constructor or an empty name, Err tells at once, and so
// does every call. A codec that has a method Check() error is asked.
func NewBlockingQueue[T any](c *Client, name string, values codec.Codec[T]) *BlockingQueue[T] {
	err := checkQueue(c, name, values)
	if err != nil {
		c, values = brokenClient(err), brokenCodec[T]{err}
	}
	return &BlockingQueue[T]{client: c, names: c.names(name), codec: values, err: err}
}

// Err returns what was wrong with the arguments of NewBlockingQueue, nil for nothing.
func (q *BlockingQueue[T]) Err() error { return q.err }

// Name returns the key of the LIST.
func (q *BlockingQueue[T]) Name() string { return q.names.Destination }

// Take waits for a value, for ever if need be: BLPOP with 0. When ctx ends it
// returns ctx's error; a value that was popped at that very moment is returned
// instead. After Client.Close it returns ErrClosed.
func (q *BlockingQueue[T]) Take(ctx context.Context) (T, error) {
	return q.blockingPop(ctx, "take", forever, "BLPOP", q.Name())
}

// TakeLast is Take from the other end: BRPOP with 0.
func (q *BlockingQueue[T]) TakeLast(ctx context.Context) (T, error) {
	return q.blockingPop(ctx, "takeLast", forever, "BRPOP", q.Name())
}

// PollTimeout waits for a value no longer than timeout and returns ErrEmpty
// then. Redisson sends BLPOP with whole seconds, truncated: 1.5 s waits for 1 s,
// less than 1 s waits for 1 s, and 0 waits for ever, as Take does. Releases 2.7.0
// and 3.2.0 wait for ever also for less than 1 s. A negative timeout is sent as
// it is to 3.17.7, which the server refuses; later releases return at once.
// PollWithin waits exactly.
func (q *BlockingQueue[T]) PollTimeout(ctx context.Context, timeout time.Duration) (T, error) {
	return q.pollTimeout(ctx, "poll", timeout, "BLPOP", q.Name())
}

// PollLastTimeout is PollTimeout from the other end: BRPOP.
func (q *BlockingQueue[T]) PollLastTimeout(ctx context.Context, timeout time.Duration) (T, error) {
	return q.pollTimeout(ctx, "pollLast", timeout, "BRPOP", q.Name())
}

// PollFromAny is PollTimeout over this queue and then others, which in a cluster
// must share its slot.
func (q *BlockingQueue[T]) PollFromAny(ctx context.Context, timeout time.Duration, others ...string) (T, error) {
	command := []any{"BLPOP", q.Name()}
	if err := nameless(others...); err != nil {
		var none T
		return none, in("pollFromAny", q.Name(), err)
	}
	for _, o := range others {
		command = append(command, o)
	}
	return q.pollTimeout(ctx, "pollFromAny", timeout, command...)
}

// PollWithin waits for a value for exactly timeout, which is dq's own form: BLPOP
// with 0 that is cancelled in time. It returns ErrEmpty then, also for a timeout
// of 0 or less, after one look.
func (q *BlockingQueue[T]) PollWithin(ctx context.Context, timeout time.Duration) (T, error) {
	if timeout <= 0 {
		return q.Poll(ctx)
	}
	short, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := q.Take(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return v, ErrEmpty
	}
	return v, err
}

// PollLastAndOfferFirstTo moves the last value to the front of the LIST other and
// returns it; ErrEmpty when there is none: RPOPLPUSH. Every release sends this,
// none LMOVE.
func (q *BlockingQueue[T]) PollLastAndOfferFirstTo(ctx context.Context, other string) (T, error) {
	if err := nameless(other); err != nil {
		var none T
		return none, in("pollLastAndOfferFirstTo", q.Name(), err)
	}
	return q.pop(ctx, "pollLastAndOfferFirstTo", "", "RPOPLPUSH", q.Name(), other)
}

// PollLastAndOfferFirstToTimeout waits for a value to move as PollTimeout does:
// BRPOPLPUSH.
func (q *BlockingQueue[T]) PollLastAndOfferFirstToTimeout(
	ctx context.Context, other string, timeout time.Duration,
) (T, error) {
	if err := nameless(other); err != nil {
		var none T
		return none, in("pollLastAndOfferFirstTo", q.Name(), err)
	}
	return q.pollTimeout(ctx, "pollLastAndOfferFirstTo", timeout, "BRPOPLPUSH", q.Name(), other)
}

// TakeLastAndOfferFirstTo waits for a value to move, for ever if need be:
// BRPOPLPUSH with 0. A popped value is never in a process alone: it is in other.
func (q *BlockingQueue[T]) TakeLastAndOfferFirstTo(ctx context.Context, other string) (T, error) {
	if err := nameless(other); err != nil {
		var none T
		return none, in("takeLastAndOfferFirstTo", q.Name(), err)
	}
	return q.blockingPop(ctx, "takeLastAndOfferFirstTo", forever, "BRPOPLPUSH", q.Name(), other)
}

// nameless refuses the name of another queue that is empty.
func nameless(names ...string) error {
	if slices.Contains(names, "") {
		return errors.New("expected the name of another queue, got an empty one")
	}
	return nil
}

// forever is the time-out of a blocking command that never ends by itself.
const forever = 0

func (q *BlockingQueue[T]) pollTimeout(
	ctx context.Context, operation string, timeout time.Duration, command ...any,
) (T, error) {
	if timeout < 0 && q.client.release.SkipsNegativeTimeout() {
		var none T
		return none, ErrEmpty
	}
	return q.blockingPop(ctx, operation, q.client.release.BlockingSeconds(timeout), command...)
}

// blockingPop runs a blocking command, its time-out in whole seconds behind it.
func (q *BlockingQueue[T]) blockingPop(
	ctx context.Context, operation string, seconds int64, command ...any,
) (T, error) {
	command = append(command, strconv.FormatInt(seconds, 10))
	for {
		reply, err := q.client.block(ctx, q.Name(), seconds, command...)
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			reply = pair[1]
		}
		if reply != nil {
			q.client.tellTaken(q.Name(), 1)
		}
		v, err := replyValue(q.codec, reply, err)
		switch {
		case err == ErrEmpty && seconds == forever: //nolint:errorlint // this very value
			// Somebody unblocked the connection: CLIENT UNBLOCK, a failover.
			continue
		case err != nil && ctx.Err() != nil && reply == nil:
			return v, ctx.Err()
		}
		return v, in(operation, q.Name(), err)
	}
}

// value runs a command that returns one value.
func (q *BlockingQueue[T]) value(ctx context.Context, operation string, command ...any) (T, error) {
	reply, err := q.client.do(ctx, q.Name(), command...)
	v, err := replyValue(q.codec, reply, err)
	return v, in(operation, q.Name(), err)
}

// pop runs a command that takes one value away, which push puts back; none where
// it is safe elsewhere.
func (q *BlockingQueue[T]) pop(ctx context.Context, operation, push string, command ...any) (T, error) {
	reply, err := q.client.one(ctx, request{
		key: q.Name(), commands: [][]any{command}, pops: q.client.back(push, q.Name()),
	})
	if reply != nil {
		q.client.tellTaken(q.Name(), 1)
	}
	v, err := replyValue(q.codec, reply, err)
	return v, in(operation, q.Name(), err)
}

func (c *Client) length(ctx context.Context, key string) (int, error) {
	reply, err := c.do(ctx, key, "LLEN", key)
	n, err := replyInt(reply, err)
	return int(n), in("size", key, err)
}
