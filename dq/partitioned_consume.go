package dq

import (
	"context"
	"errors"
	"sync"
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
// Partitions in which values are ready take turns, value by value. What was taken, and for which no worker
// becomes free within 50 ms, goes back to the front of its queue. A server that is away, which Failed is told,
// holds up its own partitions alone; Pause of a partition has nothing taken from it.
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
		return &takingSource[T]{newConsumer(one.queue, handler, own)}, nil
	})
}

// ConsumeReliably reserves messages of all partitions and calls handler for each until ctx ends, as Consume of a
// ReliableQueue does. Meanwhile it puts back what others have held too long. Partitions take turns as in Consume, and
// what no worker becomes free for goes back as there, without having counted as an attempt.
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
		return &reservingSource[T]{reliableWorker: newReliableConsumer(ctx, queue, handler, *consuming).worker()}, queue.Err()
	})
}

// source is where the values of one partition come from. One goroutine calls it.
type source interface {
	// ready returns what handles a value that is there, nil for none. free says that there was a worker for it
	// at once, so that it may as well be waited for; if not, it is looked whether one is there.
	ready(ctx context.Context, free bool) (handle func(context.Context), err error)
	// wait waits for a value, and keeps it for ready.
	wait(ctx context.Context) error
	// keeps reports whether a value is kept.
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
	handle, err := f.ready(ctx, free)
	if handle == nil {
		f.places.leave()
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

// thereIs returns a value that is there: one that was taken ahead, or else the first of several; the zero value
// for none. free is that of source.ready.
func thereIs[V any](
	ctx context.Context, free bool, ahead *prefetched[V], want *prefetch, several func(context.Context, int) (V, error),
) (none V, err error) {
	if v, ok := ahead.pop(); ok {
		return v, nil
	}
	n := want.next()
	if !free {
		n = max(n, 1)
	}
	if n == 0 || ctx.Err() != nil {
		return none, ctx.Err()
	}
	return several(ctx, n)
}

// takingSource takes from a BlockingQueue.
type takingSource[T any] struct{ *consumer[T] }

func (s *takingSource[T]) ready(ctx context.Context, free bool) (func(context.Context), error) {
	reply, err := thereIs(ctx, free, s.ahead, &s.want, s.several)
	if reply == nil {
		return nil, err
	}
	v, err := s.decode(reply)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) { s.handle(ctx, v) }, nil
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
			s.ahead.keep(pair[1:])
			return nil
		}
	}
}

func (s *takingSource[T]) keeps() bool { return s.ahead.holds() }

func (s *takingSource[T]) close() {}

// reservingSource takes from a ReliableQueue.
type reservingSource[T any] struct {
	*reliableWorker[T]
	awaited *Delivery[T] // the latest that was waited for, which is decoded
}

func (s *reservingSource[T]) ready(ctx context.Context, free bool) (func(context.Context), error) {
	d, err := thereIs(ctx, free, s.ahead, &s.want, s.several)
	if d == nil {
		return nil, err
	}
	if d != s.awaited {
		if err := s.decode(ctx, d); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) { s.handle(ctx, d) }, nil
}

func (s *reservingSource[T]) wait(ctx context.Context) (err error) {
	s.want.one()
	if s.awaited, err = s.queue.Reserve(ctx); err == nil {
		s.ahead.keep([]*Delivery[T]{s.awaited})
	}
	return err
}

func (s *reservingSource[T]) keeps() bool { return s.ahead.holds() }

func (s *reservingSource[T]) close() {
	s.reliableConsumer.close()
	_ = s.queue.Close()
}
