package dq

import (
	"context"
	"time"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

var Forbidden = forbidden

// WithConn changes how a Client deals with its connections, such as how long it waits.
func WithConn(change func(*conn.Options)) Option {
	return func(c *config) error { change(&c.conn); return nil }
}

// Two views of a Queue for tests: one that only takes, and transfers nothing, and one whose offers return no ticket. Their
// constructors panic where NewQueue fails.

// Taker only takes; it transfers nothing.
type Taker[T any] struct{ *Queue[T] }

func NewTaker[T any](c *Client, name string, values codec.Codec[T]) *Taker[T] {
	q, err := NewQueue(c, name, values, WithoutTransfer())
	if err != nil {
		panic(err)
	}
	return &Taker[T]{q}
}

func (q *Taker[T]) Poll(ctx context.Context) (v T, err error) {
	values, err := q.Queue.Poll(ctx, 1)
	if len(values) > 0 {
		v = values[0]
	}
	return v, err
}

// Offer puts a value straight into the LIST.
func (q *Taker[T]) Offer(ctx context.Context, value T) error {
	data, err := encodeOffered(q.codec, value)
	if err == nil {
		_, err = q.client.do(ctx, q.Name(), "RPUSH", q.Name(), data)
	}
	return err
}

// Sender offers and transfers.
type Sender[T any] struct{ *Queue[T] }

func NewSender[T any](list *Taker[T]) *Sender[T] {
	q, err := NewQueue(list.client, list.Name(), list.codec)
	if err != nil {
		panic(err)
	}
	return &Sender[T]{q}
}

func (d *Sender[T]) Offer(ctx context.Context, value T, delay time.Duration) error {
	_, err := d.Queue.Offer(ctx, value, delay)
	return err
}

// ReadAll returns the values that wait, in the order of their offers.
func (d *Sender[T]) ReadAll(ctx context.Context) (all []T, err error) {
	reply, err := d.client.do(ctx, d.names.Pending, "LRANGE", d.names.Pending, 0, -1)
	list, err := replyList(reply, err)
	for _, item := range list {
		m, err := d.client.release.Layout().UnpackAny([]byte(item.(string)))
		if err != nil {
			return nil, err
		}
		v, err := d.codec.Decode(m.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, err
}
