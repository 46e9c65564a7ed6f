package spec

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const queueName = "orders"

// bench is a driver on a Redis of its own.
type bench struct {
	d      driver.Driver
	target driver.Target
	conn   redis.Conn
	ctx    context.Context
}

// onRedis runs a test for each of the two drivers.
func onRedis(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	for _, d := range []driver.Driver{Redis{}, Redis{zset: true}} {
		t.Run(d.Identity().String(), func(t *testing.T) {
			t.Parallel()
			test(t, newBench(t, d))
		})
	}
}

func newBench(t *testing.T, d driver.Driver) *bench {
	t.Helper()
	srv := redistest.Redis(t)
	conn := srv.Conn()
	t.Cleanup(func() { conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return &bench{d: d, target: driver.Target{RedisURL: srv.URL()}, conn: conn, ctx: ctx}
}

func (b *bench) open(t *testing.T) driver.Queue {
	t.Helper()
	opened, err := b.d.Open(b.ctx, b.target, queueName)
	require.NoError(t, err)
	t.Cleanup(func() { _ = opened[0].Close() })
	return opened[0]
}

func (b *bench) offer(t *testing.T, q driver.Queue, value string, delay time.Duration) {
	t.Helper()
	require.NoError(t, q.Offer(b.ctx, []byte(value), delay))
}

func (b *bench) take(t *testing.T, q driver.Queue) string {
	t.Helper()
	value, err := q.Take(b.ctx)
	require.NoError(t, err)
	return string(value)
}

func (b *bench) keys() Keys {
	keys, _ := KeysOf(b.d, b.conn, queueName)
	return keys
}

func (b *bench) held(t *testing.T) int64 {
	t.Helper()
	held, err := b.keys().Held(b.ctx)
	require.NoError(t, err)
	return held
}

// inTemp waits until the temp list holds n elements.
func (b *bench) inTemp(t *testing.T, n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		held, err := b.conn.Do(b.ctx, "LLEN", queueName+tempSuffix).Int64()
		return err == nil && held == n
	}, 10*time.Second, time.Millisecond)
}

func TestZSetMoveIsTheScriptOfTheDocument(t *testing.T) {
	const evaluated = "local elements = redis.call('ZRANGEBYSCORE', KEYS[1], 0, ARGV[1]) if #elements > 0 then " +
		"for i, element in ipairs(elements) do redis.call('LPUSH', KEYS[2], element) redis.call('ZREM', KEYS[1], element) end end return elements"
	require.Equal(t, evaluated, strings.Join(strings.Fields(zsetMove), " "))
}

func TestDeliversNotBeforeTheDueTimeAndLeavesNothing(t *testing.T) {
	onRedis(t, func(t *testing.T, b *bench) {
		q := b.open(t)
		require.ErrorContains(t, q.Offer(b.ctx, []byte("v"), -time.Second), "0 or more")
		const delay = 30 * time.Millisecond
		sent, got := time.Now(), map[string]bool{}
		for i := range 20 {
			b.offer(t, q, fmt.Sprintf("message:%02d", i), delay)
		}
		for range 20 {
			got[b.take(t, q)] = true
			require.GreaterOrEqual(t, time.Since(sent), delay-time.Millisecond) // due times are cut to whole milliseconds
		}
		require.Len(t, got, 20)
		require.Zero(t, b.held(t))
		require.NoError(t, q.Close())
		keys, err := b.conn.Do(b.ctx, "KEYS", "*").StringSlice()
		require.NoError(t, err)
		require.Empty(t, keys)
	})
}

// A LIST delivers in the order of offers, and a ZSET in the order of due times, where a value is there once.
func TestOrderAndEqualValues(t *testing.T) {
	b := newBench(t, Redis{})
	q := b.open(t)
	for _, value := range []string{"same", "same", "long"} {
		b.offer(t, q, value, 50*time.Millisecond)
	}
	b.offer(t, q, "short", 0)
	require.Equal(t, "same same long short", strings.Join([]string{b.take(t, q), b.take(t, q), b.take(t, q), b.take(t, q)}, " "))

	b = newBench(t, Redis{zset: true})
	q = b.open(t)
	b.offer(t, q, "same", time.Hour)
	b.offer(t, q, "same", 500*time.Millisecond)
	b.offer(t, q, "short", 0)
	require.EqualValues(t, 2, b.held(t))
	require.Equal(t, "short same", b.take(t, q)+" "+b.take(t, q))
}

func TestZSetCancelsAMessage(t *testing.T) {
	b := newBench(t, Redis{zset: true})
	q := b.open(t)
	b.offer(t, q, "order 7", time.Hour)
	for _, want := range []bool{true, false} {
		removed, err := q.(driver.Remover).Remove(b.ctx, []byte("order 7"))
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
	require.Zero(t, b.held(t))
}

func TestPollsAndCloses(t *testing.T) {
	onRedis(t, func(t *testing.T, b *bench) {
		q := b.open(t)
		poller, ok := q.(driver.Poller)
		require.True(t, ok)
		_, found, err := poller.Poll(b.ctx)
		require.NoError(t, err)
		require.False(t, found)
		b.offer(t, q, "value", 0)
		require.Eventually(t, func() bool {
			value, found, err := poller.Poll(b.ctx)
			return err == nil && found && string(value) == "value"
		}, 10*time.Second, time.Millisecond)
		ended, end := context.WithCancel(b.ctx)
		end()
		_, err = q.Take(ended)
		require.ErrorIs(t, err, context.Canceled)

		require.NoError(t, q.Close())
		require.NoError(t, q.Close())
		require.ErrorIs(t, q.Offer(b.ctx, []byte("v"), 0), driver.ErrClosed)
		_, err = q.Take(b.ctx)
		require.ErrorIs(t, err, driver.ErrClosed)
		_, _, err = poller.Poll(b.ctx)
		require.ErrorIs(t, err, driver.ErrClosed)
	})
}

// Messages that a process moved, but did not deliver, are held, and the next process that opens the queue delivers them.
func TestTheNextProcessTakesOverTheTempList(t *testing.T) {
	onRedis(t, func(t *testing.T, b *bench) {
		q := b.open(t)
		b.offer(t, q, "left", 0)
		b.inTemp(t, 1)
		require.NoError(t, q.Close())
		require.EqualValues(t, 1, b.held(t))
		require.Equal(t, "left", b.take(t, b.open(t)))
		require.Zero(t, b.held(t))
	})
}

func TestStoreReadsAndClears(t *testing.T) {
	onRedis(t, func(t *testing.T, b *bench) {
		b.offer(t, b.open(t), "later", time.Hour)
		var values []string
		require.NoError(t, b.keys().Values(b.ctx, func(v []byte) { values = append(values, string(v)) }))
		require.NotEmpty(t, values)
		require.Contains(t, values[0], "later")
		require.NoError(t, b.keys().Clear(b.ctx))
		require.Zero(t, b.held(t))
	})
}

func FuzzRead(f *testing.F) {
	f.Add("1728625236000:order:7")
	f.Add(":")
	f.Add("-1:")
	f.Fuzz(func(t *testing.T, element string) {
		due, value := Redis{}.read(element)
		if string(value) == element {
			return
		}
		again, same := Redis{}.read(fmt.Sprintf("%d:%s", due.UnixMilli(), value))
		require.Equal(t, due.UnixMilli(), again.UnixMilli())
		require.Equal(t, value, same)
	})
}
