package dq_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A poll whose context ends takes nothing away: the reply is waited for, or what comes
// later goes back.
func TestFaultACancelledPollLosesNothing(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error){
		"Poll": func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error) {
			v, err := q.Poll(ctx)
			if err != nil {
				return nil, err
			}
			return []string{v}, nil
		},
		"PollN":   func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error) { return q.PollN(ctx, 3) },
		"DrainTo": func(ctx context.Context, q *dq.BlockingQueue[string]) ([]string, error) { return q.DrainTo(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, redistest.Redis(t), "orders")
			const values = 500
			seen := expect(values)
			for i := range values {
				require.NoError(t, b.redis.RPush(t.Context(), "orders", fmt.Sprint(i)).Err())
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*10*time.Microsecond)
				got, err := poll(ctx, b.queue)
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
	for name, poll := range map[string]func(ctx context.Context, q *dq.BlockingQueue[string]) error{
		"PollN": func(ctx context.Context, q *dq.BlockingQueue[string]) error { _, err := q.PollN(ctx, 3); return err },
		"PollLastN": func(ctx context.Context, q *dq.BlockingQueue[string]) error {
			_, err := q.PollLastN(ctx, 3)
			return err
		},
		"PollLast": func(ctx context.Context, q *dq.BlockingQueue[string]) error { _, err := q.PollLast(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Process(t)
			observe, returned := observeReturned()
			b := at(t, s, s.URL(), observe)
			ctx := deadline(t)
			want := []string{"1", "2", "3", "4"}
			for _, v := range want {
				require.NoError(t, b.queue.Offer(ctx, v))
			}
			_, err := b.queue.PollN(ctx, 0) // there is a connection, and the script is known
			require.NoError(t, err)
			_, err = b.queue.PollLastN(ctx, 0)
			require.NoError(t, err)
			node := s.Nodes()[0]
			require.NoError(t, node.Pause())
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, poll(short, b.queue), context.DeadlineExceeded)
			require.NoError(t, node.Resume())
			e := <-returned
			require.NoError(t, e.Err)
			require.Eventually(t, func() bool { return b.redis.LLen(ctx, "orders").Val() == 4 }, testDeadline, time.Millisecond)
			require.Equal(t, want, b.redis.LRange(ctx, "orders", 0, -1).Val())
		})
	}
}

// A poll of a delayed queue is waited for as well. What comes later is told, with the
// value: its due time is gone.
func TestFaultACancelledPollOfADelayedQueueLosesNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]dq.Option{"": nil, "strict": {dq.WithStrictWire()}} {
		t.Run("delayed "+name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Process(t)
			observe, returned := observeReturned()
			b := at(t, s, s.URL(), append(options, observe)...)
			ctx := deadline(t)
			d := b.delayed(t)
			for _, v := range []string{"soon", "late", "last"} {
				require.NoError(t, d.Offer(ctx, v, time.Hour))
			}
			_, err := d.PollN(ctx, 0)
			require.NoError(t, err)
			v, err := d.Poll(ctx) // the script is known from now on
			require.NoError(t, err)
			require.Equal(t, "soon", v)
			poll := func(pause int) (string, error) {
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", pause, "WRITE").Err())
				short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				return d.Poll(short)
			}
			v, err = poll(500)
			require.NoError(t, err)
			require.Equal(t, "late", v)
			_, err = poll(2000)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			e := <-returned
			require.Equal(t, "last", string(e.Value))
			require.ErrorContains(t, e.Err, "not put back")
		})
	}
}

// Contexts that end at any moment of a poll of a delayed queue.
func TestFaultPollsOfADelayedQueueThatEndAtAnyMoment(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Redis(t), "orders")
	d := b.delayed(t)
	const values = 300
	for i := range values {
		require.NoError(t, d.Offer(t.Context(), fmt.Sprint(i), time.Hour))
	}
	seen := expect(values)
	for i := range 2 * values {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%100)*10*time.Microsecond)
		got, err := d.PollN(ctx, 2+i%9) // many looks where it asks for more than waits
		cancel()
		require.True(t, err == nil || got == nil, "%v beside %v: who sees an error looks no further", got, err)
		seen.add(got...)
	}
	rest, err := d.ReadAll(t.Context())
	require.NoError(t, err)
	seen.add(rest...)
	seen.requireOnce(t, ended())
}

// A caller without a deadline fares no worse than one that cancels.
func TestFaultAPollOfAServerThatStandsStill(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	observe, returned := observeReturned()
	b := at(t, s, s.URL()+"?read_timeout=1s", observe)
	ctx := deadline(t)
	want := []string{"1", "2", "3"}
	for _, v := range want {
		require.NoError(t, b.queue.Offer(ctx, v))
	}
	_, err := b.queue.PollN(ctx, 0)
	require.NoError(t, err)
	require.NoError(t, s.Nodes()[0].Pause())
	_, err = b.queue.PollN(ctx, 2)
	require.ErrorContains(t, err, "what still comes is put back")
	require.NoError(t, s.Nodes()[0].Resume())
	for range 2 {
		require.NoError(t, (<-returned).Err)
	}
	require.Equal(t, want, b.redis.LRange(ctx, "orders", 0, -1).Val())
}

func TestFaultAnotherQueueNeedsAName(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Redis(t), "orders")
	ctx := deadline(t)
	const says = "expected the name of another queue"
	_, err := b.queue.PollLastAndOfferFirstTo(ctx, "")
	require.ErrorContains(t, err, says)
	_, err = b.queue.PollLastAndOfferFirstToTimeout(ctx, "", time.Second)
	require.ErrorContains(t, err, says)
	_, err = b.queue.TakeLastAndOfferFirstTo(ctx, "")
	require.ErrorContains(t, err, says)
	_, err = b.queue.PollFromAny(ctx, time.Second, "other", "")
	require.ErrorContains(t, err, says)
}
