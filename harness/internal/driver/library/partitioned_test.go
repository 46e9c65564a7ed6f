package library_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/library"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A Partitioned under load does all that a queue does, and its Store sees every partition.
func TestPartitioned(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	srv := redistest.Redis(t)
	options, err := redis.ParseURL(srv.URL())
	require.NoError(t, err)
	rdb := redis.NewClient(options)
	defer rdb.Close()
	d := library.DQ{Release: wire.Newest(), Partitions: 3}
	queues, err := d.Open(ctx, driver.Target{RedisURL: srv.URL()}, "a", "b")
	require.NoError(t, err)
	q, store := queues[0], d.Store(rdb, "a")

	for i := range 6 {
		require.NoError(t, q.Offer(ctx, fmt.Append(nil, i), time.Hour))
	}
	held, err := store.Held(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 6, held)
	seen := 0
	require.NoError(t, store.Values(ctx, func([]byte) { seen++ }))
	require.Equal(t, 6, seen)
	removed, err := q.(driver.Remover).Remove(ctx, []byte("4"))
	require.NoError(t, err)
	require.True(t, removed)
	removed, err = q.(driver.Remover).Remove(ctx, []byte("4"))
	require.NoError(t, err)
	require.False(t, removed)
	require.NoError(t, store.Clear(ctx))
	require.Empty(t, rdb.Keys(ctx, "*").Val())

	require.NoError(t, q.Offer(ctx, []byte("polled"), 0))
	require.Eventually(t, func() bool {
		v, ok, err := q.(driver.Poller).Poll(ctx)
		return err == nil && ok && string(v) == "polled"
	}, 10*time.Second, time.Millisecond)

	for i := range 9 {
		require.NoError(t, q.Offer(ctx, fmt.Append(nil, i), 0))
	}
	taken := map[string]bool{}
	for range 9 {
		v, err := q.Take(ctx)
		require.NoError(t, err)
		taken[string(v)] = true
	}
	require.Len(t, taken, 9)
	ended, end := context.WithCancel(ctx)
	end()
	_, err = q.Take(ended)
	require.ErrorIs(t, err, context.Canceled)

	// What comes when nobody takes any more stays on the server.
	require.NoError(t, q.Offer(ctx, []byte("left"), 0))
	for _, q := range queues {
		require.NoError(t, q.Close())
		require.NoError(t, q.Close())
	}
	held, err = store.Held(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, held)
}
