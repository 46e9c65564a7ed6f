package dq

import (
	"context"

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
	for {
		reply, err := q.client.block(ctx, q.Name(), "BLPOP", q.Name())
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			reply = pair[1]
			q.client.tellTaken(q.Name(), 1)
		}
		v, err := replyValue(q.codec, reply, err)
		switch {
		case err == ErrEmpty: //nolint:errorlint // this very value
			// Somebody unblocked the connection: CLIENT UNBLOCK, a failover.
			continue
		case err != nil && ctx.Err() != nil && reply == nil:
			return v, ctx.Err()
		}
		return v, in("take", q.Name(), err)
	}
}

// Poll returns the first value without waiting, or ErrEmpty: LPOP.
func (q *BlockingQueue[T]) Poll(ctx context.Context) (T, error) {
	reply, err := q.client.one(ctx, request{
		key: q.Name(), commands: [][]any{{"LPOP", q.Name()}}, pops: true,
	})
	if reply != nil {
		q.client.tellTaken(q.Name(), 1)
	}
	v, err := replyValue(q.codec, reply, err)
	return v, in("poll", q.Name(), err)
}

// Size returns the number of values that can be taken now: LLEN.
func (q *BlockingQueue[T]) Size(ctx context.Context) (int, error) {
	return q.client.length(ctx, q.Name())
}

func (c *Client) length(ctx context.Context, key string) (int, error) {
	reply, err := c.do(ctx, key, "LLEN", key)
	n, err := replyInt(reply, err)
	return int(n), in("size", key, err)
}
