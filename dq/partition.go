package dq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// ErrResumed is wrapped by the error of a Drain that Resume has ended.
var ErrResumed = errors.New("dq: the partition takes offers again")

// Partition is one queue of a Partitioned: an ordinary BlockingQueue with a DelayedQueue in front of it.
//
// Pause, Drain and Resume are for the Partitioned of this process alone. Nothing of it is written to Redis, and
// other processes do as they are told themselves.
type Partition[T any] struct {
	queue   *BlockingQueue[T]
	delayed *DelayedQueue[T]
	of      *Partitioned[T]
	drained atomic.Bool               // takes no offers
	refused atomic.Pointer[time.Time] // when it last did not take an offer; nil where it took one since

	mu       sync.Mutex
	offering int             // calls of the Partitioned that offer to it
	taking   context.Context // ends with Pause
	pause    context.CancelFunc
	resumed  chan struct{}   // closed by Resume; nil where there is no pause
	draining context.Context // ends with the reason why Drain does; nil where nobody drains
	undrain  context.CancelCauseFunc
}

func newPartition[T any](of *Partitioned[T], queue *BlockingQueue[T], delayed *DelayedQueue[T]) *Partition[T] {
	p := &Partition[T]{of: of, queue: queue, delayed: delayed}
	p.taking, p.pause = context.WithCancel(context.Background())
	return p
}

// Name returns the name of the destination queue.
func (p *Partition[T]) Name() string { return p.queue.Name() }

// Slot returns the slot of the partition's keys in a Redis Cluster, 0 to 16383.
func (p *Partition[T]) Slot() int { return wire.Slot(p.queue.Name()) }

// Queue returns the destination queue.
func (p *Partition[T]) Queue() *BlockingQueue[T] { return p.queue }

// Delayed returns the delayed queue, which Close of the Partitioned closes. An offer to it goes to this
// partition, whether that is being drained or not.
func (p *Partition[T]) Delayed() *DelayedQueue[T] { return p.delayed }

// Pause has Consume and ConsumeReliably take nothing more from this partition, but what is on its way. Offers
// go on, and so do transfers to the destination queue.
func (p *Partition[T]) Pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resumed == nil {
		p.resumed = make(chan struct{})
		p.pause()
	}
}

// Resume ends Pause, and a Drain, also one that waits: ErrResumed.
func (p *Partition[T]) Resume() {
	p.mu.Lock()
	if p.resumed != nil {
		p.taking, p.pause = context.WithCancel(context.Background())
		close(p.resumed)
		p.resumed = nil
	}
	p.mu.Unlock()
	p.endDrain(ErrResumed)
}

// endDrain has it take offers again.
func (p *Partition[T]) endDrain(why error) {
	p.mu.Lock()
	if p.draining != nil {
		p.undrain(why)
		p.draining = nil
		p.drained.Store(false)
	}
	p.mu.Unlock()
	p.of.reopen()
}

// drain has no more offered to it until the context ends.
func (p *Partition[T]) drain() context.Context {
	p.mu.Lock()
	if p.draining == nil {
		p.draining, p.undrain = context.WithCancelCause(context.Background())
		p.drained.Store(true)
	}
	draining := p.draining
	p.mu.Unlock()
	p.of.reopen()
	return draining
}

// begin notes that the Partitioned offers to it, until end, and reports false where it is being drained.
func (p *Partition[T]) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drained.Load() {
		return false
	}
	p.offering++
	return true
}

func (p *Partition[T]) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.offering--
}

func (p *Partition[T]) offers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offering
}

// note takes note of how an offer went.
func (p *Partition[T]) note(err error) {
	if err != nil {
		now := time.Now()
		p.refused.Store(&now)
	} else if p.refused.Load() != nil {
		p.refused.Store(nil)
	}
}

// refuses is 1 for a second after an offer that the partition did not take, else 0.
func (p *Partition[T]) refuses() int {
	if when := p.refused.Load(); when != nil && time.Since(*when) < time.Second {
		return 1
	}
	return 0
}

// whileTaking calls take with a context that ends with ctx or with a pause, again after each pause, until ctx
// ends or the Client is closed.
func (p *Partition[T]) whileTaking(ctx context.Context, take func(context.Context)) {
	for ctx.Err() == nil && p.queue.client.ctx.Err() == nil {
		p.mu.Lock()
		taking, resumed := p.taking, p.resumed
		p.mu.Unlock()
		if resumed != nil {
			select {
			case <-resumed:
			case <-ctx.Done():
			case <-p.queue.client.ctx.Done():
			}
			continue
		}
		both, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(taking, cancel)
		take(both)
		stop()
		cancel()
	}
}

// drainLook is the pause between two looks of Drain, and so many in a row must find nothing: within that time a value
// comes to a worker though each of a hundred processes takes it for 5 ms and returns it (see Consume).
const (
	drainLook  = 200 * time.Millisecond
	drainLooks = 6
)

// Drain has the Partitioned offer nothing more to this partition, whose keys go to the others, and waits until
// the offers to it that are under way have ended and then all looks of one second find the partition empty, for
// consumers of this process or of others: what one of them has taken and returns is in no key meanwhile.
// progress, unless it is nil, is told at first and whenever a look, each 200 ms, finds other counts; a look that
// fails is made again.
//
// When ctx ends, its error says what was left, and the partition still takes no offers, until Resume. That ends a
// Drain with ErrResumed, and Close of the Partitioned, or of its Client, with ErrClosed. Producers
// in other processes, of Java among them, go on until they are told too: only then is the partition empty for
// good, and can be left out by all of them.
func (p *Partition[T]) Drain(ctx context.Context, progress func(PartitionState)) error {
	draining := p.drain()
	looking, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(draining, cancel)()
	if p.of.closed.Load() {
		return ErrClosed
	}
	var last *PartitionState
	var failed error // of the latest look
	for empty := 0; empty < drainLooks; {
		offers := p.offers() // before it is looked what they have left
		state, err := p.State(looking)
		switch {
		case err != nil && looking.Err() == nil:
			failed = err
		case err == nil:
			failed = nil
			if progress != nil && (last == nil || state != *last) {
				progress(state)
			}
			last = &state
			empty++
			if offers > 0 || !state.Empty() {
				empty = 0
			}
		}
		err = pause(looking, drainLook)
		switch {
		case draining.Err() != nil:
			return in("drain", p.Name(), context.Cause(draining))
		case p.queue.client.ctx.Err() != nil:
			return ErrClosed
		case err == nil:
		case failed != nil:
			return in("drain", p.Name(), fmt.Errorf("%w: %w", err, failed))
		case last == nil:
			return in("drain", p.Name(), err)
		default:
			return in("drain", p.Name(), fmt.Errorf("%w: %d wait, %d are ready and %d held; %d calls offer more",
				err, last.Waiting, last.Ready, last.Held, offers))
		}
	}
	return nil
}

// PartitionState is what a partition holds, and what its Partitioned does with it.
type PartitionState struct {
	// Waiting is how many messages wait for their time, unlisted ones too (see Auto), Ready how many for a
	// consumer, and Held how many the consumers of a ReliableQueue hold.
	Waiting, Ready, Held int
	// Paused and Draining are of this process: see Pause and Drain.
	Paused, Draining bool
}

// Empty reports whether no message is left. Dead letters of a ReliableQueue do not count.
func (s PartitionState) Empty() bool { return s.Waiting+s.Ready+s.Held == 0 }

// State asks the server, in one transaction: ZCARD of the timeout set, LLEN of the destination queue, and the
// lengths of what a ReliableQueue holds.
func (p *Partition[T]) State(ctx context.Context) (PartitionState, error) {
	s := PartitionState{Draining: p.drained.Load()}
	p.mu.Lock()
	s.Paused = p.resumed != nil
	p.mu.Unlock()
	n, r := p.queue.names, scripts.ReliableNamesOf(p.queue.Name())
	replies, err := p.queue.client.transaction(ctx, n.Destination, []any{"ZCARD", n.TimeoutSet}, []any{"LLEN", n.Destination},
		[]any{"ZCARD", r.Held}, []any{"LLEN", r.Moved}, []any{"LLEN", r.MovedBefore})
	if err != nil {
		return s, in("state", p.Name(), err)
	}
	for i, count := range []*int{&s.Waiting, &s.Ready, &s.Held, &s.Held, &s.Held} {
		length, err := replyInt(replies[i], nil)
		if err != nil {
			return s, in("state", p.Name(), err)
		}
		*count += int(length)
	}
	return s, nil
}
