package library

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Client is a client of dq, and the one of go-redis that it connects by, which may not be closed before it.
type Client struct {
	*dq.Client
	by goredis.UniversalClient
}

// Close closes both.
func (c *Client) Close() error { return errors.Join(c.Client.Close(), c.by.Close()) }

// Connect returns a client of the server of an address.
func Connect(d DQ, address string, more ...dq.Option) (*Client, error) {
	rdb, err := redis.NewClient(address)
	if err != nil {
		return nil, err
	}
	return On(d, rdb, more...)
}

// On is Connect by a client of go-redis, which the Client closes.
func On(d DQ, rdb goredis.UniversalClient, more ...dq.Option) (*Client, error) {
	options := []dq.Option{dq.WithRelease(d.Release.String())}
	if d.clock != nil {
		options = append(options, dq.WithClock(d.clock), dq.WithClockStepDetection(true))
	}
	if d.Faithful {
		options = append(options, dq.WithRedissonCommands())
	}
	client, err := dq.NewClient(rdb, append(options, more...)...)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &Client{client, rdb}, nil
}

// Send sends a command that dq has no method for.
func (c *Client) Send(ctx context.Context, line ...any) (any, error) {
	return c.by.Do(ctx, line...).Result()
}

// Block runs a command on the server of its first key, without a read time-out.
func (c *Client) Block(ctx context.Context, line ...any) (any, error) {
	node, _ := c.by.(*goredis.Client)
	if cluster, ok := c.by.(*goredis.ClusterClient); ok {
		var err error
		if node, err = cluster.MasterForKey(ctx, fmt.Sprint(line[1])); err != nil {
			return nil, err
		}
	}
	return node.WithTimeout(-1).Do(ctx, line...).Result()
}

// OpenFaithful begins to transfer what comes due in a queue, by a Client WithRedissonCommands.
func (c *Client) OpenFaithful(d DQ, queue string) *Faithful {
	return openFaithful(c.Client, c.by, d.Clock(), d.Release, queue)
}
