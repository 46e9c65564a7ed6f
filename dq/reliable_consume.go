package dq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
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
	// Prefetch is how many messages a worker holds at most at a time, itself included, where a backlog
	// shows: no more than it handles in about 5 ms, and at first 2, then twice as many each time. 0 means
	// 100, 1 takes each by itself, and less is an error. With a Visibility below 1 s, or with MaxAttempts 1,
	// it is 1. A message that was held before is held by itself: see ReliableOptions.MaxAttempts.
	Prefetch int
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

// check returns what is wrong with a Consume, and sets what is not given.
func (o *ReliableConsumeOptions) check(queue string, noHandler bool) error {
	switch {
	case noHandler:
		return fmt.Errorf("dq: Consume of %q: expected a handler, got nil", queue)
	case o.Workers < 0:
		return fmt.Errorf("dq: Consume of %q: expected 0 or more Workers, got %d", queue, o.Workers)
	case o.Prefetch < 0:
		return fmt.Errorf("dq: Consume of %q: expected 0 or more Prefetch, got %d", queue, o.Prefetch)
	}
	if o.Prefetch == 0 {
		o.Prefetch = defaultPrefetch
	}
	if o.Backoff == nil {
		o.Backoff = DefaultBackoff
	}
	if o.Failed == nil {
		o.Failed = func(any, error) {}
	}
	return nil
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
// When handler returns nil the message is acknowledged, while the worker goes on; a process that is killed may
// have handled a few whose acknowledgement was still on its way. One that was held before, and each with
// MaxAttempts 1, is acknowledged before the worker goes on. When it returns an error, panics or ends its
// goroutine, the message goes back through the delayed queue after Backoff; with MaxAttempts attempts,
// or a *PermanentError, it becomes a dead letter. A handler may settle its message itself. Handler.With puts middleware around it.
//
// Of several that were reserved at a time, those whose turn has not come after 50 ms go back to the front of
// the queue, in their order, without having counted as an attempt: a Returned event.
//
// Handlers get a context that does not end with ctx but with what they hold: at the Deadline, or with
// KeepHeld as soon as an extension finds that the message is not held any more. Consume returns when
// the last one has. After Client.Close it returns ErrClosed.
func (q *ReliableQueue[T]) Consume(
	ctx context.Context, handler Handler[T], options ReliableConsumeOptions,
) error {
	if q.err != nil {
		return q.err
	}
	if err := options.check(q.dest.Name(), handler == nil); err != nil {
		return err
	}
	c := newReliableConsumer(ctx, q, handler, options)
	var workers sync.WaitGroup
	for range max(options.Workers, 1) {
		w := c.worker()
		workers.Go(func() { w.work(ctx) })
	}
	workers.Wait()
	c.close()
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// reliableConsumer is one Consume.
type reliableConsumer[T any] struct {
	ReliableConsumeOptions
	queue   *ReliableQueue[T]
	handler Handler[T]
	done    chan *Delivery[T] // to be acknowledged

	acknowledging sync.WaitGroup
}

func newReliableConsumer[T any](
	ctx context.Context, q *ReliableQueue[T], handler Handler[T], options ReliableConsumeOptions,
) *reliableConsumer[T] {
	if q.options.Visibility < prefetchVisibility || q.options.MaxAttempts == 1 {
		options.Prefetch = 1 // of those held ahead, the end of the process would make dead letters
	}
	c := &reliableConsumer[T]{queue: q, handler: handler, ReliableConsumeOptions: options, done: make(chan *Delivery[T], mostUnacknowledged)}
	c.acknowledging.Go(func() { c.acknowledge(context.WithoutCancel(ctx)) })
	return c
}

func (c *reliableConsumer[T]) worker() *reliableWorker[T] {
	w := &reliableWorker[T]{reliableConsumer: c, want: newPrefetch(c.Prefetch)}
	w.ahead = newPrefetched(prefetchHeld, w.release)
	return w
}

// close waits until all that was done is acknowledged.
func (c *reliableConsumer[T]) close() {
	close(c.done)
	c.acknowledging.Wait()
}

const (
	// prefetchVisibility is from which Visibility on several messages are held at a time.
	prefetchVisibility = time.Second
	// mostUnacknowledged is for how many messages that were handled the workers go on.
	mostUnacknowledged = 1000
	// acknowledgedAtOnce bounds one call.
	acknowledgedAtOnce = 200
)

// acknowledge sends what is done at once, or, while the call before it is under way, with what gets done
// meanwhile.
func (c *reliableConsumer[T]) acknowledge(ctx context.Context) {
	for d := range c.done {
		all := []*Delivery[T]{d}
		for range min(len(c.done), acknowledgedAtOnce-1) {
			if d, ok := <-c.done; ok {
				all = append(all, d)
			}
		}
		settling, cancel := context.WithTimeout(ctx, returnTimeout)
		for i, err := range c.queue.settleAll(settling, "ack", all) {
			if err != nil {
				c.Failed(all[i].Value, err)
			}
		}
		cancel()
	}
}

// reliableWorker is one of them.
type reliableWorker[T any] struct {
	*reliableConsumer[T]
	want  prefetch
	ahead *prefetched[*Delivery[T]]
}

func (c *reliableWorker[T]) work(ctx context.Context) {
	var retry backoff
	for {
		d, err := c.next(ctx)
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

// next returns the next message: of those that are held, of several that are there, or the one that comes.
func (c *reliableWorker[T]) next(ctx context.Context) (*Delivery[T], error) {
	d, ok := c.ahead.pop()
	if n := c.want.next(); !ok && n > 0 && ctx.Err() == nil {
		first, err := c.several(ctx, n)
		if err != nil {
			return nil, err
		}
		d, ok = first, first != nil
	}
	if !ok {
		c.want.one()
		return c.queue.Reserve(ctx)
	}
	return d, c.decode(ctx, d)
}

// several holds up to n messages that are there, returns the first, nil for none, and keeps the others.
func (c *reliableWorker[T]) several(ctx context.Context, n int) (first *Delivery[T], err error) {
	held, err := c.queue.holdNext(ctx, n)
	switch {
	case err == nil:
		c.want.came(n, len(held))
	case errors.As(err, new(resp.Error)):
		c.want.refused() // what is wrong with one at a time as well, Reserve will say
	case !errors.Is(err, errUnsent):
		return nil, in("reserve", c.queue.dest.Name(), err)
	}
	if len(held) == 0 {
		return nil, nil
	}
	c.ahead.keep(held[1:])
	return held[0], nil
}

func (c *reliableWorker[T]) decode(ctx context.Context, d *Delivery[T]) error {
	decoding, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout)
	defer cancel()
	return in("reserve", c.queue.dest.Name(), d.decode(decoding))
}

// release gives back messages whose turn has not come. Where nobody knows whether the server has taken
// them, they go back when Visibility is over.
func (c *reliableWorker[T]) release(rest []*Delivery[T]) bool {
	client, name := c.queue.client, c.queue.dest.Name()
	release, err := client.hold()
	if err != nil {
		return false
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), prefetchReturn)
	defer cancel()
	errs := c.queue.settleAll(ctx, "release", rest)
	if errors.As(errs[0], new(resp.Error)) || errors.Is(errs[0], errUnsent) {
		return false // they are handled here
	}
	for i, d := range rest {
		client.tellReturned(name, []string{string(d.data)}, errs[i])
		if errs[i] != nil {
			c.Failed(nil, errs[i])
		}
	}
	return true
}

// handle runs the handler in a goroutine of its own, which it may end, and settles the message.
func (c *reliableWorker[T]) handle(ctx context.Context, d *Delivery[T]) {
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
	took := time.Since(began)
	c.want.handled(took)
	c.queue.client.tell(Handled{Queue: c.queue.dest.Name(), Attempt: d.Attempt, Took: took, Err: err})
	stop(nil)
	keeping.Wait()
	if err != nil {
		c.Failed(d.Value, err)
	} else if d.Attempt == 1 && c.queue.options.MaxAttempts != 1 && !d.settled.Load() {
		c.done <- d
		return
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
	case err == nil: // it is done before the next one begins, which may end the process
		return d.Ack(ctx)
	case errors.As(err, new(*PermanentError)):
		return d.Bury(ctx, err.Error())
	}
	return d.Nack(ctx, c.wait(d), err.Error())
}

// wait is Backoff for a message, and DefaultBackoff where that panics.
func (c *reliableConsumer[T]) wait(d *Delivery[T]) (wait time.Duration) {
	defer func() {
		if p := recover(); p != nil {
			c.Failed(d.Value, fmt.Errorf("dq: Backoff: %w", &PanicError{Value: p, Stack: debug.Stack()}))
			wait = DefaultBackoff(d.Attempt)
		}
	}()
	return max(c.Backoff(d.Attempt), 0)
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
