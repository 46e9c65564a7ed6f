package dq

import (
	"context"
	"fmt"
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
// In a partition that fails no value is sent behind the batch of 512 that one has failed in.
func (p *Partitioned[T]) OfferAll(ctx context.Context, delay time.Duration, values ...T) error {
	if err := p.takesOffers(delay); err != nil {
		return err
	}
	groups, err := p.share(values)
	if err != nil {
		return err
	}
	errs := make([]error, len(values))
	var sending sync.WaitGroup
	for one, group := range groups {
		sending.Go(func() {
			defer one.end()
			own := make([]T, len(group))
			for k, i := range group {
				own[k] = values[i]
			}
			for k, err := range one.delayed.offerEach(ctx, delay, own) {
				errs[group[k]] = err
			}
		})
	}
	sending.Wait()
	for _, err := range errs {
		if err != nil {
			return &OfferAllError{Errors: errs}
		}
	}
	return nil
}

// share returns which values go to which partition, of those that take offers when it begins. Each has begun,
// so that Drain waits for its end.
func (p *Partitioned[T]) share(values []T) (map[*Partition[T]][]int, error) {
	open := *p.open.Load()
	groups := make(map[*Partition[T]][]int)
	for i, value := range values {
		one := p.choose(open, value)
		if one == nil {
			return nil, ErrNoPartition
		}
		if groups[one] == nil && !one.begin() {
			for begun := range groups {
				begun.end()
			}
			p.reopen()
			return p.share(values)
		}
		groups[one] = append(groups[one], i)
	}
	return groups, nil
}

// choose returns the partition that a value goes to, nil where none is open.
func (p *Partitioned[T]) choose(open []*Partition[T], value T) *Partition[T] {
	if p.key != nil {
		return partitionOf(open, p.key(value))
	}
	if len(open) == 0 {
		return nil
	}
	return open[p.next.Add(1)%uint64(len(open))]
}

// offerEach is OfferAll that says of each value what became of it.
func (d *DelayedQueue[T]) offerEach(ctx context.Context, delay time.Duration, values []T) []error {
	errs := make([]error, len(values))
	var data [][]byte
	var which []int // of the values data is of
	for i, value := range values {
		encoded, err := d.encode(value)
		if errs[i] = err; err == nil {
			data, which = append(data, encoded), append(which, i)
		}
	}
	for done := 0; done < len(data); {
		// The first offer of a batch has the server learn the script, and waits for a server that is away.
		err := d.takesOffers(ctx)
		if err == nil {
			_, err = d.offerData(ctx, data[done], delay.Milliseconds(), d.client.patience)
		}
		errs[which[done]] = err
		done++
		if end := min(done+offerBatch-1, len(data)); err == nil && done < end {
			err = d.offerEachOf(ctx, delay, data[done:end], errs, which[done:end])
			done = end
		}
		if err != nil {
			for _, i := range which[done:] {
				errs[i] = fmt.Errorf("dq: offer to %q: not sent, as one before it failed: %v", d.dest.Name(), err) //nolint:errorlint // which may be uncertain: this one is not
			}
			return errs
		}
	}
	return errs
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
