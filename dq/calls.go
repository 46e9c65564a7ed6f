package dq

import (
	"context"

	"github.com/dq-bench/dq-bench/dq/internal/conn"
)

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
