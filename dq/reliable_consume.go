package dq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"
)

// PermanentError makes the message of a handler that returns it, or wraps it, a dead letter at once.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns what is permanent.
func (e *PermanentError) Unwrap() error { return e.Err }

// ReliableConsumeOptions says how Consume of a ReliableQueue works.
type ReliableConsumeOptions struct {
	// Workers is the number of messages handled at the same time; 0 means 1, and less is an error.
	Workers int
	// Backoff is how long a message waits, in the delayed queue, before it is handled again after that
	// many attempts. nil is DefaultBackoff.
	Backoff func(attempts int) time.Duration
	// KeepHeld extends what is held at each half of Visibility for as long as a handler runs. Without it
	// the handler's context ends at the Delivery's Deadline.
	KeepHeld bool
	// Failed is called when a handler returns an error, panics (a *PanicError) or ends its goroutine,
	// when a message cannot be decoded, settled or extended, and when the server cannot be reached, from
	// which Consume goes on. value is nil unless a handler had it. It may be called by many workers at
	// once; nil ignores failures.
	Failed func(value any, err error)
}

// DefaultBackoff doubles from 1 s after the first attempt to 5 minutes, and takes up to a quarter off at
// random, so that what failed together does not come again together.
func DefaultBackoff(attempts int) time.Duration {
	const most = 5 * time.Minute
	wait := most
	if attempts < 10 {
		wait = min(most, time.Second<<max(attempts-1, 0))
	}
	return wait - rand.N(wait/4)
}

// Consume reserves messages and calls handler for each until ctx ends, and returns ctx's error then.
// When handler returns nil the message is acknowledged. When it returns an error, panics or ends its
// goroutine, the message goes back through the delayed queue after Backoff; with MaxAttempts attempts,
// or a *PermanentError, it becomes a dead letter. A handler may settle its message itself.
//
// Handlers get a context that does not end with ctx but with what they hold: at the Deadline, or with
// KeepHeld as soon as an extension finds that the message is not held any more. Consume returns when
// the last one has. After Client.Close it returns ErrClosed.
func (q *ReliableQueue[T]) Consume(
	ctx context.Context, handler func(context.Context, *Delivery[T]) error, options ReliableConsumeOptions,
) error {
	switch {
	case q.err != nil:
		return q.err
	case handler == nil:
		return fmt.Errorf("dq: Consume of %q: expected a handler, got nil", q.dest.Name())
	case options.Workers < 0:
		return fmt.Errorf("dq: Consume of %q: expected 0 or more Workers, got %d", q.dest.Name(), options.Workers)
	}
	if options.Backoff == nil {
		options.Backoff = DefaultBackoff
	}
	if options.Failed == nil {
		options.Failed = func(any, error) {}
	}
	c := &reliableConsumer[T]{queue: q, handler: handler, ReliableConsumeOptions: options}
	for range max(options.Workers, 1) {
		c.workers.Go(func() { c.work(ctx) })
	}
	c.workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// reliableConsumer is one Consume.
type reliableConsumer[T any] struct {
	ReliableConsumeOptions
	queue   *ReliableQueue[T]
	handler func(context.Context, *Delivery[T]) error
	workers sync.WaitGroup
}

func (c *reliableConsumer[T]) work(ctx context.Context) {
	var retry backoff
	for {
		d, err := c.queue.Reserve(ctx)
		switch {
		case err == nil:
			retry.reset()
			c.handle(context.WithoutCancel(ctx), d)
		case ctx.Err() != nil || errors.Is(err, ErrClosed):
			return
		case errors.As(err, new(*DecodeError)):
			c.Failed(nil, err) // the next message is another matter
		default:
			c.Failed(nil, err)
			if pause(ctx, retry.next()) != nil {
				return
			}
		}
	}
}

// handle runs the handler in a goroutine of its own, which it may end, and settles the message.
func (c *reliableConsumer[T]) handle(ctx context.Context, d *Delivery[T]) {
	held, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var keeping sync.WaitGroup
	if c.KeepHeld {
		keeping.Go(func() { c.keep(held, stop, d) })
	} else {
		var cancel context.CancelFunc
		held, cancel = context.WithDeadlineCause(held, d.Deadline(), ErrNotHeld)
		defer cancel()
	}
	began := time.Now()
	ended := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if p := recover(); p != nil {
				err = &PanicError{Value: p, Stack: debug.Stack()}
			}
			ended <- err
		}()
		err = c.handler(held, d)
	}()
	err := <-ended
	c.queue.client.tellHandled(c.queue.dest.Name(), d.Attempt, time.Since(began), err)
	stop(nil)
	keeping.Wait()
	if err != nil {
		c.Failed(d.Value, err)
	}
	settling, cancel := context.WithTimeout(ctx, returnTimeout)
	defer cancel()
	if err := c.settle(settling, d, err); err != nil {
		c.Failed(d.Value, err)
	}
}

func (c *reliableConsumer[T]) settle(ctx context.Context, d *Delivery[T], err error) error {
	switch {
	case d.settled.Load():
		return nil
	case err == nil:
		return d.Ack(ctx)
	case errors.As(err, new(*PermanentError)):
		return d.Bury(ctx, err.Error())
	}
	return d.Nack(ctx, max(c.Backoff(d.Attempt), 0), err.Error())
}

// keep extends what is held until ctx ends.
func (c *reliableConsumer[T]) keep(ctx context.Context, stop context.CancelCauseFunc, d *Delivery[T]) {
	for pause(ctx, c.queue.options.Visibility/2) == nil {
		switch err := d.Extend(ctx); {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, ErrNotHeld):
			stop(err)
			return
		default: // the next extension may come in time
			c.Failed(d.Value, err)
		}
	}
}
