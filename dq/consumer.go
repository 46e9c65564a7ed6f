package dq

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// consumer is one worker of Consume.
type consumer[T any] struct {
	ConsumeOptions
	queue   *BlockingQueue[T]
	handler func(context.Context, T) error
	want    prefetch
	ahead   *prefetched[any]
}

func newConsumer[T any](q *BlockingQueue[T], handler func(context.Context, T) error, options ConsumeOptions) *consumer[T] {
	c := &consumer[T]{ConsumeOptions: options, queue: q, handler: handler, want: newPrefetch(options.Prefetch)}
	c.ahead = newPrefetched(prefetchHeld, c.putBack)
	return c
}

// work consumes, in another goroutine when a handler has ended this one.
func (c *consumer[T]) work(ctx context.Context, workers *sync.WaitGroup) {
	returned := false
	defer func() {
		if !returned {
			workers.Go(func() { c.work(ctx, workers) })
		}
	}()
	handling := context.WithoutCancel(ctx)
	var retry backoff
	for {
		v, err := c.next(ctx)
		switch {
		case err == nil:
			retry.reset()
			c.handle(handling, v)
			continue
		case errors.As(err, new(*DecodeError)):
			c.Failed(nil, err) // the next value is another matter
			continue
		case ctx.Err() != nil || errors.Is(err, ErrClosed):
			returned = true
			return
		}
		c.Failed(nil, err)
		if pause(ctx, retry.next()) != nil {
			returned = true
			return
		}
	}
}

// handle calls the handler and reports how it failed.
func (c *consumer[T]) handle(ctx context.Context, v T) {
	began, err := time.Now(), errGoexit
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
		took := time.Since(began)
		c.want.handled(took)
		c.queue.client.tell(Handled{Queue: c.queue.Name(), Attempt: 1, Took: took, Err: err})
		if err != nil {
			c.Failed(v, err)
		}
	}()
	err = c.handler(ctx, v)
}

// next returns the next value: of those taken before, of several that are there, or the one
// that comes.
func (c *consumer[T]) next(ctx context.Context) (T, error) {
	if reply, ok := c.ahead.pop(); ok {
		return c.decode(reply)
	}
	if n := c.want.next(); n > 0 && ctx.Err() == nil {
		first, err := c.several(ctx, n)
		if err != nil {
			var none T
			return none, err
		}
		if first != nil {
			return c.decode(first)
		}
	}
	c.want.one()
	return c.queue.Take(ctx)
}

// several takes up to n values that are there, returns the first, nil for none, and keeps the others.
func (c *consumer[T]) several(ctx context.Context, n int) (first any, err error) {
	list, err := replyList(c.queue.popCount(ctx, n))
	switch {
	case err == nil:
		c.want.came(n, len(list))
	case errors.As(err, new(resp.Error)):
		c.want.refused() // what is wrong with BLPOP as well, it will say
	case !errors.Is(err, errUnsent):
		return nil, in("take", c.queue.Name(), err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	c.ahead.keep(list[1:])
	return list[0], nil
}

func (c *consumer[T]) decode(reply any) (T, error) {
	c.queue.client.tellTaken(c.queue.Name(), 1)
	v, err := replyValue(c.queue.codec, reply, nil)
	return v, in("take", c.queue.Name(), err)
}

// popCount takes up to n values that are there: LPOP with a count, which needs Redis 6.2, or for one without.
func (q *BlockingQueue[T]) popCount(ctx context.Context, n int) (any, error) {
	command := []any{"LPOP", q.Name(), n}
	if n == 1 {
		command = command[:2]
	}
	reply, err := q.client.one(ctx, request{key: q.Name(), commands: [][]any{command}, pops: q.client.back("LPUSH", q.Name())})
	if one, ok := reply.(string); ok {
		return []any{one}, err
	}
	return reply, err
}

// putBack gives back values whose turn has not come. They are handled here where the server does
// not take them, and told where nobody knows whether it has.
func (c *consumer[T]) putBack(rest []any) bool {
	client, name := c.queue.client, c.queue.Name()
	release, err := client.hold()
	if err != nil {
		return false
	}
	defer release()
	values := backwards(rest)
	err = client.pushBack("LPUSH", name, values, prefetchReturn)
	if err != nil && !errors.Is(err, ErrUncertain) {
		return false
	}
	client.tellReturned(name, values, err)
	if err != nil {
		c.Failed(nil, in("take", name, err))
	}
	return true
}
