package dq_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
)

// Remove compares bytes, in whatever layout a member is packed, and removes one message.
func TestRemove(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]dq.Option{"": nil, "strict": {dq.WithRedissonCommands()}, "strict and old": {dq.WithRedissonCommands(), dq.WithRelease("3.16.6")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options...)
			ctx, q := deadline(t), queueOf(t, b, codec.String{})
			var tickets []dq.Ticket
			for i, v := range []string{"a", "b", "a"} {
				ticket, err := q.Offer(ctx, v, time.Hour-time.Duration(i)*time.Minute)
				require.NoError(t, err)
				tickets = append(tickets, ticket)
			}
			removed, err := q.Remove(ctx, "a")
			require.NoError(t, err)
			require.True(t, removed)
			require.ErrorIs(t, q.Cancel(ctx, stored(t, tickets[0])), dq.ErrNotWaiting, "of several the one offered first goes")
			require.NoError(t, q.Cancel(ctx, tickets[2]))
			_, err = q.Offer(ctx, "a", time.Hour)
			require.NoError(t, err)
			for _, want := range []bool{true, false} {
				removed, err := q.Remove(ctx, "a")
				require.NoError(t, err)
				require.Equal(t, want, removed)
			}
			require.EqualValues(t, 1, b.redis.ZCard(ctx, b.names.TimeoutSet).Val())
			require.EqualValues(t, 1, b.redis.LLen(ctx, b.names.Pending).Val())
		})
	}
}

func TestRemoveFunc(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, q := deadline(t), queueOf(t, b, codec.String{})
	var all []string
	for i := range 3000 {
		all = append(all, fmt.Sprint(i))
	}
	_, err := q.OfferAll(ctx, time.Hour, all...)
	require.NoError(t, err)
	n, err := q.RemoveFunc(ctx, func(v string) bool { return strings.HasSuffix(v, "7") })
	require.NoError(t, err)
	require.Equal(t, 300, n)
	require.EqualValues(t, 2700, b.redis.LLen(ctx, b.names.Pending).Val())
	require.EqualValues(t, 2700, b.redis.ZCard(ctx, b.names.TimeoutSet).Val())
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = q.RemoveFunc(ended, func(string) bool { return true })
	require.ErrorIs(t, err, context.Canceled)
}

func TestReschedule(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, q := deadline(t), queueOf(t, b, codec.String{})
	ticket, err := q.Offer(ctx, "v", time.Hour)
	require.NoError(t, err)
	later, err := q.Reschedule(ctx, ticket, 2*time.Hour)
	require.NoError(t, err)
	require.InDelta(t, float64(time.Hour), float64(later.Due().Sub(ticket.Due())), float64(time.Minute))
	require.ErrorIs(t, q.Cancel(ctx, ticket), dq.ErrNotWaiting, "the ticket of before")
	_, err = q.Reschedule(ctx, later, -1)
	require.ErrorIs(t, err, dq.ErrNegativeDelay)

	soon, err := q.Reschedule(ctx, later, 20*time.Millisecond)
	require.NoError(t, err)
	v, err := q.Take(ctx) // this Client knows of it
	require.NoError(t, err)
	require.Equal(t, "v", v)
	_, err = q.Reschedule(ctx, soon, time.Hour)
	require.ErrorIs(t, err, dq.ErrNotWaiting)
	require.NotErrorIs(t, err, dq.ErrUncertain)
}
