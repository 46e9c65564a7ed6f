package spec

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
)

func openMemory(t *testing.T) *memoryQueue {
	t.Helper()
	opened, err := (Memory{Clock: clock.Runtime()}).Open(t.Context(), driver.Target{}, "q")
	require.NoError(t, err)
	q := opened[0].(*memoryQueue) //nolint:forcetypeassert // Open returns no other
	t.Cleanup(func() { require.NoError(t, q.Close()) })
	return q
}

func TestMemoryDeliversByDueTimeThenByArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, start := openMemory(t), time.Now()
		for _, offer := range []struct {
			value string
			delay time.Duration
		}{{"third", 3 * time.Second}, {"first", time.Second}, {"second", 2 * time.Second}, {"also third", 3 * time.Second}, {"at once", 0}} {
			require.NoError(t, q.Offer(t.Context(), []byte(offer.value), offer.delay))
		}
		newHead := func() { _ = q.Offer(t.Context(), []byte("new head"), 100*time.Millisecond) }
		time.AfterFunc(1500*time.Millisecond, newHead) // a taker waits for the second
		for _, want := range []string{"at once 0s", "first 1s", "new head 1.6s", "second 2s", "third 3s", "also third 3s"} {
			value, err := q.Take(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, fmt.Sprintf("%s %s", value, time.Since(start)))
		}
	})
}

// Many takers, each of which gives up now and then, take everything on time.
func TestMemoryTakersThatGiveUpLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const messages = 500
		q := openMemory(t)
		ctx, cancel := context.WithCancel(context.Background())
		var takers sync.WaitGroup
		var mu sync.Mutex
		late := map[time.Duration]int{}
		for patience := range 8 {
			takers.Go(func() {
				for ctx.Err() == nil {
					short, stop := context.WithTimeout(ctx, time.Duration(patience+1)*7*time.Millisecond)
					value, err := q.Take(short)
					stop()
					if err != nil {
						continue
					}
					due, err := time.Parse(time.RFC3339Nano, string(value))
					mu.Lock()
					if err != nil {
						late[-1]++
					}
					late[time.Since(due)]++
					mu.Unlock()
				}
			})
		}
		for i := range messages {
			delay := time.Duration(i*37%messages) * 10 * time.Millisecond
			due := time.Now().Add(delay)
			require.NoError(t, q.Offer(ctx, []byte(due.Format(time.RFC3339Nano)), delay))
		}
		time.Sleep(6 * time.Second)
		cancel()
		takers.Wait()
		require.Equal(t, map[time.Duration]int{0: messages}, late)
	})
}

func TestMemoryClosedQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := openMemory(t)
		ctx := context.Background()
		require.NoError(t, q.Offer(ctx, []byte("x"), time.Hour))
		took := make(chan error, 1)
		go func() {
			_, err := q.Take(ctx)
			took <- err
		}()
		synctest.Wait()
		require.NoError(t, q.Close())
		require.NoError(t, q.Close())
		require.ErrorIs(t, <-took, driver.ErrClosed)
		require.ErrorIs(t, q.Offer(ctx, []byte("y"), 0), driver.ErrClosed)
	})
}

// Restarting loses everything: it is what the others are measured against.
func TestMemoryStartsEmpty(t *testing.T) {
	for range 2 {
		q := openMemory(t)
		held, err := q.Held(t.Context())
		require.NoError(t, err)
		require.Zero(t, held)
		value := []byte("before")
		require.NoError(t, q.Offer(t.Context(), value, 0))
		copy(value, "after!")
		require.NoError(t, q.Values(t.Context(), func(v []byte) { require.Equal(t, "before", string(v)) }))
	}
}
