package dq

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Client is the root of the queues of one Redis: it owns their connections and
// their scheduler. It is safe for use by many goroutines.
type Client struct {
	config
	names     func(string) wire.Names
	router    router
	scheduler *scheduler

	// noReadScripts is set when the server turns out to be older than Redis 7.
	noReadScripts atomic.Bool

	// ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	// blocked counts the blocking commands under way.
	blocked sync.WaitGroup

	mu   sync.Mutex
	idle map[string][]*soloConn // blocking connections at rest, by server; nil when closed
}

// NewClient returns a Client that connects as rdb does: a *redis.Client, for a
// single server or Sentinel, or a *redis.ClusterClient. It takes rdb's options,
// not its connections, because commands that must not be sent twice need a pool
// without retries, and blocking commands a pool without time-outs; rdb may be
// closed before the Client.
//
// No connection is made yet. The error tells of a bad option.
func NewClient(rdb redis.UniversalClient, options ...Option) (*Client, error) {
	c := &Client{
		config: config{release: wire.Newest(), clock: clock.System(), ids: randomID, limit: transferLimit},
		names:  wire.NamesOf,
		idle:   make(map[string][]*soloConn),
	}
	for _, option := range options {
		if err := option(&c.config); err != nil {
			return nil, err
		}
	}
	switch rdb := rdb.(type) {
	case *redis.Client:
		c.router = newSingleRouter(rdb)
	case *redis.ClusterClient:
		c.router = newClusterRouter(rdb)
	default:
		return nil, fmt.Errorf("dq: expected a *redis.Client or a *redis.ClusterClient, got %T", rdb)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.scheduler = newScheduler(c)
	return c, nil
}

// Release returns the Redisson release that the Client is compatible with.
func (c *Client) Release() string { return c.release.String() }

// Close stops all transfers, wakes every blocked Take with ErrClosed and closes
// the connections. Values stay in Redis.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.idle == nil {
		c.mu.Unlock()
		return nil
	}
	c.cancel()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()

	for _, list := range idle {
		for _, s := range list {
			s.close()
		}
	}
	c.scheduler.wait()
	// Blocked commands are unblocked through the router, so it goes last.
	c.blocked.Wait()
	return c.router.close()
}

// do runs one command on the server that owns key, once.
func (c *Client) do(ctx context.Context, key string, args ...any) (any, error) {
	if c.ctx.Err() != nil {
		return nil, ErrClosed
	}
	return c.router.do(ctx, key, args)
}
