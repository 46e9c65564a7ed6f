package dq

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
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
	topology  topology
	clustered bool
	scheduler *scheduler

	// broken is why no call can succeed: see brokenClient.
	broken error

	// noReadScripts is set when the server turns out to be older than Redis 7.
	noReadScripts atomic.Bool

	// ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	guard  *clock.Guard // nil if the clock is not guarded

	mu     sync.Mutex
	closed bool
	// blocked counts the blocking commands under way, unwinding those among them whose
	// taker is gone, and the polls.
	blocked, unwinding sync.WaitGroup
}

// NewClient returns a Client that connects as rdb does: a *redis.Client, for a
// single server or the master that Sentinel names, or a *redis.ClusterClient. Of
// rdb's options it follows those that say where and how to connect: addresses,
// dialer, TLS, credentials, database, protocol, client name, OnConnect, and the
// dial, read and write time-outs. Its connections are its own: commands that must
// not be sent twice need connections without retries, and commands that block need
// one each.
//
// Close the Client before rdb: under Sentinel it learns of a new master through rdb,
// of which it holds one connection, and once rdb is closed every call fails and says
// so. A Client of a single server or of a Cluster does not mind.
//
// No connection is made yet. The error tells of a bad option.
func NewClient(rdb redis.UniversalClient, options ...Option) (*Client, error) {
	c := &Client{
		config: config{release: wire.Newest(), random: rand.Uint64, patience: defaultPatience},
		names:  wire.NamesOf,
	}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("dq: NewClient: option %d of %d is nil", i+1, len(options))
		}
		if err := option(&c.config); err != nil {
			return nil, err
		}
	}
	switch {
	case isNil(rdb):
		return nil, errors.New("dq: NewClient: expected a *redis.Client or a *redis.ClusterClient, got nil")
	case reflect.Indirect(reflect.ValueOf(rdb)).IsZero():
		return nil, fmt.Errorf("dq: NewClient: expected a client of redis.NewClient or its like, got a zero value %T", rdb)
	}
	c.ctx, c.cancel = context.WithCancel(context.WithValue(context.Background(), logKey{}, func(line string) { c.tell(Logged{line}) }))
	switch rdb := rdb.(type) {
	case *redis.Client:
		if rdb.Options().Addr == failoverAddr {
			c.topology = newSentinelTopology(c.ctx, rdb)
		} else {
			c.topology = newSingleTopology(c.ctx, rdb.Options())
		}
	case *redis.ClusterClient:
		c.topology, c.clustered = newClusterTopology(c.ctx, rdb), true
	default:
		c.cancel()
		return nil, fmt.Errorf("dq: NewClient: expected a *redis.Client or a *redis.ClusterClient, got %T", rdb)
	}
	c.guardClock()
	c.scheduler = newScheduler(c)
	return c, nil
}

// Release returns the Redisson release that the Client is compatible with.
func (c *Client) Release() string { return c.release.String() }

// Close stops all transfers, wakes every blocked Take with ErrClosed and closes
// the connections. Values stay in Redis. It takes up to about 3 s where the server
// does not answer, and for a user who may not send CLIENT UNBLOCK.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.cancel()
	c.mu.Unlock()

	c.scheduler.wait()
	// Blocked commands are ended, and values put back, over the shared links, so these
	// go last.
	if c.guard != nil {
		c.guard.Wait()
	}
	c.blocked.Wait()
	c.unwinding.Wait()
	c.topology.close()
	return nil
}

// isNil reports whether an interface holds nothing, or a nil that no call can succeed on.
func isNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer:
		return r.IsNil()
	default:
		return false
	}
}

// hold has Close wait until release is called; ErrClosed after Close.
func (c *Client) hold() (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	c.unwinding.Add(1)
	return c.unwinding.Done, nil
}

// enter counts a blocking command, unless no command can be sent.
func (c *Client) enter(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	if c.closed {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.blocked.Add(1)
	return nil
}
