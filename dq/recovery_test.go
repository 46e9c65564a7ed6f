package dq_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

func containsBlocked(clientList string) bool { return strings.Contains(clientList, "flags=b") }

func waitBlocked(t *testing.T, rdb *redis.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return containsBlocked(rdb.ClientList(t.Context()).Val()) }, testDeadline, time.Millisecond)
}

// A head that can never come due blocks every announcement, and Redisson. Fractional scores are a foreign tool's, and announcements
// that are no numbers are another program's.
func TestScoresAndAnnouncementsOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	stuck := wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte("stuck"))
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: -9.2e18, Member: stuck}).Err())
	d := b.delayed(t)
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: math.Inf(-1), Member: append(stuck, 2)}).Err())
	for _, payload := range []string{"", "soon", "1e3", "99999999999999999999", strings.Repeat("9", 5000)} {
		require.NoError(t, b.redis.Publish(ctx, b.names.Channel, payload).Err())
	}
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		require.NoError(t, d.Offer(ctx, "behind", delay))
		require.Equal(t, []string{"behind"}, takeAll(t, ctx, b.queue, 1))
	}
	require.NoError(t, b.redis.Del(ctx, b.names.TimeoutSet).Err())
	require.NoError(t, d.Offer(ctx, "v", 2*time.Second)) // far behind the first, however slow the machine
	require.NoError(t, b.redis.ZIncrBy(ctx, b.names.TimeoutSet, 0.5, b.redis.ZRange(ctx, b.names.TimeoutSet, 0, 0).Val()[0]).Err())
	require.NoError(t, d.Offer(ctx, "first", 0))
	require.Equal(t, []string{"first", "v"}, takeAll(t, ctx, b.queue, 2))
}
