package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// Driver returns the port as a driver, to make load with: its ops dq.offer and q.take, and q.poll and dq.remove if
// it has them. The queues that are opened together share a client, which ends with the last of them.
func (p Port[C, Q]) Driver() driver.Driver { return portDriver[C, Q]{p} }

type portDriver[C io.Closer, Q any] struct{ port Port[C, Q] }

func (d portDriver[C, Q]) Identity() driver.Identity { return d.port.Identity }

// readyPatience is how long to wait for the first transfers. If they fail, as on members of a layout that the
// release cannot read, the queue takes offers all the same, and a load shows their fate.
const readyPatience = 500 * time.Millisecond

func (d portDriver[C, Q]) Open(ctx context.Context, redisURL string, names ...string) ([]driver.Queue, error) {
	client, err := d.port.Connect(ctx, Args{Redis: redisURL})
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	open := new(atomic.Int64)
	open.Store(int64(len(names)))
	queues, all := make([]driver.Queue, len(names)), make([]Q, len(names))
	for i, name := range names {
		if all[i], err = d.port.Open(ctx, client, Args{Queue: name, Delayed: true}); err != nil {
			return nil, errors.Join(err, client.Close())
		}
		queues[i] = measured[Q]{ops: d.port.Ops, queue: all[i], client: client, open: open}
	}
	for _, queue := range all {
		if q, waits := any(queue).(interface{ Ready(context.Context) error }); waits {
			if err := q.Ready(waiting); err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
				return nil, errors.Join(err, client.Close())
			}
		}
	}
	return queues, nil
}

// measured is a queue of a Port under load.
type measured[Q any] struct {
	ops    map[string]Op[Q]
	queue  Q
	client io.Closer
	open   *atomic.Int64 // queues of the client that are not closed
}

// given has the arguments of a call under load, for Args.Has.
var given = map[string]json.RawMessage{"value": json.RawMessage("{}"), "delay": json.RawMessage("0")}

func (m measured[Q]) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	_, err := m.ops["dq.offer"](ctx, m.queue, Args{Value: value, Delay: Integer(delay.Milliseconds()), given: given})
	return err
}

func (m measured[Q]) Take(ctx context.Context) ([]byte, error) {
	value, err := call[[]byte](ctx, m, "q.take", Args{})
	if err == nil && value == nil {
		err = errors.New("q.take: expected a value as the result of the op, got nil")
	}
	return value, err
}

// Poll is for a port with q.poll.
func (m measured[Q]) Poll(ctx context.Context) ([]byte, bool, error) {
	value, err := call[[]byte](ctx, m, "q.poll", Args{})
	return value, err == nil && value != nil, err
}

// Remove is for a port with dq.remove.
func (m measured[Q]) Remove(ctx context.Context, value []byte) (bool, error) {
	return call[bool](ctx, m, "dq.remove", Args{Value: value, given: given})
}

// call runs an op whose result is a T or nil.
func call[T, Q any](ctx context.Context, m measured[Q], op string, a Args) (value T, err error) {
	result, err := m.ops[op](ctx, m.queue, a)
	value, ok := result.(T)
	if err == nil && !ok && result != nil {
		err = fmt.Errorf("%s: expected a %T as the result of the op, got %T", op, value, result)
	}
	return value, err
}

// Close closes the client with its last queue.
func (m measured[Q]) Close() error {
	if m.open.Add(-1) == 0 {
		return m.client.Close()
	}
	return nil
}
