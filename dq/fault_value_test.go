package dq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
)

// TestFaultNilIsNoValue: a poll of Redisson returns null where there is no value.
func TestFaultNilIsNoValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	values, err := java.NewKryo5[any]()
	require.NoError(t, err)
	queue := dq.NewTaker(b.client, "orders", values)
	delayed := dq.NewSender(queue)
	lists := dq.NewTaker(b.client, "orders", codec.JSON[[]string]{})
	for _, offer := range []func() error{
		func() error { return queue.Offer(ctx, nil) },
		func() error { return delayed.Offer(ctx, nil, time.Second) },
		func() error { return delayed.Offer(ctx, (*int32)(nil), time.Second) },
		func() error { _, err := delayed.OfferAll(ctx, time.Second, nil, "a"); return err },
		func() error { return lists.Offer(ctx, nil) },
	} {
		err := offer()
		require.ErrorIs(t, err, dq.ErrNilValue)
		require.NotErrorIs(t, err, dq.ErrUncertain)
	}
	require.Empty(t, b.redis.Keys(ctx, "*orders*").Val())
}
