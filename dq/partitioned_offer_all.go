package dq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// OfferAllError tells what became of each value of a Partitioned's OfferAll, one of which at least may not be
// queued.
type OfferAllError struct {
	// Errors has for each value, in their order, nil where it is queued, an error that wraps ErrUncertain where
	// it may be, and any other one where it is not.
	Errors []error
}

func (e *OfferAllError) Error() string {
	failures := e.Unwrap()
	return fmt.Sprintf("dq: %d of %d values are not known to be queued: %v", len(failures), len(e.Errors), failures[0])
}

// Unwrap returns the errors that are not nil.
func (e *OfferAllError) Unwrap() []error {
	var failures []error
	for _, err := range e.Errors {
		if err != nil {
			failures = append(failures, err)
		}
	}
	return failures
}

// OfferAll queues values, all due after delay: those of each partition in their order over one connection, those
// of different partitions at the same time. nil says that all are queued. Otherwise it is an *OfferAllError that
// says what became of each, or, where none was sent, ErrNoPartition or another one that concerns all of them.
// In a partition that fails no value is sent behind the batch of 512 that one has failed in. Without a Key those
// that a partition refuses, or does not answer about, and that are certain not to be queued, go to the others.
func (p *Partitioned[T]) OfferAll(ctx context.Context, delay time.Duration, values ...T) error {
	if err := p.takesOffers(delay); err != nil {
		return err
	}
	all := &offerAll[T]{of: p, delay: delay, values: values, errs: make([]error, len(values)), failed: map[*Partition[T]]bool{}}
	which := make([]int, len(values))
	for i := range which {
		which[i] = i
	}
	var retry backoff
	for began := time.Now(); len(which) > 0; {
		again, err := all.round(ctx, which)
		switch {
		case err == nil:
			if which = again; len(which) > 0 && all.everyFailed() && !all.waits(ctx, which, began, &retry) {
				which = nil
			}
		case len(which) == len(values):
			return err
		default:
			which = nil // some were sent, and of these the errors are known
		}
	}
	for _, err := range all.errs {
		if err != nil {
			return &OfferAllError{Errors: all.errs}
		}
	}
	return nil
}

// offerAll is one OfferAll.
type offerAll[T any] struct {
	of     *Partitioned[T]
	delay  time.Duration
	values []T
	errs   []error
	failed map[*Partition[T]]bool
}

// everyFailed reports whether no partition is left to be offered to.
func (a *offerAll[T]) everyFailed() bool {
	return !slices.ContainsFunc(*a.of.open.Load(), func(one *Partition[T]) bool { return !a.failed[one] })
}

// waits has all partitions be offered to again, in a while, and reports whether time may have one of them take the values.
func (a *offerAll[T]) waits(ctx context.Context, which []int, began time.Time, retry *backoff) bool {
	left := a.of.all[0].queue.client.patience - time.Since(began)
	curable := slices.ContainsFunc(which, func(i int) bool { return passes(a.errs[i]) })
	clear(a.failed)
	return curable && left > 0 && !a.of.closed.Load() && pause(ctx, min(retry.next(), left)) == nil
}

// round offers those of the values to the partitions of their keys, or without a Key to those that have not failed.
// It returns which of them are to be offered to others.
func (a *offerAll[T]) round(ctx context.Context, which []int) (again []int, err error) {
	open := a.of.inTurn()
	if a.of.key == nil {
		open = slices.DeleteFunc(open, func(one *Partition[T]) bool { return a.failed[one] })
		if well := slices.IndexFunc(open, func(one *Partition[T]) bool { return one.refuses() == 1 }); well > 0 {
			open = open[:well]
		}
	}
	groups, drained, err := a.share(which, open)
	switch {
	case err != nil:
		return nil, err
	case drained:
		return a.round(ctx, which)
	}
	defer func() {
		for _, group := range groups {
			group.one.end()
		}
	}()
	for _, group := range groups {
		group.encode()
	}
	var sending sync.WaitGroup
	for _, group := range groups {
		patience := time.Duration(0)
		if a.of.key != nil {
			patience = group.one.queue.client.patience
		}
		sending.Go(func() { group.send(ctx, patience) })
	}
	sending.Wait()
	if a.of.key != nil {
		return nil, nil
	}
	for _, group := range groups {
		for _, i := range group.which {
			if refusedByOne(ctx, a.errs[i]) {
				a.failed[group.one] = true
				again = append(again, i)
			}
		}
	}
	slices.Sort(again)
	return again, nil
}

// share returns which values go to which of the partitions. Each of these has begun, so that Drain waits for its
// end; drained says that one is being drained since, so that none has.
func (a *offerAll[T]) share(which []int, open []*Partition[T]) (groups []*offerGroup[T], drained bool, err error) {
	of := map[*Partition[T]]*offerGroup[T]{}
	shared := false
	defer func() {
		if !shared { // Key may panic
			for _, group := range groups {
				group.one.end()
			}
		}
	}()
	for n, i := range which {
		one := a.choose(open, n, a.values[i])
		if one == nil {
			return groups, false, ErrNoPartition
		}
		group := of[one]
		if group == nil {
			if !one.begin() {
				a.of.reopen()
				return groups, true, nil
			}
			group = &offerGroup[T]{offerAll: a, one: one}
			of[one], groups = group, append(groups, group)
		}
		group.which = append(group.which, i)
	}
	shared = true
	return groups, false, nil
}

// choose returns the partition that the nth value goes to, nil where none is open.
func (a *offerAll[T]) choose(open []*Partition[T], n int, value T) *Partition[T] {
	switch {
	case len(open) == 0:
		return nil
	case a.of.key == nil:
		return open[n%len(open)]
	case !isPlain(value) && isNull(value):
		return open[0] // which refuses it: Key need know nothing of nil
	}
	return partitionOf(open, a.of.key(value))
}

// offerGroup is the values of one partition.
type offerGroup[T any] struct {
	*offerAll[T]
	one   *Partition[T]
	which []int

	data [][]byte
	sent []int // which of the values data is of
}

// encode is called by the caller of OfferAll, who may recover from a codec that panics.
func (g *offerGroup[T]) encode() {
	for _, i := range g.which {
		data, err := g.one.delayed.encode(g.values[i])
		if err != nil {
			g.errs[i] = &valueError{err}
			continue
		}
		g.data, g.sent, g.errs[i] = append(g.data, data), append(g.sent, i), nil
	}
}

// send says of each value what became of it.
func (g *offerGroup[T]) send(ctx context.Context, patience time.Duration) {
	d := g.one.delayed
	for done := 0; done < len(g.data); {
		// The first offer of a batch has the server learn the script, and waits for a server that is away.
		err := d.takesOffers(ctx)
		if err == nil {
			_, err = d.offerData(ctx, g.data[done], g.delay.Milliseconds(), patience)
		}
		g.errs[g.sent[done]] = err
		done++
		if end := min(done+offerBatch-1, len(g.data)); err == nil && done < end {
			err = d.offerEachOf(ctx, g.delay, g.data[done:end], g.errs, g.sent[done:end])
			done = end
		}
		g.one.note(err)
		if err != nil {
			for _, i := range g.sent[done:] {
				g.errs[i] = unsentBehind(d.dest.Name(), err)
			}
			return
		}
	}
}

// unsentBehind is the error of a value that was not sent, as one before it failed: also where that one is uncertain.
func unsentBehind(queue string, err error) error {
	if errors.Is(err, ErrUncertain) {
		return fmt.Errorf("dq: offer to %q: not sent, as one before it failed: %v", queue, err) //nolint:errorlint // this one is certain
	}
	return fmt.Errorf("dq: offer to %q: not sent, as one before it failed: %w", queue, err)
}

// offerEachOf offers a batch, notes what became of each value, and returns a failure of any of them.
func (d *DelayedQueue[T]) offerEachOf(ctx context.Context, delay time.Duration, data [][]byte, errs []error, which []int) error {
	replies, err := d.offerBatchData(ctx, delay, data)
	if err != nil {
		replies = make([]any, len(data))
		for k := range replies {
			replies[k] = err
		}
	}
	var failed error
	for k, reply := range replies {
		if err, bad := reply.(error); bad {
			errs[which[k]] = offerError(d.dest.Name(), d.client.explain(err))
			failed = errs[which[k]]
		}
	}
	return failed
}
