package dq

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrNoPartition is wrapped by the error of an offer to a Partitioned all of whose partitions are being drained.
var ErrNoPartition = errors.New("dq: every partition is being drained")

// PartitionedOptions says how values are shared out.
type PartitionedOptions[T any] struct {
	// Key returns the key of a value: values of one key go to one partition (see PartitionOf), where they come
	// in the order of their due times, and in no particular order those of the same millisecond. It must be a
	// function of the value alone. nil has values go to the partitions in turn.
	Key func(T) string
}

// Partitioned is one logical queue over several ordinary ones, its partitions, which lie in different slots and
// so on different masters of a Cluster: what one server cannot carry, several can. Nothing is in Redis but the
// partitions, each of which a Java service reads and writes as the RBlockingQueue and RDelayedQueue that it is.
//
// With more partitions than before nothing is moved. The names of Partitions begin with those of fewer, so that
// what waits is still consumed; a partition that is to go is drained (Partition.Drain). Of n partitions a further
// one gets the keys of one in n+1; a key's messages from before come from where they are.
//
// Partitions may also be of several Clients, and called as you like. What one partition can be asked, such as
// Size, ReadAll, Contains or Remove, ask each of Partitions: an answer for all would be of no single moment.
// A server that is away holds up its own partitions alone; in a Cluster only if that has replicas, or runs with
// cluster-require-full-coverage no.
type Partitioned[T any] struct {
	all    []*Partition[T]
	open   atomic.Pointer[[]*Partition[T]] // those that take offers
	mu     sync.Mutex                      // of who sets open
	key    func(T) string
	next   atomic.Uint64 // whose turn it is
	err    error
	closed atomic.Bool
}

// NewPartitioned returns one logical queue over queues, such as those of the function Partitions, and opens the
// delayed queue of each: their transfer tasks run until Close.
//
// It never returns nil. What is wrong with the arguments, no queue, one that tells an Err, two of one name, Err
// tells at once, and so does every call.
func NewPartitioned[T any](queues []*BlockingQueue[T], options PartitionedOptions[T]) *Partitioned[T] {
	p := &Partitioned[T]{key: options.Key}
	p.open.Store(&p.all)
	if p.err = checkPartitions(queues); p.err != nil {
		return p
	}
	for _, queue := range queues {
		p.all = append(p.all, newPartition(p, queue, NewDelayedQueue(queue)))
	}
	p.next.Store(queues[0].client.random() >> 1) // short-lived producers do not all begin with the same one
	p.reopen()
	return p
}

func checkPartitions[T any](queues []*BlockingQueue[T]) error {
	if len(queues) == 0 {
		return errors.New("dq: NewPartitioned: expected a queue or more, got none")
	}
	names := make(map[string]bool, len(queues))
	for _, queue := range queues {
		if err := checkDelayed("NewPartitioned", queue); err != nil {
			return err
		}
		if names[queue.Name()] {
			return fmt.Errorf("dq: NewPartitioned: expected queues of different names, got %q twice", queue.Name())
		}
		names[queue.Name()] = true
	}
	return nil
}

// reopen takes note of which partitions take offers.
func (p *Partitioned[T]) reopen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := slices.DeleteFunc(slices.Clone(p.all), func(one *Partition[T]) bool { return one.drained.Load() })
	p.open.Store(&open)
}

// Err returns what was wrong with the arguments of NewPartitioned, nil for nothing.
func (p *Partitioned[T]) Err() error { return p.err }

// Close closes the delayed queue of each partition. What waits stays. End the contexts of Consume first.
func (p *Partitioned[T]) Close() error {
	p.closed.Store(true)
	for _, one := range p.all {
		one.endDrain(ErrClosed)
		_ = one.delayed.Close() // it has none
	}
	return nil
}

// Ready waits until each partition is, as DelayedQueue.Ready. The error tells of those that are not.
func (p *Partitioned[T]) Ready(ctx context.Context) error {
	if p.err != nil {
		return p.err
	}
	errs := make([]error, len(p.all))
	var waiting sync.WaitGroup
	for i, one := range p.all {
		waiting.Go(func() { errs[i] = one.delayed.Ready(ctx) })
	}
	waiting.Wait()
	return errors.Join(errs...)
}

// Partitions returns the partitions, in the order in which they were given.
func (p *Partitioned[T]) Partitions() []*Partition[T] { return slices.Clone(p.all) }

// PartitionOf returns the partition that values of a key go to: of those that are not being drained the one
// whose SHA-256 of its name, a zero byte and the key is the greatest, byte by byte. nil where all are being
// drained. So it does not matter in what order partitions are given, and where one comes or goes only its own
// keys move.
func (p *Partitioned[T]) PartitionOf(key string) *Partition[T] {
	return partitionOf(*p.open.Load(), key)
}

func partitionOf[T any](open []*Partition[T], key string) (best *Partition[T]) {
	var most [sha256.Size]byte
	var text [128]byte
	for _, one := range open {
		sum := sha256.Sum256(append(append(append(text[:0], one.Name()...), 0), key...))
		if best == nil || bytes.Compare(sum[:], most[:]) > 0 {
			best, most = one, sum
		}
	}
	return best
}

// Offer queues a value that becomes available after delay, in the partition of its key: see DelayedQueue.Offer,
// whose errors it has, and ErrNoPartition. Without a Key it goes to the partition whose turn it is, or where
// that refuses it, or does not answer, and it is certain not to be queued, to the next one that takes it. One that
// did not take a value is asked last for a second.
func (p *Partitioned[T]) Offer(ctx context.Context, value T, delay time.Duration) error {
	_, err := p.OfferTicket(ctx, value, delay)
	return err
}

// OfferTicket is Offer, and returns what Cancel takes, as DelayedQueue.OfferTicket does.
func (p *Partitioned[T]) OfferTicket(ctx context.Context, value T, delay time.Duration) (PartitionTicket, error) {
	if err := p.takesOffers(delay); err != nil {
		return PartitionTicket{}, err
	}
	if !isPlain(value) && isNull(value) {
		return PartitionTicket{}, fmt.Errorf("dq: offer: %w", ErrNilValue) // of which Key need know nothing
	}
	for {
		t, err := p.offerToOpen(ctx, value, delay)
		if !errors.Is(err, errDraining) {
			return t, err
		}
		p.reopen()
	}
}

// offerToOpen returns errDraining where the partition that it chose is being drained since.
func (p *Partitioned[T]) offerToOpen(ctx context.Context, value T, delay time.Duration) (PartitionTicket, error) {
	if p.key != nil {
		one := p.PartitionOf(p.key(value))
		if one == nil {
			return PartitionTicket{}, ErrNoPartition
		}
		return one.offer(ctx, value, delay, one.queue.client.patience)
	}
	return p.offerToAny(ctx, value, delay)
}

// offerToAny offers to one partition after the other, as long as time may have one of them take the value.
func (p *Partitioned[T]) offerToAny(ctx context.Context, value T, delay time.Duration) (PartitionTicket, error) {
	var retry backoff
	for began := time.Now(); ; {
		open := p.inTurn()
		if len(open) == 0 {
			return PartitionTicket{}, ErrNoPartition
		}
		var first error
		curable := false
		for _, one := range open {
			t, err := one.offer(ctx, value, delay, 0)
			if !refusedByOne(ctx, err) {
				return t, err
			}
			first = cmp.Or(first, err)
			curable = curable || passes(err)
		}
		left := open[0].queue.client.patience - time.Since(began)
		if errors.Is(first, errDraining) || !curable || left <= 0 || p.closed.Load() || pause(ctx, min(retry.next(), left)) != nil {
			return PartitionTicket{}, first
		}
	}
}

// inTurn returns the partitions that take offers: the one whose turn it is and those after it, but last those that
// did not take one lately.
func (p *Partitioned[T]) inTurn() []*Partition[T] {
	open := *p.open.Load()
	if len(open) == 0 {
		return nil
	}
	first := p.next.Add(1) % uint64(len(open))
	turn := append(slices.Clone(open[first:]), open[:first]...)
	slices.SortStableFunc(turn, func(a, b *Partition[T]) int { return cmp.Compare(a.refuses(), b.refuses()) })
	return turn
}

// refusedByOne reports whether a value that was offered is certain not to be queued, and another partition may
// take it.
func refusedByOne(ctx context.Context, err error) bool {
	var value *valueError
	return err != nil && ctx.Err() == nil && !errors.Is(err, ErrUncertain) && !errors.As(err, &value)
}

// valueError is what is wrong with a value, whatever it is offered to.
type valueError struct{ error }

func (e *valueError) Unwrap() error { return e.error }

func (p *Partitioned[T]) takesOffers(delay time.Duration) error {
	switch {
	case p.err != nil:
		return p.err
	case p.closed.Load():
		return ErrClosed
	case delay < 0:
		return fmt.Errorf("%w: %s", ErrNegativeDelay, delay)
	}
	return nil
}

// errDraining says that a partition has begun to be drained since it was chosen.
var errDraining = errors.New("dq: the partition is being drained")

// offer is OfferTicket with a patience of its own.
func (p *Partition[T]) offer(ctx context.Context, value T, delay, patience time.Duration) (PartitionTicket, error) {
	if !p.begin() {
		return PartitionTicket{}, errDraining
	}
	defer p.end()
	if err := p.delayed.takesOffers(ctx); err != nil {
		return PartitionTicket{}, err
	}
	data, err := p.delayed.encode(value)
	if err != nil {
		return PartitionTicket{}, &valueError{err}
	}
	t, err := p.delayed.offerData(ctx, data, delay.Milliseconds(), patience)
	p.note(err)
	return p.ticket(t, err)
}

// Cancel removes the message of a ticket: see DelayedQueue.Cancel. The ticket says in which partition it is.
func (p *Partitioned[T]) Cancel(ctx context.Context, t PartitionTicket) error {
	if p.err != nil {
		return p.err
	}
	for _, one := range p.all {
		if one.Name() == t.Partition {
			return one.delayed.Cancel(ctx, t.Ticket)
		}
	}
	return fmt.Errorf("dq: cancel: %q is none of the %d partitions", t.Partition, len(p.all))
}
