package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/load"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// programEnv makes the test binary the program.
const programEnv = "DQ_TEST_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		os.Args = os.Args[:1]
		main()
		return
	}
	os.Exit(m.Run())
}

func open(t *testing.T) *queue {
	t.Helper()
	srv := servertest.Redis(t)
	d := asynqDriver{Check: 100 * time.Millisecond, Forward: 100 * time.Millisecond, Handlers: 2}
	opened, err := d.Open(t.Context(), driver.Target{RedisURL: srv.URL(), Queue: "orders"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = opened.Close() })
	q, ok := opened.(*queue)
	require.True(t, ok)
	return q
}

func TestQueueDeliversAndLeavesNothing(t *testing.T) {
	q := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	held, err := q.Held(ctx)
	require.NoError(t, err)
	require.Zero(t, held)
	require.NoError(t, q.Values(ctx, func([]byte) { t.Error("a value in an empty queue") }))

	require.NoError(t, q.Offer(ctx, []byte("now"), 0))
	require.NoError(t, q.Offer(ctx, []byte("later"), time.Hour))
	value, err := q.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "now", string(value))
	require.Eventually(t, func() bool {
		held, err := q.Held(ctx)
		return err == nil && held == 1
	}, 10*time.Second, 10*time.Millisecond)
	var values []string
	require.NoError(t, q.Values(ctx, func(value []byte) { values = append(values, string(value)) }))
	require.Equal(t, []string{"later"}, values)

	require.NoError(t, q.Close())
	_, err = q.Take(ctx)
	require.ErrorIs(t, err, driver.ErrClosed)
}

func TestTakeEndsWithItsContext(t *testing.T) {
	q := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := q.Take(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOpenTellsOfAServerThatIsNotThere(t *testing.T) {
	_, err := asynqDriver{}.Open(t.Context(), driver.Target{RedisURL: "redis://127.0.0.1:1", Queue: "orders"})
	require.ErrorContains(t, err, "127.0.0.1:1")
}

func TestIdentityNamesTheSettings(t *testing.T) {
	require.Regexp(t, `^asynq:\d+\.\d+\.\d+,check=1s,forward=2s$`, asynqDriver{Check: time.Second, Forward: 2 * time.Second}.Identity().String())
}

// The whole way: dq-bench's engine, the program, asynq, Redis. That messages come
// early is asynq's, and no condition here.
func TestLoadThroughTheProgram(t *testing.T) {
	srv := servertest.Redis(t)
	t.Setenv(programEnv, "1")
	d, err := driver.Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	client := srv.NewClient()
	defer client.Close()
	p := load.DefaultPlan()
	p.Producers, p.Consumers, p.Rate, p.Duration, p.Warmup, p.Queue = 5, 4, 200, time.Second, 0, "dq-bench:test"
	p.Delay = load.Delay{Min: time.Second, Max: time.Second}
	result, err := load.Run(t.Context(), load.Options{
		Plan: p, Driver: d, RedisURL: srv.URL(), RunID: 0xabcd, OwnQueue: true,
		Redis: &load.Redis{Client: client, Queue: p.Queue},
	})
	require.NoError(t, err)
	c := result.Report.Counts
	require.EqualValues(t, 200, c.Delivered)
	require.Zero(t, c.Lost+c.Duplicate+c.Pending+c.OfferErrors)
	require.Equal(t, "asynq", result.Report.Driver.Name)
	queues, err := client.SMembers(t.Context(), "asynq:queues").Result()
	require.NoError(t, err)
	require.Empty(t, queues, "the queue is deleted")
}
