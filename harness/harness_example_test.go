package harness_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/harness"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
)

// A port's own test: here the port is dq, with two calls.
func ExampleVerify() {
	port := serve.Port[*dq.Client, *dq.Queue[[]byte]]{
		Identity: driver.Identity{Name: "my-port", Version: "1.0"},
		Connect: func(_ context.Context, a serve.Args) (*dq.Client, error) {
			options, err := redis.ParseURL(a.Redis)
			if err != nil {
				return nil, err
			}
			return dq.NewClient(redis.NewClient(options))
		},
		Open: func(_ context.Context, client *dq.Client, a serve.Args) (*dq.Queue[[]byte], error) {
			return dq.NewQueue(client, a.Queue, codec.Bytes{})
		},
		Ops: map[string]serve.Op[*dq.Queue[[]byte]]{
			"dq.offer": func(ctx context.Context, q *dq.Queue[[]byte], a serve.Args) (any, error) {
				_, err := q.Offer(ctx, a.Value, time.Duration(a.Delay)*time.Millisecond)
				return nil, err
			},
			"q.take": func(ctx context.Context, q *dq.Queue[[]byte], _ serve.Args) (any, error) { return q.Take(ctx) },
		},
	}
	report, err := harness.Verify(context.Background(), port.Serve, harness.VerifyOptions{Run: "^DQ.offer/(later|new|zero)"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Counts.Fail, "failed")
	// Output: 0 failed
}
