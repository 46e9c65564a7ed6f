package dq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestTransfersLastAsLongAsAnyoneUsesTheQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	first, second := b.delayed(t), b.delayed(t)
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "a second Close counts once")
	require.ErrorIs(t, first.Offer(ctx, "x", 0), dq.ErrClosed)
	require.ErrorIs(t, first.Ready(ctx), dq.ErrClosed)

	require.NoError(t, second.Offer(ctx, "while open", 0))
	takes(t, ctx, b.queue, "while open")

	require.NoError(t, second.Close())
	require.Eventually(t, func() bool {
		channels, err := b.redis.PubSubChannels(ctx, "*").Result()
		return err == nil && len(channels) == 0
	}, testDeadline, time.Millisecond)

	third := b.delayed(t)
	require.NoError(t, third.Offer(ctx, "opened again", 0))
	takes(t, ctx, b.queue, "opened again")
	require.NoError(t, b.client.Close())
	require.ErrorIs(t, third.Ready(ctx), dq.ErrClosed)
	_, err := dq.NewQueue(b.client, "orders", codec.String{})
	require.ErrorIs(t, err, dq.ErrClosed)
}

// testDeadline bounds every wait for something that must happen.
const testDeadline = time.Minute

// A test that needs another process runs this binary with ledgerAt.
func TestMain(m *testing.M) {
	if url := os.Getenv(ledgerAt); url != "" {
		if err := workInProcess(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redistest.MainWithoutLeaks(m)
}

// bundle is a real Redis with a client of it under test and one to look with.
type bundle struct {
	server *redis.Server
	redis  *goredis.Client
	client *dq.Client
	queue  *dq.Taker[string]
	names  wire.Names
}

func setup(t *testing.T, options ...dq.Option) *bundle {
	t.Helper()
	return setupOn(t, redistest.Redis(t), "orders", options...)
}

func setupOn(t *testing.T, s *redis.Server, queue string, options ...dq.Option) *bundle {
	t.Helper()
	return bundleOf(t, s, clientOf(t, connect(t, s.URL()), options...), queue)
}

func bundleOf(t testing.TB, s *redis.Server, client *dq.Client, queue string) *bundle {
	t.Helper()
	return &bundle{server: s, redis: connect(t, s.URL()), client: client, queue: dq.NewTaker(client, queue, codec.String{}), names: wire.NamesOf(queue)}
}

// clientOf returns a client that ends with the test, and in time.
func clientOf(t testing.TB, rdb goredis.UniversalClient, options ...dq.Option) *dq.Client {
	t.Helper()
	client := must(dq.NewClient(rdb, options...))
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	return client
}

func connect(t testing.TB, url string) *goredis.Client {
	t.Helper()
	rdb := goredis.NewClient(must(goredis.ParseURL(url)))
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (b *bundle) delayed(t *testing.T) *dq.Sender[string] {
	t.Helper()
	d := dq.NewSender(b.queue)
	require.NoError(t, d.Ready(deadline(t)))
	return d
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	t.Cleanup(cancel)
	return ctx
}

// async calls f in the background and sends its result.
func async(f func() error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	return ended
}

// on has f called with the events of its type.
func on[E dq.Event](f func(E)) dq.Option {
	return dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(E); ok {
			f(e)
		}
	})
}

// consume takes values by so many workers until ctx or the Client ends, over failures as a caller would.
func consume(ctx context.Context, take func(context.Context) (string, error), workers int, f func(string)) error {
	failed := make(chan error, workers)
	for range workers {
		go func() {
			for {
				v, err := take(ctx)
				switch {
				case err == nil:
					f(v)
				case ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
					failed <- err
					return
				default:
					time.Sleep(20 * time.Millisecond)
				}
			}
		}()
	}
	for range workers - 1 {
		<-failed
	}
	return <-failed
}

// shiftedClock is the clock of the machine, but that it can be set. Its timers keep to the time that was left.
type shiftedClock struct{ by atomic.Int64 }

func (c *shiftedClock) Now() time.Time         { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *shiftedClock) NewTimer() clock.Timer  { return shiftedTimer{clock.Runtime().NewTimer(), c} }
func (c *shiftedClock) shift(by time.Duration) { c.by.Add(int64(by)) }

type shiftedTimer struct {
	clock.Timer
	clock *shiftedClock
}

func (t shiftedTimer) Reset(at time.Time) { t.Timer.Reset(at.Add(-time.Duration(t.clock.by.Load()))) }

// The clock of a machine goes wrong by an hour: the server's does not, and nothing comes early, nor is anything offered for another time.
func TestAClockThatIsSetWrongIsNotFollowed(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, set := &shiftedClock{}, make(chan dq.ClockSet, 1)
			b := setup(t, dq.WithClock(clock), dq.WithClockStepDetection(true), on(func(e dq.ClockSet) { set <- e }))
			ctx, d := deadline(t), b.delayed(t)
			due := time.Now().Add(500 * time.Millisecond)
			require.NoError(t, d.Offer(ctx, "before", 500*time.Millisecond))
			clock.shift(by)
			require.NoError(t, d.Offer(ctx, "after", time.Hour))
			takes(t, deadline(t), b.queue, "before")
			require.WithinRange(t, time.Now(), due.Add(-10*time.Millisecond), due.Add(time.Minute))
			e := <-set
			require.False(t, e.Followed)
			require.InDelta(t, by, e.By, float64(time.Second))

			members, err := b.redis.ZRangeWithScores(ctx, b.names.TimeoutSet, 0, -1).Result()
			require.NoError(t, err)
			require.Len(t, members, 1)
			require.InDelta(t, due.Add(time.Hour).UnixMilli(), members[0].Score, 60_000)

			clock.shift(-by)
			require.NoError(t, d.Offer(ctx, "put right", time.Hour))
			require.True(t, (<-set).Followed)
		})
	}
}

// Redisson's clients follow the wall clock, and so does one that may not ask the server.
func TestAClockThatNobodyCanJudgeIsFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options []dq.Option
		rights  string
	}{
		"without the right to TIME": {[]dq.Option{dq.WithClockStepDetection(true)}, "-time"},
		"strict":                    {[]dq.Option{dq.WithClockStepDetection(true), dq.WithRedissonCommands()}, "+time"},
		"a clock of one's own":      {nil, "+time"},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &shiftedClock{}
			b := setup(t, append(c.options, dq.WithClock(clock))...)
			ctx := deadline(t)
			require.NoError(t, b.redis.Do(ctx, "ACL", "SETUSER", "default", c.rights).Err())
			d := b.delayed(t)
			require.NoError(t, d.Offer(ctx, "in an hour", time.Hour))
			clock.shift(2 * time.Hour)
			require.NoError(t, d.Offer(ctx, "now", 0))
			require.ElementsMatch(t, []string{"in an hour", "now"}, takeAll(t, deadline(t), b.queue, 2))
		})
	}
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
