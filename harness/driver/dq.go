package driver

import (
	"context"
	"time"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/server"
)

// DQ drives the dq library, in this process.
type DQ struct {
	// Release is the Redisson release to be compatible with.
	Release wire.Release
	// Faithful follows Redisson's timing too.
	Faithful bool
	// Options are passed to dq.NewClient as well.
	Options []dq.Option
}

// Identity returns dq and the release.
func (d DQ) Identity() Identity {
	version := d.Release.String()
	if d.Faithful {
		version += ",faithful"
	}
	return Identity{Name: "dq", Version: version}
}

// Open connects and waits until the transfer task runs.
func (d DQ) Open(ctx context.Context, target Target) (Queue, error) {
	rdb, err := server.NewClient(target.RedisURL)
	if err != nil {
		return nil, err
	}
	defer rdb.Close()
	options := append([]dq.Option{dq.WithRelease(d.Release.String())}, d.Options...)
	if d.Faithful {
		options = append(options, dq.WithFaithful())
	}
	client, err := dq.NewClient(rdb, options...)
	if err != nil {
		return nil, err
	}
	destination := dq.NewBlockingQueue(client, target.Queue, codec.Bytes{})
	q := &dqQueue{client: client, destination: destination, delayed: dq.NewDelayedQueue(destination)}
	if err := q.delayed.Ready(ctx); err != nil {
		_ = client.Close()
		return nil, err
	}
	return q, nil
}

type dqQueue struct {
	client      *dq.Client
	destination *dq.BlockingQueue[[]byte]
	delayed     *dq.DelayedQueue[[]byte]
}

func (q *dqQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	return q.delayed.Offer(ctx, value, delay)
}

func (q *dqQueue) Take(ctx context.Context) ([]byte, error) { return q.destination.Take(ctx) }

func (q *dqQueue) Close() error { return q.client.Close() }
