package dq

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

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
	if err := c.usable(ctx); err != nil {
		return nil, err
	}
	replies := c.conns.Send(ctx, r)
	for _, reply := range replies {
		switch err, failed := reply.(error); {
		case failed && ctx.Err() != nil && redis.HasErrorPrefix(err, "NOSCRIPT"):
			return nil, fmt.Errorf("%w: %w", conn.ErrUnsent, ctx.Err()) // there was no time to load it
		case failed:
			return nil, c.explain(err)
		}
	}
	return replies, nil
}

// usable returns why no command can be sent at all.
func (c *Client) usable(ctx context.Context) error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	return ctx.Err()
}

// explain replaces what a closed Client's connections report by ErrClosed, if nothing was sent.
func (c *Client) explain(err error) error {
	if c.ctx.Err() != nil && errors.Is(err, conn.ErrUnsent) {
		return ErrClosed
	}
	return err
}

// block runs a command that blocks, here without its time-out: see conn.Block.
func (c *Client) block(ctx context.Context, key string, command ...any) (any, error) {
	reply, err := c.conns.Block(ctx, key, command...)
	if err != nil && ctx.Err() == nil {
		err = c.explain(err)
	}
	return reply, err
}

func (c *Client) tellReturned(key string, values []string, err error) {
	for _, v := range values {
		c.tell(Requeued{Queue: key, Value: []byte(v), Err: uncertain(err)})
	}
}

// uncertain marks an error after which a value may be queued.
func uncertain(err error) error {
	if errors.Is(err, conn.ErrLost) && !errors.Is(err, ErrUncertain) {
		return fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	return err
}
