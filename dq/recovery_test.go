package dq_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func containsBlocked(clientList string) bool { return strings.Contains(clientList, "flags=b") }

func TestALostReplyNeverOffersTwice(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	rdb := redis.NewClient(&redis.Options{
		Addr: p.Addr, ReadTimeout: 2 * time.Second, MaxRetries: 5,
	})
	defer rdb.Close()
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	defer client.Close()
	b := setupOn(t, s, "orders")
	d := b.delayed(t)
	through := dq.NewSender(dq.NewTaker(client, "orders", codec.String{}))
	require.NoError(t, through.Ready(deadline(t)))
	require.NoError(t, through.Offer(t.Context(), "replied", time.Hour))

	p.Set(proxy.Fault{Drop: proxy.Replies}, nil)
	err = through.Offer(t.Context(), "not replied", time.Hour)
	require.ErrorIs(t, err, dq.ErrUncertain)
	p.Reset()
	n, err := d.Size(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n, "each offer is there once")
}

func TestTransferRunsAfterAReconnect(t *testing.T) {
	t.Parallel()
	lost := make(chan error, 100)
	subscribed := make(chan string, 100)
	b := setup(t,
		on(func(e dq.Disconnected) { lost <- e.Err }),
		on(func(e dq.Subscribed) { subscribed <- e.Queue }))
	ctx := deadline(t)
	b.delayed(t)
	require.Equal(t, "orders", <-subscribed)

	// A member that nobody announces, as one whose announcement was lost.
	member := wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte("unannounced"))
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: 1, Member: member}).Err())
	require.NoError(t, b.redis.RPush(ctx, b.names.Pending, member).Err())
	require.NoError(t, b.redis.ClientKillByFilter(ctx, "TYPE", "pubsub").Err())

	require.Error(t, <-lost)
	require.Equal(t, "orders", <-subscribed)
	v, err := b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "unannounced", v)
}

func TestTransferIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 100)
	b := setup(t, on(func(e dq.Transferred) {
		if e.Err != nil {
			failed <- e.Err
		}
	}))
	ctx := deadline(t)
	d := b.delayed(t)
	require.NoError(t, b.redis.Set(ctx, "orders", "a string", 0).Err())
	require.NoError(t, d.Offer(ctx, "v", 0))
	require.ErrorContains(t, <-failed, "WRONGTYPE")
	require.NoError(t, b.redis.Del(ctx, "orders").Err())
	v, err := b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "v", v)
}

// A head that can never come due blocks every announcement, and Redisson.
func TestAHeadWithANegativeScoreDoesNotStall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	stuck := wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte("stuck"))
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: -9.2e18, Member: stuck}).Err())
	d := b.delayed(t)
	require.NoError(t, b.redis.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: math.Inf(-1), Member: append(stuck, 2)}).Err())
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		require.NoError(t, d.Offer(ctx, "behind", delay))
		v, err := b.queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, "behind", v)
	}
}

func TestAFractionalScoreIsTransferred(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	d := b.delayed(t)
	require.NoError(t, d.Offer(ctx, "v", 2*time.Second)) // far behind the first, however slow the machine
	require.NoError(t, b.redis.ZIncrBy(ctx, b.names.TimeoutSet, 0.5,
		b.redis.ZRange(ctx, b.names.TimeoutSet, 0, 0).Val()[0]).Err())
	require.NoError(t, d.Offer(ctx, "first", 0))
	for _, want := range []string{"first", "v"} {
		v, err := b.queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
}

func TestAnnouncementsThatAreNoNumbersAreIgnored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	d := b.delayed(t)
	for _, payload := range []string{"", "soon", "1e3", "99999999999999999999", strings.Repeat("9", 5000)} {
		require.NoError(t, b.redis.Publish(ctx, b.names.Channel, payload).Err())
	}
	require.NoError(t, d.Offer(ctx, "v", time.Millisecond))
	v, err := b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "v", v)
}
