package dq_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// The server is killed in the middle of a pass that takes members out of the list, and again
// while they are transferred: each comes once.
func TestFaultAKillInAPass(t *testing.T) {
	t.Parallel()
	const n = 4_000
	s := redistest.Process(t, "--appendonly", "yes", "--appendfsync", "always")
	b := setupOn(t, s, "orders")
	start := time.Now().Add(3 * time.Second).UnixMilli()
	b.fill(t, wire.LayoutBc0Lc0, n, func(i int) int64 { return start + int64(i)*1000/n })
	b.delayed(t)
	u := scripts.UnlistingOf("orders")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // three restarts of a busy server
	defer cancel()
	for _, reached := range []func() bool{
		func() bool { return b.redis.Exists(ctx, u.Pass).Val() == 1 },
		func() bool { return b.redis.LLen(ctx, "orders").Val() > 0 },
		func() bool { return b.redis.LLen(ctx, "orders").Val() > n/2 },
	} {
		for !reached() {
			require.NoError(t, ctx.Err(), "it comes to that")
		}
		require.NoError(t, s.Nodes()[0].Restart(ctx))
	}
	for b.redis.LLen(ctx, "orders").Val() < n {
		require.NoError(t, ctx.Err(), "all come")
		<-time.After(10 * time.Millisecond)
	}
	all := b.redis.LRange(ctx, "orders", 0, -1).Val()
	require.Len(t, all, n)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), n, "each once")
	require.Zero(t, b.redis.Exists(ctx, b.names.Pending, b.names.TimeoutSet).Val())
}
