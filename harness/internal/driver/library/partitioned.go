package library

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness/driver"
)

// maxPartitions is that of dq.Partitions.
const maxPartitions = 1024

// closing bounds what Close does at the server.
const closing = 5 * time.Second

// openPartitioned opens a dq.Partitioned for each name.
func openPartitioned(ctx context.Context, client *dq.Client, rdb io.Closer, n int, names []string) ([]driver.Queue, error) {
	queues, delayed := make([]driver.Queue, 0, len(names)), make([]*dq.DelayedQueue[[]byte], 0, n*len(names))
	var open atomic.Int64
	open.Store(int64(len(names)))
	for _, name := range names {
		p := dq.NewPartitioned(dq.Partitions(client, name, n, codec.Bytes{}), dq.PartitionedOptions[[]byte]{})
		if err := p.Err(); err != nil {
			return nil, errors.Join(err, client.Close(), rdb.Close())
		}
		for _, one := range p.Partitions() {
			delayed = append(delayed, one.Delayed())
		}
		q := &partitionedQueue{dqQueue: dqQueue{client: client, redis: rdb, open: &open}, all: p, values: make(chan []byte), ended: make(chan struct{})}
		q.consuming, q.stop = context.WithCancel(context.Background())
		queues = append(queues, q)
	}
	if err := ready(ctx, delayed); err != nil {
		return nil, errors.Join(err, client.Close(), rdb.Close())
	}
	return queues, nil
}

// partitionedQueue is a dq.Partitioned under load. Who takes gets what its Consume hands over, so that this is
// what is measured.
type partitionedQueue struct {
	dqQueue
	all       *dq.Partitioned[[]byte]
	values    chan []byte
	begin     sync.Once
	consuming context.Context // ends with Close
	stop      context.CancelFunc
	ended     chan struct{} // closed when Consume has
}

func (q *partitionedQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	return refused(q.all.Offer(ctx, value, delay))
}

// Take has Consume begin, which goes on until Close.
func (q *partitionedQueue) Take(ctx context.Context) ([]byte, error) {
	q.begin.Do(func() { go q.consume() })
	select {
	case v := <-q.values:
		return v, nil
	case <-q.ended:
		return nil, dq.ErrClosed
	case <-ctx.Done():
	}
	select {
	case v := <-q.values:
		return v, nil
	default:
		return nil, ctx.Err()
	}
}

// consume hands over one value at a time. One that nobody takes any more goes back.
func (q *partitionedQueue) consume() {
	defer close(q.ended)
	_ = q.all.Consume(q.consuming, func(_ context.Context, v []byte) error {
		select {
		case q.values <- v:
			return nil
		case <-q.consuming.Done():
			back, cancel := context.WithTimeout(context.Background(), closing)
			defer cancel()
			return q.all.Partitions()[0].Queue().OfferFirst(back, v)
		}
	}, dq.PartitionedConsumeOptions{})
}

// Poll takes a value of any partition if there is one.
func (q *partitionedQueue) Poll(ctx context.Context) ([]byte, bool, error) {
	for _, one := range q.all.Partitions() {
		value, err := one.Queue().Poll(ctx)
		if !errors.Is(err, dq.ErrEmpty) {
			return value, err == nil, err
		}
	}
	return nil, false, nil
}

// Remove cancels a message, wherever it is.
func (q *partitionedQueue) Remove(ctx context.Context, value []byte) (bool, error) {
	for _, one := range q.all.Partitions() {
		if removed, err := one.Delayed().Remove(ctx, value); removed || err != nil {
			return removed, err
		}
	}
	return false, nil
}

// Close closes the client with its last queue.
func (q *partitionedQueue) Close() error {
	q.stop()
	q.begin.Do(func() { close(q.ended) })
	<-q.ended
	return q.dqQueue.Close()
}

// partitions is the Store of a dq.Partitioned.
type partitions []driver.Keys

func storeOf(client redis.UniversalClient, name string, n int) partitions {
	all := make(partitions, n)
	for i := range all {
		all[i] = driver.Keys{Client: client, Queue: dq.PartitionName(name, i)}
	}
	return all
}

// Held adds what the partitions hold.
func (p partitions) Held(ctx context.Context) (held int64, err error) {
	for _, one := range p {
		n, err := one.Held(ctx)
		if err != nil {
			return 0, err
		}
		held += n
	}
	return held, nil
}

// Values reads one partition after the other.
func (p partitions) Values(ctx context.Context, each func(value []byte)) error {
	for _, one := range p {
		if err := one.Values(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// Clear deletes the keys of all partitions.
func (p partitions) Clear(ctx context.Context) error {
	var errs []error
	for _, one := range p {
		errs = append(errs, one.Clear(ctx))
	}
	return errors.Join(errs...)
}
