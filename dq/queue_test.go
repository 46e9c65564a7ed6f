package dq_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

func queueOf[T any](t *testing.T, b *bundle, values codec.Codec[T]) *dq.Queue[T] {
	t.Helper()
	q, err := dq.NewQueue(b.client, "orders", values)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	require.NoError(t, q.Ready(deadline(t)))
	return q
}

func TestQueueListsWaitingMessages(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"3.16.6", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dq.WithRelease(release))
			ctx := deadline(t)
			q := queueOf(t, b, codec.String{})
			later, err := q.Offer(ctx, "later", 2*time.Hour)
			require.NoError(t, err)
			soon, err := q.Offer(ctx, "soon", time.Hour)
			require.NoError(t, err)
			b.redis.ZAdd(ctx, b.names.TimeoutSet, redis.Z{Score: 1e15, Member: "no member"})

			var values []string
			var tickets []dq.Ticket
			var failed error
			for m, err := range q.Waiting(ctx) {
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				values, tickets = append(values, m.Value), append(tickets, m.Ticket)
			}
			require.Equal(t, []string{"soon", "later"}, values)
			require.Equal(t, []dq.Ticket{soon, later}, tickets)
			require.ErrorContains(t, failed, "neither a")
			require.NoError(t, q.Cancel(ctx, tickets[0]))
			require.ErrorIs(t, q.Cancel(ctx, soon), dq.ErrNotWaiting)

			cleared, err := q.Clear(ctx)
			require.NoError(t, err)
			require.True(t, cleared)
			for range q.Waiting(ctx) {
				require.Fail(t, "a message waits after Clear")
			}
		})
	}
}

func TestQueuePollsSeveral(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	q := queueOf(t, b, codec.Long{})
	_, err := q.Poll(ctx, 1)
	require.ErrorIs(t, err, dq.ErrEmpty)
	_, err = q.Poll(ctx, 0)
	require.ErrorContains(t, err, "1 or more")
	require.NoError(t, b.redis.RPush(ctx, "orders", "1", "2", "x", "4", "5").Err())
	values, err := q.Poll(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []int64{1}, values)
	values, err = q.Poll(ctx, 3)
	var unread *dq.DecodeError
	require.ErrorAs(t, err, &unread)
	require.Equal(t, "x", string(unread.Data))
	require.Equal(t, []int64{2, 4}, values)
	last, err := q.Take(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 5, last)
}
