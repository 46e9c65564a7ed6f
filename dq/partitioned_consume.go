package dq

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// PartitionedConsumeOptions says how Consume of a Partitioned works.
type PartitionedConsumeOptions struct {
	// ConsumeOptions is as for a BlockingQueue; Workers bounds the values of all partitions together.
	ConsumeOptions
	// Ordered has no two values of one partition handled at the same time, so that those of one key come to
	// the handler in order, one after the other, as far as no other process takes from the partition.
	Ordered bool
}

// PartitionedReliableOptions says how ConsumeReliably of a Partitioned works.
type PartitionedReliableOptions struct {
	// ReliableOptions is as for a ReliableQueue, of which each partition has one.
	ReliableOptions
	// ReliableConsumeOptions is as for Consume of a ReliableQueue; Workers bounds the messages of all partitions
	// together. Its Failed is called for sweeps too where that of ReliableOptions is nil.
	ReliableConsumeOptions
	// Ordered has no two messages of one partition handled at the same time. One that fails comes again behind
	// others, though.
	Ordered bool
}

// Consume takes values from all partitions and calls handler for each until ctx ends, as BlockingQueue.Consume
// does, with one connection that waits for each partition.
//
// Partitions in which values are ready take turns, value by value. What came while no worker was free goes back to
// the front of its queue after 5 ms, and what was taken with others and whose turn has not come, after 50 ms. A
// server that is away or stands still, which Failed is told, holds up its own partitions alone, and a worker for
// 50 ms each time that it is asked; Pause of a partition has nothing taken from it.
func (p *Partitioned[T]) Consume(
	ctx context.Context, handler func(context.Context, T) error, options PartitionedConsumeOptions,
) error {
	if p.err != nil {
		return p.err
	}
	if err := options.check(p.all[0].Name(), handler == nil); err != nil {
		return err
	}
	return p.consume(ctx, options.Workers, options.Ordered, options.Failed, func(one *Partition[T]) (source, error) {
		own := options.ConsumeOptions
		if one.queue.client.strict {
			own.Prefetch = 1
		}
		return newTakingSource(newConsumer(one.queue, handler, own)), nil
	})
}

// ConsumeReliably reserves messages of all partitions and calls handler for each until ctx ends, as Consume of a
// ReliableQueue does. Meanwhile it puts back what others have held too long. Partitions take turns as in Consume, and
// what no worker becomes free for goes back as there, without having counted as an attempt: nothing is held before
// there is a worker for it. A server that stands still holds up the workers that have messages of it, for the
// time-out of the call that settles these.
//
// Dead letters are those of each partition: NewReliableQueue of its Queue has them.
func (p *Partitioned[T]) ConsumeReliably(
	ctx context.Context, handler Handler[T], options PartitionedReliableOptions,
) error {
	if p.err != nil {
		return p.err
	}
	consuming := &options.ReliableConsumeOptions
	if err := consuming.check(p.all[0].Name(), handler == nil); err != nil {
		return err
	}
	if failed := consuming.Failed; options.ReliableOptions.Failed == nil {
		options.ReliableOptions.Failed = func(err error) { failed(nil, err) }
	}
	return p.consume(ctx, consuming.Workers, options.Ordered, consuming.Failed, func(one *Partition[T]) (source, error) {
		queue := NewReliableQueue(one.queue, options.ReliableOptions)
		return newReservingSource(newReliableConsumer(ctx, queue, handler, *consuming).worker()), queue.Err()
	})
}

// source is where the values of one partition come from, and what keeps those that it has taken, for a moment. One
// goroutine calls it.
type source interface {
	// next returns what handles a value that is kept, nil for none, and errReturning where values are going back.
	next(ctx context.Context) (handle func(context.Context), err error)
	// fetch keeps values that are there. free says that there was a worker for one at once, so that one may as
	// well be waited for; if not, it is looked whether one is there.
	fetch(ctx context.Context, free bool) error
	// wait waits for a value, and keeps it, or what fetch needs to have it.
	wait(ctx context.Context) error
	// keeps reports whether next or fetch is to be called, though ctx has ended.
	keeps() bool
	close()
}

// consume runs a source for each partition until ctx ends.
func (p *Partitioned[T]) consume(
	ctx context.Context, workers int, ordered bool, failed func(any, error), sourceOf func(*Partition[T]) (source, error),
) error {
	sources := make([]source, 0, len(p.all))
	defer func() {
		for _, s := range sources {
			s.close()
		}
	}()
	for _, one := range p.all {
		s, err := sourceOf(one)
		sources = append(sources, s)
		if err != nil {
			return err
		}
	}
	places := make(places, max(workers, 1))
	var running sync.WaitGroup
	for i, one := range p.all {
		f := &feed{source: sources[i], places: places, ordered: ordered, failed: failed, handling: context.WithoutCancel(ctx)}
		running.Go(func() {
			one.whileTaking(ctx, f.run)
			f.handlers.Wait()
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return ErrClosed
}

// places are those of the handlers that run at the same time. Who waits for one gets it in turn.
type places chan struct{}

// take waits for a place, and reports whether one was free at once.
func (p places) take(ctx context.Context) (free bool, err error) {
	select {
	case p <- struct{}{}:
		return true, nil
	default:
	}
	select {
	case p <- struct{}{}:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (p places) leave() { <-p }

// askTime is for how long a feed keeps a place while it asks its server: longer than one that is well takes.
const askTime = 50 * time.Millisecond

// errReturning says that values which were taken are going back, which a server may take long for.
var errReturning = errors.New("dq: values are going back")

// feed has the values of one partition handled.
type feed struct {
	source
	places   places
	ordered  bool
	failed   func(any, error)
	handling context.Context // of the handlers
	handlers sync.WaitGroup
}

// run feeds until ctx ends, and handles what it has taken until then.
func (f *feed) run(ctx context.Context) {
	var retry backoff
	for {
		err := f.once(ctx)
		switch {
		case err == nil:
			retry.reset()
		case errors.As(err, new(*DecodeError)):
			f.failed(nil, err) // the next value is another matter
		case ctx.Err() != nil || errors.Is(err, ErrClosed):
			if !f.keeps() {
				return
			}
		default:
			f.failed(nil, err)
			_ = pause(ctx, retry.next())
		}
	}
}

// once has a value handled that is there, or waits for one, without a place for its handler.
func (f *feed) once(ctx context.Context) error {
	until := ctx
	if f.keeps() {
		until = f.handling // what was taken is handled
	} else if err := ctx.Err(); err != nil {
		return err
	}
	free, err := f.places.take(until)
	if err != nil {
		return err
	}
	handle, err := f.next(f.handling)
	if handle == nil && err == nil {
		// A server that stands still holds up no worker: the place goes to another partition meanwhile.
		left := time.AfterFunc(askTime, f.places.leave)
		err = f.fetch(ctx, free)
		switch inTime := left.Stop(); {
		case !inTime && (err != nil || f.keeps()):
			return err
		case !inTime:
			return f.wait(ctx)
		case err == nil:
			handle, err = f.next(f.handling)
		}
	}
	if handle == nil {
		f.places.leave()
		if errors.Is(err, errReturning) {
			f.keeps() // waits until they are back, or are not
			return nil
		}
		if err == nil {
			err = f.wait(ctx)
		}
		return err
	}
	done := make(chan struct{})
	f.handlers.Go(func() {
		defer close(done)
		defer f.places.leave()
		handle(f.handling)
	})
	if f.ordered {
		<-done
	}
	return nil
}

// fetch keeps several that are there, as many as want says: free is that of source.fetch.
func fetch[V comparable](
	ctx context.Context, free bool, ahead *prefetched[V], want *prefetch, several func(context.Context, int) (V, error),
) error {
	n := want.next()
	if !free {
		n = max(n, 1)
	}
	if n == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	var none V
	first, err := several(ctx, n)
	if first != none {
		ahead.keepFirst(first)
	}
	return err
}

// takingSource takes from a BlockingQueue.
type takingSource[T any] struct {
	*consumer[T]
	awaited *prefetched[any] // the one that was waited for
}

func newTakingSource[T any](c *consumer[T]) *takingSource[T] {
	return &takingSource[T]{consumer: c, awaited: newPrefetched(awaitedHeld, c.putBack)}
}

func (s *takingSource[T]) next(context.Context) (func(context.Context), error) {
	reply, ok, busy := s.awaited.tryPop()
	if !ok && !busy {
		reply, ok, busy = s.ahead.tryPop()
	}
	switch {
	case busy:
		return nil, errReturning
	case !ok:
		return nil, nil
	}
	v, err := s.decode(reply)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { s.handle(ctx, v) }, nil
}

func (s *takingSource[T]) fetch(ctx context.Context, free bool) error {
	return fetch(ctx, free, s.ahead, &s.want, s.several)
}

func (s *takingSource[T]) wait(ctx context.Context) error {
	s.want.one()
	name := s.queue.Name()
	for {
		reply, err := s.queue.client.block(ctx, name, forever, "BLPOP", name, "0")
		if err != nil {
			return in("take", name, err)
		}
		if pair, ok := reply.([]any); ok && len(pair) == 2 {
			s.awaited.keep(pair[1:])
			return nil
		}
	}
}

func (s *takingSource[T]) keeps() bool { return s.awaited.holds() || s.ahead.holds() }

func (s *takingSource[T]) close() {}

// reservingSource takes from a ReliableQueue.
type reservingSource[T any] struct {
	*reliableWorker[T]
	awaited *prefetched[string] // the one that was waited for, which is moved and held by nobody
	decoded *Delivery[T]        // the latest of those that were waited for
}

func newReservingSource[T any](w *reliableWorker[T]) *reservingSource[T] {
	s := &reservingSource[T]{reliableWorker: w}
	s.awaited = newPrefetched(awaitedHeld, s.putBack)
	return s
}

func (s *reservingSource[T]) next(ctx context.Context) (func(context.Context), error) {
	d, ok, busy := s.ahead.tryPop()
	switch {
	case busy:
		return nil, errReturning
	case !ok:
		return nil, nil
	}
	if d != s.decoded {
		if err := s.decode(ctx, d); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) { s.handle(ctx, d) }, nil
}

func (s *reservingSource[T]) fetch(ctx context.Context, free bool) error {
	if value, ok := s.awaited.pop(); ok {
		d, err := s.queue.holdValue(ctx, value)
		if s.decoded = d; d != nil {
			s.ahead.keepFirst(d)
		}
		return in("reserve", s.queue.dest.Name(), err)
	}
	return fetch(ctx, free, s.ahead, &s.want, s.several)
}

func (s *reservingSource[T]) wait(ctx context.Context) error {
	s.want.one()
	value, err := s.queue.move(ctx)
	if err != nil {
		return in("reserve", s.queue.dest.Name(), err)
	}
	s.awaited.keep([]string{value})
	return nil
}

// putBack gives back what was moved. Where nobody knows whether the server has, it goes back by itself, as what
// a consumer that is gone has moved.
func (s *reservingSource[T]) putBack(moved []string) bool {
	client, names := s.queue.client, s.queue.names
	release, err := client.hold()
	if err != nil {
		return false
	}
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), prefetchReturn)
	defer cancel()
	_, err = client.runOwn(ctx, callLane, putBackScript, []string{s.queue.dest.Name(), names.Moved, names.MovedBefore}, moved[0])
	if errors.As(err, new(resp.Error)) || errors.Is(err, errUnsent) {
		s.Failed(nil, in("release", s.queue.dest.Name(), err))
		return false // it is handled here
	}
	client.tellReturned(s.queue.dest.Name(), moved, err)
	if err != nil {
		s.Failed(nil, in("release", s.queue.dest.Name(), err))
	}
	return true
}

func (s *reservingSource[T]) keeps() bool { return s.awaited.holds() || s.ahead.holds() }

func (s *reservingSource[T]) close() {
	s.reliableConsumer.close()
	_ = s.queue.Close()
}
