package dq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
)

func offerAll(t *testing.T, d *dq.DelayedQueue[string], values ...string) {
	t.Helper()
	n, err := d.OfferAll(t.Context(), time.Hour, values...)
	require.NoError(t, err)
	require.Equal(t, len(values), n)
}

// Each release has its own scripts for these calls; the answers are the same.
func TestWaitingValues(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"3.16.6", "4.7.0"} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			b := setup(t, dq.WithRelease(release))
			ctx := deadline(t)
			d := b.delayed(t)

			_, err := d.Peek(ctx)
			require.ErrorIs(t, err, dq.ErrEmpty)
			_, err = d.Poll(ctx)
			require.ErrorIs(t, err, dq.ErrEmpty)
			offerAll(t, d, "a", "b", "c", "d", "a")

			all, err := d.ReadAll(ctx)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "b", "c", "d", "a"}, all)
			var walked []string
			for v, err := range d.All(ctx) {
				require.NoError(t, err)
				walked = append(walked, v)
			}
			require.Equal(t, all, walked)
			v, err := d.Peek(ctx)
			require.NoError(t, err)
			require.Equal(t, "a", v)

			for value, want := range map[string]bool{"a": true, "x": false} {
				ok, err := d.Contains(ctx, value)
				require.NoError(t, err)
				require.Equal(t, want, ok)
			}
			ok, err := d.ContainsAll(ctx, "a", "c")
			require.NoError(t, err)
			require.True(t, ok)
			ok, err = d.Remove(ctx, "c")
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, d.RemoveAt(ctx, 1))
			v, err = d.PollLastAndOfferFirstTo(ctx, "other")
			require.NoError(t, err)
			require.Equal(t, "a", v)
			values, err := d.PollN(ctx, 10)
			require.NoError(t, err)
			require.Equal(t, []string{"a", "d"}, values)

			offerAll(t, d, "a", "b", "c")
			ok, err = d.Retain(ctx, "b")
			require.NoError(t, err)
			require.True(t, ok)
			require.NoError(t, d.CopyTo(ctx, "copy{orders}"))
			ok, err = d.RemoveAll(ctx, "b", "c")
			require.NoError(t, err)
			require.True(t, ok)
			n, err := b.redis.ZCard(ctx, b.names.TimeoutSet).Result()
			require.NoError(t, err)
			require.Zero(t, n, "what is cancelled does not come later")
		})
	}
}

func TestClearAndExpire(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	d := b.delayed(t)
	offerAll(t, d, "a")
	ok, err := d.Expire(ctx, time.Hour, dq.ExpireAlways)
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = d.ExpireAt(ctx, time.Now().Add(time.Minute), dq.ExpireIfGreater)
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = d.ClearExpire(ctx)
	require.NoError(t, err)
	require.True(t, ok)
	n, err := d.SizeInMemory(ctx)
	require.NoError(t, err)
	require.Positive(t, n)
	ok, err = d.Clear(ctx)
	require.NoError(t, err)
	require.True(t, ok)

	old := setupOn(t, b.server, "old", dq.WithRelease("3.16.6")).delayed(t)
	_, err = old.Expire(ctx, time.Hour, dq.ExpireIfSet)
	require.ErrorIs(t, err, dq.ErrUnsupported)
	_, err = old.Copy(ctx, "x", false)
	require.ErrorIs(t, err, dq.ErrUnsupported)
}

func TestBatchesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	d := b.delayed(t)
	var want []string
	for i := range 1300 {
		want = append(want, fmt.Sprint(i))
	}
	offerAll(t, d, want...)
	got, err := d.ReadAll(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestAHugeDelayWrapsAroundOnlyInRedissonsForm(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	d := b.delayed(t)
	require.NoError(t, d.OfferMillis(ctx, "wrapped", 1<<63-1))
	score, err := b.redis.ZRangeWithScores(ctx, b.names.TimeoutSet, 0, 0).Result()
	require.NoError(t, err)
	require.Negative(t, score[0].Score)
	require.NoError(t, d.Offer(ctx, "far", 1<<63-1))
	set, err := b.redis.ZRangeWithScores(ctx, b.names.TimeoutSet, 0, -1).Result()
	require.NoError(t, err)
	require.Positive(t, set[1].Score)
}

func TestListForms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	q := b.queue
	for _, v := range []string{"b", "c", "d", "e", "f", "g"} {
		require.NoError(t, q.Offer(ctx, v))
	}
	require.NoError(t, q.OfferFirst(ctx, "a"))
	one := func(want string, v string, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	v, err := q.Peek(ctx)
	one("a", v, err)
	v, err = q.TakeLast(ctx)
	one("g", v, err)
	v, err = q.PollLast(ctx)
	one("f", v, err)
	v, err = q.PollLastTimeout(ctx, time.Second)
	one("e", v, err)
	v, err = q.PollLastAndOfferFirstTo(ctx, "other")
	one("d", v, err)
	v, err = q.PollLastAndOfferFirstToTimeout(ctx, "other", time.Second)
	one("c", v, err)
	v, err = q.PollFromAny(ctx, time.Second, "other")
	one("a", v, err)
	v, err = q.TakeLastAndOfferFirstTo(ctx, "other")
	one("b", v, err)
	v, err = q.PollFromAny(ctx, time.Second, "other")
	one("b", v, err)
	_, err = q.PollWithin(ctx, 5*time.Millisecond)
	require.ErrorIs(t, err, dq.ErrEmpty)

	for _, v := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, q.Offer(ctx, v))
	}
	all, err := q.ReadAll(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, all)
	ok, err := q.Contains(ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = q.ContainsAll(ctx, "b", "x")
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = q.Remove(ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = q.RemoveAll(ctx, "b", "x")
	require.NoError(t, err)
	require.True(t, ok)
	ok, err = q.RetainAll(ctx, "c", "d")
	require.NoError(t, err)
	require.True(t, ok)
	values, err := q.PollN(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, values)
	values, err = q.PollLastN(ctx, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"d"}, values)
	for _, v := range []string{"a", "b", "c"} {
		require.NoError(t, q.Offer(ctx, v))
	}
	values, err = q.DrainToMax(ctx, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, values)
	values, err = q.DrainTo(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"c"}, values)
}

// A handler may end its goroutine, as a failed requirement of a test does.
func TestConsumeGoesOnAfterGoexit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, v := range []string{"a", "b", "c"} {
		require.NoError(t, b.queue.Offer(t.Context(), v))
	}
	ctx, cancel := context.WithCancel(deadline(t))
	var handled, failed []string
	err := b.queue.Consume(ctx, func(_ context.Context, v string) error {
		handled = append(handled, v)
		if v == "c" {
			cancel()
			return nil
		}
		runtime.Goexit()
		return nil
	}, dq.ConsumeOptions{Failed: func(v any, err error) { failed = append(failed, fmt.Sprint(v, ": ", err)) }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"a", "b", "c"}, handled)
	require.Equal(t, []string{"a: dq: the handler called runtime.Goexit", "b: dq: the handler called runtime.Goexit"}, failed)
}

func TestConsumeHandlesWhatItPopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const values = 200
	for i := range values {
		require.NoError(t, b.queue.Offer(t.Context(), fmt.Sprint(i)))
	}
	ctx, cancel := context.WithCancel(deadline(t))
	var mu sync.Mutex
	handled, failed := 0, 0
	var panicked *dq.PanicError
	err := b.queue.Consume(ctx, func(ctx context.Context, v string) error {
		mu.Lock()
		defer mu.Unlock()
		handled++
		switch v {
		case "7":
			panic("seven")
		case "8":
			return errors.New("eight")
		case "100":
			cancel()
		}
		return ctx.Err()
	}, dq.ConsumeOptions{Workers: 4, Failed: func(_ any, err error) {
		mu.Lock()
		defer mu.Unlock()
		failed++
		errors.As(err, &panicked)
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, failed, "handlers' contexts outlive the stop")
	require.Equal(t, "seven", panicked.Value)
	left, err := b.queue.Size(t.Context())
	require.NoError(t, err)
	require.Equal(t, values, handled+left)
	require.GreaterOrEqual(t, handled, 101)
}
