package dq

import (
	"context"
	"time"
)

// What tests do besides: a value straight into the destination, what waits in the order of the offers, and a take that ends.

// WithTransferLimit is for recordings of clients with another limit.
func WithTransferLimit(n int) Option {
	return func(c *config) error { c.limit = n; return nil }
}

func (q *BlockingQueue[T]) Offer(ctx context.Context, value T) error {
	data, err := encodeOffered(q.codec, value)
	if err == nil {
		_, err = q.client.do(ctx, q.Name(), "RPUSH", q.Name(), data)
	}
	return err
}

func (q *BlockingQueue[T]) PollWithin(ctx context.Context, timeout time.Duration) (T, error) {
	short, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	v, err := q.Take(short)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return v, ErrEmpty
	}
	return v, err
}

func (d *DelayedQueue[T]) ReadAll(ctx context.Context) (all []T, err error) {
	reply, err := d.client.do(ctx, d.dest.names.Pending, "LRANGE", d.dest.names.Pending, 0, -1)
	list, err := replyList(reply, err)
	for _, item := range list {
		m, err := d.client.release.Layout().UnpackAny([]byte(item.(string)))
		if err != nil {
			return nil, err
		}
		v, err := d.dest.codec.Decode(m.Value)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, err
}
