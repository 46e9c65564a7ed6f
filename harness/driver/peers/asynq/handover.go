package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/driver"
)

// connections is the pool of the one client that a queue uses for everything.
const connections = 64

// connect opens a client and sees that the server answers.
func connect(ctx context.Context, url string) (*redis.Client, error) {
	opt, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	opt.PoolSize = max(opt.PoolSize, connections)
	rdb := redis.NewClient(opt)
	if err := rdb.Ping(ctx).Err(); err != nil {
		rdb.Close()
		return nil, fmt.Errorf("redis: %w", err)
	}
	return rdb, nil
}

// moduleVersion is the version of a module in this program, without its v; "unknown" in a binary that was built without modules.
func moduleVersion(module string) string {
	info, _ := debug.ReadBuildInfo()
	if info != nil {
		for _, dep := range info.Deps {
			if dep.Path == module {
				return strings.TrimPrefix(dep.Version, "v")
			}
		}
	}
	return "unknown"
}

// errClosed is a handler's error if its queue closes before a taker arrives.
var errClosed = errors.New("the queue was closed before a taker arrived")

// handover passes messages from handlers, each of which waits until its message is taken, to takers.
type handover struct {
	handed  chan []byte
	closed  chan struct{}
	closing sync.Once
}

// newHandover makes one that is open.
func newHandover() *handover {
	return &handover{handed: make(chan []byte), closed: make(chan struct{})}
}

// give waits for a taker. It fails with errClosed, or with what ended ctx.
func (h *handover) give(ctx context.Context, value []byte) error {
	select {
	case <-h.closed: // also when a taker is there
		return errClosed
	default:
	}
	select {
	case h.handed <- value:
		return nil
	case <-h.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take waits for a handler. It fails with driver.ErrClosed, or with what ended ctx.
func (h *handover) take(ctx context.Context) ([]byte, error) {
	select {
	case value := <-h.handed:
		return value, nil
	case <-h.closed:
		return nil, driver.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close sends everybody away; it says whether this call was the first.
func (h *handover) close() (first bool) {
	h.closing.Do(func() {
		close(h.closed)
		first = true
	})
	return first
}
