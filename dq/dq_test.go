package dq_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// fixed is a source that draws the same number for ever.
type fixed uint64

func (f fixed) Uint64() uint64 { return uint64(f) }

func TestOfferedValueIsPackedAndLaterMoved(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"2.15.2", "3.16.6", "3.21.0", "3.21.1", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			id := [8]byte{7, 'r', 0, '"', 0xff, '\r', '\n', 1}
			b := setup(t, dq.WithRelease(release), dq.WithRandom(fixed(binary.LittleEndian.Uint64(id[:]))))
			ctx := deadline(t)
			d := b.delayed(t)

			before := time.Now().UnixMilli()
			require.NoError(t, d.Offer(ctx, "hello", time.Hour))
			after := time.Now().UnixMilli()

			r, err := wire.LookupRelease(release)
			require.NoError(t, err)
			if r.Layout() == wire.LayoutDLc0 {
				// The number travels as decimal text and becomes a double.
				id = wire.DoubleID(0x010a0dff22007207)
			}
			member := string(r.Layout().Pack(id, []byte("hello")))
			set, err := b.redis.ZRangeWithScores(ctx, b.names.TimeoutSet, 0, -1).Result()
			require.NoError(t, err)
			require.Len(t, set, 1)
			require.Equal(t, member, set[0].Member)
			require.InDelta(t, float64(before+after)/2+3.6e6, set[0].Score, float64(after-before)/2)
			pending, err := b.redis.LRange(ctx, b.names.Pending, 0, -1).Result()
			require.NoError(t, err)
			require.Equal(t, []string{member}, pending)
			n, err := d.Size(ctx)
			require.NoError(t, err)
			require.Equal(t, 1, n)

			require.NoError(t, d.Offer(ctx, "now", 0))
			got, err := b.queue.Take(ctx)
			require.NoError(t, err)
			require.Equal(t, "now", got)
			n, err = b.queue.Size(ctx)
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}

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
