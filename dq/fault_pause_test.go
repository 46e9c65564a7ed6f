package dq_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A server whose writes are paused postpones BLPOP, and ends itself when it is asked to
// unblock that client. A graceful fail-over in a cluster is such a pause.
func TestFaultAPausedServerSurvivesTakesThatEnd(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(ctx context.Context, c *dq.Client, q *dq.Taker[string]){
		"cancelled": func(ctx context.Context, _ *dq.Client, q *dq.Taker[string]) {
			ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			_, _ = q.Take(ctx)
		},
		"PollWithin": func(ctx context.Context, _ *dq.Client, q *dq.Taker[string]) {
			_, _ = q.PollWithin(ctx, 200*time.Millisecond)
		},
		"in its second turn": func(ctx context.Context, _ *dq.Client, q *dq.Taker[string]) {
			ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
			defer cancel()
			_, _ = q.Take(ctx)
		},
		"closed": func(ctx context.Context, c *dq.Client, q *dq.Taker[string]) {
			taken := make(chan struct{})
			go func() { _, _ = q.Take(ctx); close(taken) }()
			<-time.After(200 * time.Millisecond) // of blocking
			_ = c.Close()
			<-taken
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Process(t)
			b := setupOn(t, s, "orders")
			client, err := dq.NewClient(connect(t, s.URL()), quick())
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			q := dq.NewTaker(client, "orders", codec.String{})
			ctx := deadline(t)
			for range 2 { // the second time, with connections that are there already
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", 3000, "WRITE").Err())
				take(ctx, client, q)
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "UNPAUSE").Err())
				require.NoError(t, b.redis.RPush(ctx, "orders", "v").Err(), "the server lives")
				require.Eventually(t, func() bool { return b.redis.LLen(ctx, "orders").Val() == 1 }, testDeadline, time.Millisecond,
					"and a taker that is gone took nothing")
				require.NoError(t, b.redis.Del(ctx, "orders").Err())
			}
		})
	}
}
