package dq_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// batches are the calls that take several values away.
var batches = map[string]func(ctx context.Context, q *dq.BlockingQueue[int64], d *dq.DelayedQueue[int64]) ([]int64, error){
	"PollN": func(ctx context.Context, q *dq.BlockingQueue[int64], _ *dq.DelayedQueue[int64]) ([]int64, error) {
		return q.PollN(ctx, 9)
	},
	"DrainTo": func(ctx context.Context, q *dq.BlockingQueue[int64], _ *dq.DelayedQueue[int64]) ([]int64, error) {
		return q.DrainTo(ctx)
	},
	"DrainToMax": func(ctx context.Context, q *dq.BlockingQueue[int64], _ *dq.DelayedQueue[int64]) ([]int64, error) {
		return q.DrainToMax(ctx, 9)
	},
	"delayed PollN": func(ctx context.Context, _ *dq.BlockingQueue[int64], d *dq.DelayedQueue[int64]) ([]int64, error) {
		return d.PollN(ctx, 9)
	},
}

// A value that cannot be decoded costs no other: the batch ends before it, and the next
// call takes it alone.
func TestFaultAValueThatCannotBeDecodedCostsNoOther(t *testing.T) {
	t.Parallel()
	for name, batch := range batches {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupOn(t, redistest.Redis(t), "orders")
			ctx := deadline(t)
			q := dq.NewBlockingQueue(b.client, "orders", codec.Long{})
			d := dq.NewDelayedQueue(q)
			defer d.Close()
			texts := b.delayed(t)
			for _, v := range []string{"1", "2", "bad", "worse", "3", "4"} {
				if name == "delayed PollN" {
					require.NoError(t, texts.Offer(ctx, v, time.Hour))
				} else {
					require.NoError(t, b.queue.Offer(ctx, v))
				}
			}
			for _, want := range []struct {
				values []int64
				bad    string
			}{{values: []int64{1, 2}}, {bad: "bad"}, {bad: "worse"}, {values: []int64{3, 4}}, {}} {
				got, err := batch(ctx, q, d)
				if want.bad == "" {
					require.NoError(t, err)
					require.Len(t, got, len(want.values))
					require.Subset(t, got, want.values)
					continue
				}
				require.Empty(t, got)
				var undecodable *dq.DecodeError
				require.ErrorAs(t, err, &undecodable)
				require.Equal(t, want.bad, string(undecodable.Data))
			}
		})
	}
}

// From the other end, too.
func TestFaultAValueThatCannotBeDecodedStaysAtItsEnd(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Redis(t), "orders")
	ctx := deadline(t)
	q := dq.NewBlockingQueue(b.client, "orders", codec.Long{})
	for _, v := range []string{"1", "2", "bad", "3"} {
		require.NoError(t, b.queue.Offer(ctx, v))
	}
	got, err := q.PollLastN(ctx, 9)
	require.NoError(t, err)
	require.Equal(t, []int64{3}, got)
	require.Equal(t, []string{"1", "2", "bad"}, b.redis.LRange(ctx, "orders", 0, -1).Val())
	_, err = q.PollLastN(ctx, 9)
	require.ErrorAs(t, err, new(*dq.DecodeError))
	require.Equal(t, []string{"1", "2"}, b.redis.LRange(ctx, "orders", 0, -1).Val())
}

// The script of Redisson takes all at once, and their due times are gone: the others are
// returned, and the Observer gets the one.
func TestFaultAValueThatCannotBeDecodedUnderStrictWire(t *testing.T) {
	t.Parallel()
	observe, returned := observeReturned()
	b := setupOn(t, redistest.Redis(t), "orders", dq.WithStrictWire(), observe)
	ctx := deadline(t)
	d := dq.NewDelayedQueue(dq.NewBlockingQueue(b.client, "orders", codec.Long{}))
	defer d.Close()
	texts := b.delayed(t)
	for _, v := range []string{"1", "bad", "2"} {
		require.NoError(t, texts.Offer(ctx, v, time.Hour))
	}
	got, err := d.PollN(ctx, 9)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, got)
	require.Equal(t, "bad", string((<-returned).Value))
}

// Close waits for what polls take away.
func TestFaultCloseCutsNoPoll(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]func(ctx context.Context, b *bundle, d delayedQueue) ([]string, error){
		"Poll": func(ctx context.Context, b *bundle, _ delayedQueue) ([]string, error) {
			v, err := b.queue.Poll(ctx)
			return []string{v}, err
		},
		"PollN":         func(ctx context.Context, b *bundle, _ delayedQueue) ([]string, error) { return b.queue.PollN(ctx, 3) },
		"delayed PollN": func(ctx context.Context, _ *bundle, d delayedQueue) ([]string, error) { return d.PollN(ctx, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Redis(t)
			const rounds, values = 12, 400
			for round := range rounds {
				b := setupOn(t, s, "orders")
				ctx := deadline(t)
				offers := setupOn(t, s, "orders").delayed(t)
				texts := make([]string, values)
				for i := range texts {
					texts[i] = string(rune('a' + i))
				}
				if name == "delayed PollN" {
					_, err := offers.OfferAll(ctx, time.Hour, texts...)
					require.NoError(t, err)
				} else {
					for _, v := range texts {
						require.NoError(t, b.redis.RPush(ctx, "orders", v).Err())
					}
				}
				d := b.delayed(t)
				var mu sync.Mutex
				var came []string
				var polls sync.WaitGroup
				started := make(chan struct{}, 4)
				for range 4 {
					polls.Go(func() {
						for first := true; ; first = false {
							got, err := poll(ctx, b, d)
							if errors.Is(err, dq.ErrClosed) || errors.Is(err, dq.ErrEmpty) || err == nil && len(got) == 0 {
								return
							}
							mu.Lock()
							if err == nil {
								came = append(came, got...)
							}
							mu.Unlock()
							if first {
								started <- struct{}{}
							}
						}
					})
				}
				<-started
				time.Sleep(time.Duration(round) * 300 * time.Microsecond) // another moment each time
				require.NoError(t, b.client.Close())
				polls.Wait()
				rest := b.redis.LRange(ctx, "orders", 0, -1).Val()
				if name == "delayed PollN" {
					var err error
					rest, err = offers.ReadAll(ctx)
					require.NoError(t, err)
				}
				require.ElementsMatch(t, texts, append(came, rest...))
				require.NoError(t, b.redis.FlushAll(ctx).Err())
			}
		})
	}
}

func TestFaultNothingIsReadyOnceItIsClosed(t *testing.T) {
	t.Parallel()
	b := setupOn(t, redistest.Redis(t), "orders")
	ctx := deadline(t)
	one, other := dq.NewDelayedQueue(b.queue), dq.NewDelayedQueue(b.queue)
	require.NoError(t, one.Ready(ctx))
	require.NoError(t, one.Close())
	require.ErrorIs(t, one.Ready(ctx), dq.ErrClosed)
	require.NoError(t, other.Ready(ctx))
	require.NoError(t, b.client.Close())
	require.ErrorIs(t, other.Ready(ctx), dq.ErrClosed)
	require.ErrorIs(t, dq.NewDelayedQueue(b.queue).Ready(ctx), dq.ErrClosed)
}
