package dq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
)

// What Redisson says of the destination, a client says of what waits; a faithful one does
// as Redisson.
func TestObjectMethodsActOnWhatWaits(t *testing.T) {
	b := setup(t)
	rdb, ctx := b.redis, deadline(t)
	safe, faithful := b.delayed(t), setupOn(t, b.server, "orders", dq.WithFaithful()).delayed(t)

	ttl, err := safe.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.Equal(t, dq.NoSuchKey, ttl)
	require.NoError(t, safe.Offer(ctx, "a", time.Hour))
	for d, want := range map[*dq.DelayedQueue[string]]bool{safe: true, faithful: false} {
		exists, err := d.Exists(ctx)
		require.NoError(t, err)
		require.Equal(t, want, exists)
		touched, err := d.Touch(ctx)
		require.NoError(t, err)
		require.Equal(t, want, touched)
	}
	ttl, err = safe.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.Equal(t, dq.NoExpiry, ttl)
	ttl, err = faithful.RemainTimeToLive(ctx)
	require.NoError(t, err)
	require.Equal(t, dq.NoSuchKey, ttl)

	require.ErrorIs(t, safe.Rename(ctx, "other"), dq.ErrUnsupported)
	_, err = safe.RenameNX(ctx, "other")
	require.ErrorIs(t, err, dq.ErrUnsupported)
	require.ErrorContains(t, faithful.Rename(ctx, "other"), "no such key")
	require.NoError(t, rdb.RPush(ctx, "orders", "x").Err())
	require.NoError(t, rdb.RPush(ctx, "taken", "y").Err())
	renamed, err := faithful.RenameNX(ctx, "taken")
	require.NoError(t, err)
	require.False(t, renamed)
	require.NoError(t, faithful.Rename(ctx, "other"))
	require.EqualValues(t, 1, rdb.LLen(ctx, "other").Val())

	require.NoError(t, rdb.RPush(ctx, "orders", "x").Err())
	unlinked, err := faithful.Unlink(ctx)
	require.NoError(t, err)
	require.True(t, unlinked)
	n, err := safe.Size(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "what waits stays")
	unlinked, err = safe.Unlink(ctx)
	require.NoError(t, err)
	require.True(t, unlinked)
	require.Zero(t, rdb.Exists(ctx, "redisson_delay_queue:{orders}", "redisson_delay_queue_timeout:{orders}").Val())
}
