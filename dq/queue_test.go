package dq_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/scripts"
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
			b.redis.ZAdd(ctx, b.names.TimeoutSet, goredis.Z{Score: 1e15, Member: "no member"})

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

// A walk reads fewer messages a call if they are large.
func TestWalksOverLargeMessages(t *testing.T) {
	t.Parallel()
	b := setup(t, dq.WithMostReply(8<<20))
	q := queueOf(t, b, codec.String{})
	_, err := q.OfferAll(deadline(t), time.Hour, slices.Repeat([]string{strings.Repeat("x", 512<<10)}, 40)...)
	require.NoError(t, err)
	n := 0
	for _, err := range q.Waiting(deadline(t)) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 40, n)
}

// What a caller cancels, replays or drops during a walk hides nothing from the walk.
func TestWalksWhileItsMessagesGo(t *testing.T) {
	t.Parallel()
	const n = 700
	for name, lag := range map[string]int{"at once": 0, "one late": 1, "a page late": 500} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := deadline(t)
			q := queueOf(t, b, codec.String{})
			confirmed, err := q.OfferAll(ctx, time.Hour, numbered(n)...)
			require.NoError(t, err)
			require.Equal(t, n, confirmed)
			var seen []dq.Ticket
			for w, err := range q.Waiting(ctx) {
				require.NoError(t, err)
				if seen = append(seen, w.Ticket); len(seen) > lag {
					require.NoError(t, q.Cancel(ctx, seen[len(seen)-1-lag]))
				}
			}
			require.Len(t, seen, n)

			keys := scripts.LeaseNamesOf("orders")
			for i := range n {
				b.redis.ZAdd(ctx, keys.Dead, goredis.Z{Score: float64(i / 300), Member: fmt.Sprint(i)})
				b.redis.HSet(ctx, keys.Bodies, fmt.Sprint(i), "v")
			}
			var letters []string
			for l, err := range q.Dead(ctx) {
				require.NoError(t, err)
				if letters = append(letters, l.ID); len(letters) > lag {
					_, err = q.Drop(ctx, letters[len(letters)-1-lag])
					require.NoError(t, err)
				}
			}
			require.Len(t, letters, n)
		})
	}
}
