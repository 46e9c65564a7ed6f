package dq_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestTransfersLastAsLongAsAnyoneUsesTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	first, second := b.delayed(t), b.delayed(t)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "a second Close counts once")
	require.ErrorIs(t, first.Offer(ctx, "x", 0), dq.ErrClosed)
	require.ErrorIs(t, first.Ready(ctx), dq.ErrClosed)

	require.NoError(t, second.Offer(ctx, "while open", 0))
	v, err := b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "while open", v)

	require.NoError(t, second.Close())
	require.Eventually(t, func() bool {
		channels, err := b.redis.PubSubChannels(ctx, "*").Result()
		return err == nil && len(channels) == 0
	}, testDeadline, time.Millisecond)

	third := b.delayed(t)
	require.NoError(t, third.Offer(ctx, "opened again", 0))
	v, err = b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "opened again", v)
	require.NoError(t, b.client.Close())
	require.ErrorIs(t, third.Ready(ctx), dq.ErrClosed)
	require.ErrorIs(t, dq.NewSender(b.queue).Ready(ctx), dq.ErrClosed)
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.ErrorIs(t, b.delayed(t).Offer(t.Context(), "x", -1), dq.ErrNegativeDelay)

	_, err := dq.NewClient(b.redis, dq.WithRelease("3.16.9"))
	var unknown *wire.ReleaseError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "3.16.8", unknown.Nearest.String())
	ring := redis.NewRing(&redis.RingOptions{})
	t.Cleanup(func() { require.NoError(t, ring.Close()) })
	_, err = dq.NewClient(ring)
	require.ErrorContains(t, err, "*redis.Ring")
}
