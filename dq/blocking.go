package dq

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// BlockingQueue is a destination queue: the LIST that consumers take values
// from, Redisson's RBlockingQueue. It needs no Close.
type BlockingQueue[T any] struct {
	client *Client
	names  wire.Names
	codec  codec.Codec[T]
}

// NewBlockingQueue returns the queue of that name. Any name that Redis allows as
// a key will do, except the empty one.
func NewBlockingQueue[T any](c *Client, name string, values codec.Codec[T]) *BlockingQueue[T] {
	return &BlockingQueue[T]{client: c, names: c.names(name), codec: values}
}

// Name returns the key of the LIST.
func (q *BlockingQueue[T]) Name() string { return q.names.Destination }

// Offer appends a value at once: RPUSH.
func (q *BlockingQueue[T]) Offer(ctx context.Context, value T) error {
	data, err := q.codec.Encode(value)
	if err != nil {
		return fmt.Errorf("dq: offer to %q: %w", q.Name(), err)
	}
	if _, err = q.client.do(ctx, q.Name(), "RPUSH", q.Name(), data); err != nil {
		return offerError(q.Name(), err)
	}
	return nil
}

// Take waits for a value, for ever if need be: BLPOP with 0. When ctx ends it
// returns ctx's error; a value that was popped at that very moment is returned
// instead. After Client.Close it returns ErrClosed.
func (q *BlockingQueue[T]) Take(ctx context.Context) (T, error) {
	return q.blockingPop(ctx, 0, true)
}

// PollTimeout waits for a value no longer than timeout and returns ErrEmpty
// then. Redisson sends BLPOP with whole seconds, truncated: 1.5 s waits for 1 s,
// less than 1 s waits for 1 s, and 0 waits for ever, as Take does. Releases 2.7.0
// and 3.2.0 wait for ever also for less than 1 s. A negative timeout returns
// ErrEmpty at once.
func (q *BlockingQueue[T]) PollTimeout(ctx context.Context, timeout time.Duration) (T, error) {
	if timeout < 0 {
		var none T
		return none, ErrEmpty
	}
	seconds := q.client.release.BlockingSeconds(timeout)
	return q.blockingPop(ctx, seconds, seconds == 0)
}

func (q *BlockingQueue[T]) blockingPop(ctx context.Context, seconds int64, forever bool) (T, error) {
	var none T
	for {
		reply, err := q.client.block(ctx, q.Name(), "BLPOP", q.Name(), strconv.FormatInt(seconds, 10))
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrClosed) {
				return none, err
			}
			return none, fmt.Errorf("dq: take from %q: %w", q.Name(), err)
		}
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			return q.decode(pair[1])
		}
		if !forever {
			return none, ErrEmpty
		}
	}
}

// Poll returns the first value without waiting, or ErrEmpty: LPOP.
func (q *BlockingQueue[T]) Poll(ctx context.Context) (T, error) {
	var none T
	reply, err := nilIsNoError(q.client.do(ctx, q.Name(), "LPOP", q.Name()))
	if err != nil {
		return none, fmt.Errorf("dq: poll of %q: %w", q.Name(), err)
	}
	if reply == nil {
		return none, ErrEmpty
	}
	return q.decode(reply)
}

// Size returns the number of values that can be taken now: LLEN.
func (q *BlockingQueue[T]) Size(ctx context.Context) (int, error) {
	return q.client.length(ctx, q.Name())
}

func (q *BlockingQueue[T]) decode(reply any) (T, error) {
	text, ok := reply.(string)
	if !ok {
		var none T
		return none, fmt.Errorf("dq: %q: expected a string from the server, got %T", q.Name(), reply)
	}
	value, err := q.codec.Decode([]byte(text))
	if err != nil {
		return value, fmt.Errorf("dq: a value of %q cannot be decoded: %w", q.Name(), err)
	}
	return value, nil
}

func (c *Client) length(ctx context.Context, key string) (int, error) {
	reply, err := c.do(ctx, key, "LLEN", key)
	if err != nil {
		return 0, fmt.Errorf("dq: size of %q: %w", key, err)
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("dq: size of %q: expected an integer from the server, got %T", key, reply)
	}
	return int(n), nil
}
