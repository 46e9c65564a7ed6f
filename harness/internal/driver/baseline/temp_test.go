package baseline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/store"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// tempBench is one queue on a Redis of its own.
type tempBench struct {
	client *goredis.Client
	target driver.Target
	queue  string
	ctx    context.Context
}

func newTempBench(t *testing.T) *tempBench {
	t.Helper()
	srv := redistest.Redis(t)
	client, ok := redistest.Client(srv).(*goredis.Client)
	require.True(t, ok)
	t.Cleanup(func() { client.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return &tempBench{client: client, target: driver.Target{RedisURL: srv.URL()}, queue: "orders", ctx: ctx}
}

func (b *tempBench) open(t *testing.T, d driver.Driver) *tempQueue {
	t.Helper()
	opened, err := d.Open(b.ctx, b.target, b.queue)
	require.NoError(t, err)
	t.Cleanup(func() { _ = opened[0].Close() })
	if zset, ok := opened[0].(*zsetQueue); ok {
		return zset.tempQueue
	}
	q, ok := opened[0].(*tempQueue)
	require.True(t, ok)
	return q
}

func (b *tempBench) offer(t *testing.T, q driver.Queue, value string, delay time.Duration) {
	t.Helper()
	require.NoError(t, q.Offer(b.ctx, []byte(value), delay))
}

func (b *tempBench) take(t *testing.T, q driver.Queue) string {
	t.Helper()
	value, err := q.Take(b.ctx)
	require.NoError(t, err)
	return string(value)
}

func (b *tempBench) held(t *testing.T, d driver.Driver) int64 {
	t.Helper()
	held, err := d.(store.Stored).Store(redis.On(b.client), b.queue).Held(b.ctx)
	require.NoError(t, err)
	return held
}

func tempDrivers() map[string]driver.Driver {
	return map[string]driver.Driver{
		"redis-list": List{Lease: 300 * time.Millisecond},
		"redis-zset": ZSet{Lease: 300 * time.Millisecond, Poll: 5 * time.Millisecond},
	}
}

func TestZSetMoveIsTheScriptOfTheDocument(t *testing.T) {
	const evaluated = "local elements = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1]) if #elements > 0 then " +
		"for i, element in ipairs(elements) do redis.call('LPUSH', KEYS[2], element) redis.call('ZREM', KEYS[1], element) end end return elements"
	require.Equal(t, evaluated, strings.Join(strings.Fields(zsetMove), " "))
}

func TestTempDriversDeliverNotBeforeTheDueTimeAndLeaveNothing(t *testing.T) {
	for name, d := range tempDrivers() {
		t.Run(name, func(t *testing.T) {
			b := newTempBench(t)
			q := b.open(t, d)
			const delay = 30 * time.Millisecond
			sent := time.Now()
			for i := range 20 {
				b.offer(t, q, fmt.Sprintf("message:%02d", i), delay)
			}
			require.GreaterOrEqual(t, b.held(t, d), int64(20)) // one that moves meanwhile counts twice
			got := map[string]bool{}
			for range 20 {
				got[b.take(t, q)] = true
				// Due times are cut to whole milliseconds.
				require.GreaterOrEqual(t, time.Since(sent), delay-time.Millisecond)
			}
			require.Len(t, got, 20)
			require.Zero(t, b.held(t, d))
			require.NoError(t, q.Close())
			keys, err := b.client.Keys(b.ctx, "*").Result()
			require.NoError(t, err)
			require.Empty(t, keys)
		})
	}
}

func TestTempDriversRefuseANegativeDelay(t *testing.T) {
	for name, d := range tempDrivers() {
		t.Run(name, func(t *testing.T) {
			b := newTempBench(t)
			require.ErrorContains(t, b.open(t, d).Offer(b.ctx, []byte("v"), -time.Second), "0 or more")
		})
	}
}

// A LIST is first in, first out, whatever the due times.
func TestListKeepsTheOrderOfOffers(t *testing.T) {
	b := newTempBench(t)
	q := b.open(t, List{})
	b.offer(t, q, "long", 50*time.Millisecond)
	b.offer(t, q, "short", 0)
	require.Equal(t, []string{"long", "short"}, []string{b.take(t, q), b.take(t, q)})
}

func TestZSetOrdersByDueTime(t *testing.T) {
	b := newTempBench(t)
	q := b.open(t, ZSet{Poll: 5 * time.Millisecond})
	b.offer(t, q, "long", 300*time.Millisecond)
	b.offer(t, q, "short", 0)
	require.Equal(t, []string{"short", "long"}, []string{b.take(t, q), b.take(t, q)})
}

func TestZSetCallsAMessageOff(t *testing.T) {
	b := newTempBench(t)
	d := ZSet{}
	opened, err := d.Open(b.ctx, b.target, b.queue)
	require.NoError(t, err)
	q := opened[0]
	defer q.Close()
	remover, ok := q.(driver.Remover)
	require.True(t, ok)
	b.offer(t, q, "order 7", time.Hour)
	for _, want := range []bool{true, false} {
		removed, err := remover.Remove(b.ctx, []byte("order 7"))
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
	require.Zero(t, b.held(t, d))
}

func TestTempDriversPoll(t *testing.T) {
	for name, d := range tempDrivers() {
		t.Run(name, func(t *testing.T) {
			b := newTempBench(t)
			q := b.open(t, d)
			_, found, err := q.Poll(b.ctx)
			require.NoError(t, err)
			require.False(t, found)
			b.offer(t, q, "value", 0)
			require.Eventually(t, func() bool {
				value, found, err := q.Poll(b.ctx)
				return err == nil && found && string(value) == "value"
			}, 10*time.Second, time.Millisecond)
			require.NoError(t, q.Close())
			_, _, err = q.Poll(b.ctx)
			require.ErrorIs(t, err, driver.ErrClosed)
		})
	}
}

func TestListKeepsEqualValuesApart(t *testing.T) {
	b := newTempBench(t)
	q := b.open(t, List{})
	b.offer(t, q, "same", 0)
	b.offer(t, q, "same", 0)
	require.Equal(t, "samesame", b.take(t, q)+b.take(t, q))
}

// The second offer of an equal value replaces the due time of the first.
func TestZSetLosesOneOfTwoEqualValues(t *testing.T) {
	b := newTempBench(t)
	d := ZSet{}
	q := b.open(t, d)
	b.offer(t, q, "same", time.Hour)
	b.offer(t, q, "same", 2*time.Hour)
	require.EqualValues(t, 1, b.held(t, d))
}

// What a process popped and nobody took comes again after its death, in the
// order it was popped.
func TestTempDriversRecoverTheTempListOfADeadProcess(t *testing.T) {
	for name, d := range tempDrivers() {
		t.Run(name, func(t *testing.T) {
			b := newTempBench(t)
			dead := b.open(t, d)
			b.offer(t, dead, "first", 0)
			b.offer(t, dead, "second", 0)
			require.Eventually(t, func() bool {
				n, err := b.client.LLen(b.ctx, dead.keys.temp(dead.id)).Result()
				return err == nil && n >= 1
			}, 10*time.Second, time.Millisecond)
			dead.halt() // no lease is given up
			heir := b.open(t, d)
			require.ElementsMatch(t, []string{"first", "second"}, []string{b.take(t, heir), b.take(t, heir)})
			require.Zero(t, b.held(t, d))
		})
	}
}

// A queue that is closed gives its lease up, so that the next one need not wait
// for it to run out.
func TestTempDriversHandOverOnClose(t *testing.T) {
	for name, d := range map[string]driver.Driver{"redis-list": List{}, "redis-zset": ZSet{Poll: 5 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			b := newTempBench(t)
			q := b.open(t, d)
			b.offer(t, q, "left", 0)
			require.Eventually(t, func() bool {
				n, err := b.client.LLen(b.ctx, q.keys.temp(q.id)).Result()
				return err == nil && n == 1
			}, 10*time.Second, time.Millisecond)
			require.NoError(t, q.Close())
			require.NoError(t, q.Close())
			require.ErrorIs(t, q.Offer(b.ctx, []byte("v"), 0), driver.ErrClosed)
			_, err := q.Take(b.ctx)
			require.ErrorIs(t, err, driver.ErrClosed)
			require.Equal(t, "left", b.take(t, b.open(t, d)))
		})
	}
}

// The reply to the script may be lost after it ran: its elements are in the temp
// list, and no taker knows of them.
func TestTempQueueFindsWhatALostReplyStranded(t *testing.T) {
	b := newTempBench(t)
	q, err := openTemp(b.ctx, b.target, b.queue, tempOptions{driver: "redis-zset"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	lost := false
	q.fetch = func(ctx context.Context) ([]string, error) {
		if lost {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		lost = true
		err := q.moving.Do(ctx, "LPUSH", q.keys.temp(q.id), "stranded").Err()
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	q.open = func(_ context.Context, element string) ([]byte, error) { return []byte(element), nil }
	q.onClose = func() {}
	q.start()
	require.Equal(t, "stranded", b.take(t, q))
	require.Zero(t, b.held(t, ZSet{}))
}

func TestTempStoreReadsAndClears(t *testing.T) {
	for name, d := range tempDrivers() {
		t.Run(name, func(t *testing.T) {
			b := newTempBench(t)
			q := b.open(t, d)
			b.offer(t, q, "later", time.Hour)
			store := d.(store.Stored).Store(redis.On(b.client), b.queue)
			var values []string
			require.NoError(t, store.Values(b.ctx, func(v []byte) { values = append(values, string(v)) }))
			require.NotEmpty(t, values)
			require.Contains(t, values[0], "later")
			require.NoError(t, q.Close())
			require.NoError(t, store.Clear(b.ctx))
			n, err := b.client.DBSize(b.ctx).Result()
			require.NoError(t, err)
			require.Zero(t, n)
		})
	}
}

func TestTakeOfATempQueueEndsWithItsContext(t *testing.T) {
	b := newTempBench(t)
	q := b.open(t, ZSet{})
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	_, err := q.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func FuzzUnframeDue(f *testing.F) {
	f.Add("1728625236000:order:7")
	f.Add(":")
	f.Add("-1:")
	f.Fuzz(func(t *testing.T, element string) {
		due, value, err := unframeDue(element)
		if err != nil {
			return
		}
		again, same, err := unframeDue(string(frameDue(due, value)))
		require.NoError(t, err)
		require.Equal(t, due.UnixMilli(), again.UnixMilli())
		require.Equal(t, value, same)
	})
}
