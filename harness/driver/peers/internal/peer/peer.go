// Package peer holds what the programs of this module share: libraries that call
// a handler for each message, where a driver's queue is asked for the next one.
package peer

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

// Connect opens a client and sees that the server answers.
func Connect(ctx context.Context, url string) (*redis.Client, error) {
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

// Version is the version of a module in this program, without its v; "unknown"
// in a binary that was built without modules.
func Version(module string) string {
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

// ErrClosed is what a handler hears when its queue is closed before a taker came.
var ErrClosed = errors.New("the queue was closed before a taker came")

// Handover passes messages from handlers, each of which waits until its message
// is taken, to takers.
type Handover struct {
	handed  chan []byte
	closed  chan struct{}
	closing sync.Once
}

// NewHandover makes one that is open.
func NewHandover() *Handover {
	return &Handover{handed: make(chan []byte), closed: make(chan struct{})}
}

// Give waits for a taker. It fails with ErrClosed, or with what ended ctx.
func (h *Handover) Give(ctx context.Context, value []byte) error {
	select {
	case <-h.closed: // also when a taker is there
		return ErrClosed
	default:
	}
	select {
	case h.handed <- value:
		return nil
	case <-h.closed:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Take waits for a handler. It fails with driver.ErrClosed, or with what ended
// ctx.
func (h *Handover) Take(ctx context.Context) ([]byte, error) {
	select {
	case value := <-h.handed:
		return value, nil
	case <-h.closed:
		return nil, driver.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close sends everybody away; it says whether this call was the first.
func (h *Handover) Close() (first bool) {
	h.closing.Do(func() {
		close(h.closed)
		first = true
	})
	return first
}
