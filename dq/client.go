package dq

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// Client is the root of the queues of one Redis: it owns their connections and their scheduler. It is safe for use by many goroutines.
type Client struct {
	config
	conns     *conn.Conns
	scheduler *scheduler

	// noReadScripts is set when the server turns out to be older than Redis 7.
	noReadScripts atomic.Bool
	// waits is set once the server has shown that it can do as WithDurability says.
	waits atomic.Bool

	ctx   context.Context   // ends with Close
	guard *clock.StepFilter // nil if the clock is not guarded
}

// NewClient returns a Client that connects as rdb does: a *redis.Client, for a single server or the master that Sentinel names, or a
// *redis.ClusterClient. Of rdb's options it follows the ones for connections: addresses, dialer, TLS, credentials, database, protocol,
// client name, OnConnect, and the dial, read and write time-outs. Its connections are its own: commands that must not be sent twice need
// connections without retries, and commands that block need one each.
//
// Close the Client before rdb. Under Sentinel, the Client learns of new masters through one connection of rdb; once
// rdb is closed, every call fails and says so. With a single server or a Cluster the order is free. The Client
// logs nothing, but go-redis logs a failover client's sentinel messages.
//
// NewClient does not connect. Its error names a bad option.
func NewClient(rdb redis.UniversalClient, options ...Option) (*Client, error) {
	c := &Client{
		config: config{release: wire.Newest(), random: rand.Uint64, conn: conn.Usual},
	}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("dq: NewClient: option %d of %d is nil", i+1, len(options))
		}
		if err := option(&c.config); err != nil {
			return nil, err
		}
	}
	c.conn.Returned = c.tellReturned
	conns, err := conn.New(rdb, c.conn)
	if err != nil {
		return nil, fmt.Errorf("dq: NewClient: %w", err)
	}
	c.conns, c.ctx = conns, conns.Context()
	c.guardClock()
	c.scheduler = newScheduler(c)
	return c, nil
}

// Release returns the Redisson release that the Client is compatible with.
func (c *Client) Release() string { return c.release.String() }

// Close stops all transfers, wakes every blocked Take with ErrClosed and closes the connections. Values stay in Redis. Close takes up to
// about 3 s if the server does not answer, or if the user may not send CLIENT UNBLOCK; up to 6 s if a value must go back to a slow server.
func (c *Client) Close() error {
	c.conns.Stop()
	c.scheduler.goroutines.Wait()
	if c.guard != nil {
		c.guard.Wait()
	}
	c.conns.Wait()
	return nil
}

// isNil reports whether an interface holds nothing, or a nil that no call can succeed on.
func isNil(v any) bool {
	r := reflect.ValueOf(v)
	return !r.IsValid() || slices.Contains([]reflect.Kind{reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer}, r.Kind()) && r.IsNil()
}

// do runs one command on the server that owns key. A nil reply is returned as nil.
func (c *Client) do(ctx context.Context, key string, args ...any) (any, error) {
	return c.one(ctx, conn.Request{Key: key, Commands: [][]any{args}})
}

// one runs a request of a single command.
func (c *Client) one(ctx context.Context, r conn.Request) (any, error) {
	replies, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	return replies[0], nil
}

// send runs a request, and returns the first error of its commands.
func (c *Client) send(ctx context.Context, r conn.Request) ([]any, error) {
	replies := c.conns.Send(ctx, r)
	for _, reply := range replies {
		if err, failed := reply.(error); failed {
			return nil, err
		}
	}
	return replies, nil
}

func (c *Client) tellReturned(key string, values []string, err error) {
	for _, v := range values {
		c.tell(Requeued{Queue: key, Value: []byte(v), Err: uncertain(err)})
	}
}
