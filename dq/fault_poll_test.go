package dq_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A poll whose context ends takes nothing away: the reply is waited for, or what comes
// later goes back.
func TestFaultACancelledPollLosesNothing(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 3} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, redistest.Redis(t), "orders")
			q := queueOf(t, b, codec.String{})
			const values = 500
			seen := expect(values)
			for i := range values {
				require.NoError(t, b.redis.RPush(t.Context(), "orders", fmt.Sprint(i)).Err())
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*10*time.Microsecond)
				got, err := q.Poll(ctx, most)
				cancel()
				require.True(t, err == nil || got == nil, "%v beside %v", got, err)
				seen.add(got...)
			}
			seen.add(b.redis.LRange(t.Context(), "orders", 0, -1).Val()...)
			seen.requireOnce(t, ended())
		})
	}
}

// Where the server stands still for longer than the caller is kept, the values come back
// in their order.
func TestFaultACancelledPollGivesBackWhatComesLate(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	observe, returned := observeReturned()
	b := at(t, s, s.URL(), observe)
	ctx, q := deadline(t), queueOf(t, b, codec.String{})
	want := []string{"1", "2", "3", "4"}
	require.NoError(t, b.redis.RPush(ctx, "orders", "0", "1", "2", "3", "4").Err())
	_, err := q.Poll(ctx, 1) // there is a connection
	require.NoError(t, err)
	node := s.Nodes()[0]
	require.NoError(t, node.Pause())
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = q.Poll(short, 3)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, node.Resume())
	require.NoError(t, (<-returned).Err)
	require.Eventually(t, func() bool { return b.redis.LLen(ctx, "orders").Val() == 4 }, testDeadline, time.Millisecond)
	require.Equal(t, want, b.redis.LRange(ctx, "orders", 0, -1).Val())
}
