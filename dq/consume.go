package dq

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ConsumeOptions says how Consume works.
type ConsumeOptions struct {
	// Workers is the number of values handled at the same time; 0 means 1, and less is
	// an error.
	Workers int
	// Prefetch is how many values a worker takes at most at a time: one by BLPOP, or where
	// more are there, several by LPOP with a count. It takes no more than it handles in about
	// 5 ms, and at first 2, then twice as many each time, so that other consumers get theirs.
	// 0 means 100, 1 takes each value by itself, and less is an error. So many of each
	// worker are lost at most with a connection that is cut, or when the process is killed.
	Prefetch int
	// Failed is called when a value cannot be decoded, a handler returns an error,
	// panics (a *PanicError) or ends its goroutine, or the server cannot be reached, which Consume
	// goes on from. value is nil unless a handler had it. It may be called by many
	// workers at once; nil ignores failures.
	Failed func(value any, err error)
}

// check returns what is wrong with a Consume, and sets what is not given.
func (o *ConsumeOptions) check(queue string, noHandler bool) error {
	switch {
	case noHandler:
		return fmt.Errorf("dq: Consume of %q: expected a handler, got nil", queue)
	case o.Workers < 0:
		return fmt.Errorf("dq: Consume of %q: expected 0 or more Workers, got %d", queue, o.Workers)
	case o.Prefetch < 0:
		return fmt.Errorf("dq: Consume of %q: expected 0 or more Prefetch, got %d", queue, o.Prefetch)
	}
	if o.Failed == nil {
		o.Failed = func(any, error) {}
	}
	if o.Prefetch == 0 {
		o.Prefetch = defaultPrefetch
	}
	return nil
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
// ctx's error then. A value that was popped is handled: handlers get a
// context that does not end with ctx, and Consume returns when the last one has.
// After Client.Close it returns ErrClosed.
//
// Of several that were taken at a time, those whose turn has not come after 50 ms, because a
// handler takes longer than those before it did, go back to the front of the queue, in their
// order: a Returned event. They are handled after all where the server refuses that. A
// process that is killed loses those with the one that it handles, and a connection that is cut
// loses all that the server popped for it and it has not brought: up to Prefetch values of each worker.
//
// A value whose handler fails is gone from Redis, as with Redisson's take; Failed
// has it.
func (q *BlockingQueue[T]) Consume(
	ctx context.Context, handler func(context.Context, T) error, options ConsumeOptions,
) error {
	if q.err != nil {
		return q.err
	}
	if err := options.check(q.Name(), handler == nil); err != nil {
		return err
	}
	if q.client.strict {
		options.Prefetch = 1
	}
	var workers sync.WaitGroup
	for range max(options.Workers, 1) {
		w := newConsumer(q, handler, options)
		workers.Go(func() { w.work(ctx, &workers) })
	}
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}
