package dq

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// ConsumeOptions says how Consume works.
type ConsumeOptions struct {
	// Workers is the number of values handled at the same time; 0 means 1, and less is
	// an error.
	Workers int
	// Failed is called when a value cannot be decoded, a handler returns an error,
	// panics (a *PanicError) or ends its goroutine, or the server cannot be reached, which Consume
	// goes on from. value is nil unless a handler had it. It may be called by many
	// workers at once; nil ignores failures.
	Failed func(value any, err error)
}

// PanicError is the panic of a handler.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("dq: the handler panicked: %v", e.Value) }

// errGoexit is what Failed gets of a handler that ended its goroutine, as
// testing.T.FailNow does.
var errGoexit = errors.New("dq: the handler called runtime.Goexit")

// Consume takes values and calls handler for each until ctx ends, and returns
// ctx's error then. A value that was popped is always handled: handlers get a
// context that does not end with ctx, and Consume returns when the last one has.
// After Client.Close it returns ErrClosed.
//
// A value whose handler fails is gone from Redis, as with Redisson's take; Failed
// has it.
func (q *BlockingQueue[T]) Consume(
	ctx context.Context, handler func(context.Context, T) error, options ConsumeOptions,
) error {
	if q.err != nil {
		return q.err
	}
	if handler == nil {
		return fmt.Errorf("dq: Consume of %q: expected a handler, got nil", q.Name())
	}
	if options.Workers < 0 {
		return fmt.Errorf("dq: Consume of %q: expected 0 or more Workers, got %d", q.Name(), options.Workers)
	}
	failed := options.Failed
	if failed == nil {
		failed = func(any, error) {}
	}
	var workers sync.WaitGroup
	for range max(options.Workers, 1) {
		workers.Go(func() { q.worker(ctx, &workers, handler, failed) })
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// worker consumes, in another goroutine when a handler has ended this one.
func (q *BlockingQueue[T]) worker(
	ctx context.Context, workers *sync.WaitGroup, handler func(context.Context, T) error, failed func(any, error),
) {
	returned := false
	defer func() {
		if !returned {
			workers.Go(func() { q.worker(ctx, workers, handler, failed) })
		}
	}()
	q.consume(ctx, handler, failed)
	returned = true
}

func (q *BlockingQueue[T]) consume(
	ctx context.Context, handler func(context.Context, T) error, failed func(any, error),
) {
	var retry backoff
	for {
		v, err := q.Take(ctx)
		switch {
		case err == nil:
			retry.reset()
			handle(context.WithoutCancel(ctx), handler, v, failed)
		case ctx.Err() != nil || errors.Is(err, ErrClosed):
			return
		case errors.As(err, new(*DecodeError)):
			failed(nil, err) // the next value is another matter
		default:
			failed(nil, err)
			if pause(ctx, retry.next()) != nil {
				return
			}
		}
	}
}

// handle calls handler and reports how it failed.
func handle[T any](ctx context.Context, handler func(context.Context, T) error, v T, failed func(any, error)) {
	err := errGoexit
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
		if err != nil {
			failed(v, err)
		}
	}()
	err = handler(ctx, v)
}
