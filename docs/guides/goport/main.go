// Command goport is a port of RDelayedQueue in Go, of one offer, one take and a task
// that transfers, as a program of the driver protocol: docs/guides/port.md.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
)

func main() {
	port := serve.Port[*Client, *Queue]{
		Identity: driver.Identity{Name: "goport", Version: "1"},
		Connect:  func(_ context.Context, url string) (*Client, error) { return Connect(url) },
		Open: func(_ context.Context, c *Client, name string, delayed bool) (*Queue, error) {
			return c.Queue(name, delayed), nil
		},
		Ops: map[string]serve.Op[*Queue]{
			"dq.offer": func(ctx context.Context, q *Queue, a serve.Args) (any, error) {
				if !a.Has("delay") || a.Delay < 0 {
					return nil, errDelay
				}
				return nil, q.Offer(ctx, a.Value, time.Now().UnixMilli()+int64(a.Delay))
			},
			"dq.size": func(ctx context.Context, q *Queue, _ serve.Args) (any, error) { return q.Waiting(ctx) },
			"q.take":  func(ctx context.Context, q *Queue, _ serve.Args) (any, error) { return q.Take(ctx) },
			"q.size":  func(ctx context.Context, q *Queue, _ serve.Args) (any, error) { return q.Size(ctx) },
		},
	}
	if err := port.Serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}
