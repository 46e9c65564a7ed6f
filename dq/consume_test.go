package dq_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// numbers returns the numbers from one to below another as texts.
func numbers(from, below int) (all []string) {
	for i := from; i < below; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

// queued puts values into the LIST.
func (b *bundle) queued(t *testing.T, values ...string) {
	t.Helper()
	require.NoError(t, b.redis.RPush(t.Context(), b.names.Destination, values).Err())
}

// left returns what is in the LIST.
func (b *bundle) left(t *testing.T) []string {
	t.Helper()
	return b.redis.LRange(t.Context(), b.names.Destination, 0, -1).Val()
}

// calls returns how often a command was sent.
func calls(t testing.TB, rdb *redis.Client, command string) int {
	t.Helper()
	info := rdb.Info(t.Context(), "commandstats").Val()
	_, rest, _ := strings.Cut(info, "cmdstat_"+command+":calls=")
	text, _, _ := strings.Cut(rest, ",")
	n, _ := strconv.Atoi(text)
	return n
}

func TestConsumeTakesSeveralWhereManyAre(t *testing.T) {
	t.Parallel()
	for name, side := range map[string]struct {
		option  dq.Option
		options dq.ConsumeOptions
		batches bool
	}{
		"by default":    {dq.WithTransfer(dq.Auto), dq.ConsumeOptions{}, true},
		"one at a time": {dq.WithTransfer(dq.Auto), dq.ConsumeOptions{Prefetch: 1}, false},
		"strict wire":   {dq.WithStrictWire(), dq.ConsumeOptions{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const values = 2000
			b := setup(t, side.option)
			b.queued(t, numbers(0, values)...)
			ctx, cancel := context.WithCancel(deadline(t))
			var handled []string
			err := b.queue.Consume(ctx, func(_ context.Context, v string) error {
				if handled = append(handled, v); len(handled) == values {
					cancel()
				}
				return nil
			}, side.options)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, numbers(0, values), handled)
			blpop, lpop := calls(t, b.redis, "blpop"), calls(t, b.redis, "lpop")
			if side.batches {
				require.Less(t, blpop+lpop, values/2)
				return
			}
			require.GreaterOrEqual(t, blpop, values)
			require.Zero(t, lpop)
		})
	}
}

// What a handler keeps waiting goes back to the front, where others find it in order.
func TestConsumePutsBackWhatWaitsForLong(t *testing.T) {
	t.Parallel()
	const values, stuck = 300, 100
	var mu sync.Mutex
	var returned []string
	b := setup(t, on(func(e dq.Returned) {
		mu.Lock()
		defer mu.Unlock()
		if e.Err == nil {
			returned = append(returned, string(e.Value))
		}
	}))
	b.queued(t, numbers(0, values)...)
	ctx, cancel := context.WithCancel(deadline(t))
	var handled []string
	err := b.queue.Consume(ctx, func(_ context.Context, v string) error {
		if handled = append(handled, v); v != strconv.Itoa(stuck) {
			return nil
		}
		require.Eventually(t, func() bool { return len(b.left(t)) == values-stuck-1 }, testDeadline, time.Millisecond)
		cancel()
		return nil
	}, dq.ConsumeOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, numbers(0, stuck+1), handled)
	require.Equal(t, numbers(stuck+1, values), b.left(t))
	mu.Lock()
	defer mu.Unlock()
	require.ElementsMatch(t, numbers(stuck+1, stuck+1+len(returned)), returned)
}

// Where nothing can be put back, what was taken is handled in the end.
func TestConsumeHandlesWhatCannotGoBack(t *testing.T) {
	t.Parallel()
	const values, stuck = 300, 100
	b := as(t, redistest.Redis(t), "~* &* +@all -lpush")
	b.queued(t, numbers(0, values)...)
	ctx, cancel := context.WithCancel(deadline(t))
	var handled []string
	err := b.queue.Consume(ctx, func(_ context.Context, v string) error {
		handled = append(handled, v)
		switch v {
		case strconv.Itoa(stuck):
			require.Eventually(t, func() bool { return denied(t, b.redis) || len(b.left(t)) == values-stuck-1 }, testDeadline, time.Millisecond)
		case strconv.Itoa(values - 1):
			cancel()
		}
		return nil
	}, dq.ConsumeOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, numbers(0, values), handled)
}

// denied reports whether a user was refused a command.
func denied(t *testing.T, rdb *redis.Client) bool {
	t.Helper()
	log, err := rdb.Do(t.Context(), "ACL", "LOG").Slice()
	require.NoError(t, err)
	return len(log) > 0
}

// When ctx ends, what was taken is handled, and the rest stays.
func TestConsumeEndsInOrder(t *testing.T) {
	t.Parallel()
	const values = 300
	b := setup(t)
	b.queued(t, numbers(0, values)...)
	ctx, cancel := context.WithCancel(deadline(t))
	var handled []string
	err := b.queue.Consume(ctx, func(_ context.Context, v string) error {
		if handled = append(handled, v); v == "100" {
			cancel()
		}
		return nil
	}, dq.ConsumeOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.GreaterOrEqual(t, len(handled), 101)
	require.Equal(t, numbers(0, values), append(handled, b.left(t)...))
}

// A handler that ends its goroutine, and a value that cannot be decoded, cost no other.
func TestConsumeGoesOnInABatch(t *testing.T) {
	t.Parallel()
	const values = 300
	b := setup(t)
	for _, v := range numbers(0, values) {
		b.queued(t, v)
		b.queued(t, "not a number")
	}
	ctx, cancel := context.WithCancel(deadline(t))
	var handled []string
	failures := map[string]int{}
	queue := dq.NewBlockingQueue(b.client, "orders", codec.Long{})
	err := queue.Consume(ctx, func(_ context.Context, v int64) error {
		if handled = append(handled, fmt.Sprint(v)); v == values-1 {
			cancel()
		}
		runtime.Goexit()
		return nil
	}, dq.ConsumeOptions{Failed: func(v any, _ error) { failures[fmt.Sprintf("%T", v)]++ }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, numbers(0, values), handled)
	require.Equal(t, values, failures["int64"])
	require.GreaterOrEqual(t, failures["<nil>"], values-1)
}

// A user without LPOP, or a server that knows no count, has its values one by one.
func TestConsumeWithoutLpop(t *testing.T) {
	t.Parallel()
	const values = 300
	b := as(t, redistest.Redis(t), "~* &* +@all -lpop")
	b.queued(t, numbers(0, values)...)
	ctx, cancel := context.WithCancel(deadline(t))
	var handled []string
	err := b.queue.Consume(ctx, func(_ context.Context, v string) error {
		if handled = append(handled, v); len(handled) == values {
			cancel()
		}
		return nil
	}, dq.ConsumeOptions{Failed: func(_ any, err error) { t.Error(err) }})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, numbers(0, values), handled)
}
