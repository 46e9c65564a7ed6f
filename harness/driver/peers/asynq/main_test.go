package main

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	// programEnv makes a test binary the program.
	programEnv = "DQ_TEST_PEER"
	messages   = 200
)

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// An empty queue holds nothing, what is due is taken and then no longer held, what is not due is held, and a closed queue says so.
func TestQueueDelivers(t *testing.T) {
	d := asynqDriver{TaskCheckInterval: 100 * time.Millisecond, DelayedTaskCheckInterval: 100 * time.Millisecond, Concurrency: 2}
	q, err := d.Open(t.Context(), redistest.Redis(t).URL(), "orders")
	require.NoError(t, err)
	t.Cleanup(func() { _ = q.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	holder, ok := q.(driver.Inspector)
	require.True(t, ok, "a queue that tells pending messages from lost ones")
	held, err := holder.Held(ctx, func([]byte) { t.Error("a value in an empty queue") })
	require.NoError(t, err)
	require.Zero(t, held)

	require.NoError(t, q.Offer(ctx, []byte("now"), 0))
	require.NoError(t, q.Offer(ctx, []byte("later"), time.Hour))
	value, err := q.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "now", string(value))
	var values []string
	require.Eventually(t, func() bool {
		values = nil
		held, err := holder.Held(ctx, func(value []byte) { values = append(values, string(value)) })
		return err == nil && held == 1
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{"later"}, values)

	waiting, leave := context.WithCancel(ctx)
	leave()
	_, err = q.Take(waiting)
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, q.Close())
	require.NoError(t, q.Close(), "a second time")
	_, err = q.Take(ctx)
	require.ErrorIs(t, err, driver.ErrClosed)
}

// The whole way: dq-bench's engine, the test binary as the program, the library, Redis. All messages come once; that some come
// early is the library's, and no condition here.
func TestLoadThroughTheProgram(t *testing.T) {
	srv := redistest.Redis(t)
	t.Setenv(programEnv, "1")
	d, err := spec.Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Consumers, p.Rate, p.Duration, p.Warmup = 5, 4, messages, time.Second, 0
	p.Delay = plan.Fixed(time.Second)
	result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: d, Redis: srv.URL(), RunID: 0xabcd})
	require.NoError(t, err)
	c := result.Counts
	require.EqualValues(t, messages, c.Delivered)
	require.Zero(t, c.Lost+c.Duplicate+c.Pending+c.OfferErrors)
	require.Equal(t, "asynq", result.Driver.Name)
	names, err := client.SMembers(t.Context(), "asynq:queues").Result()
	require.NoError(t, err)
	require.Empty(t, names, "the queue is deleted")
}

func TestOpenTellsOfAServerThatIsNotThere(t *testing.T) {
	_, err := asynqDriver{}.Open(t.Context(), "redis://127.0.0.1:1", "orders")
	require.ErrorContains(t, err, "127.0.0.1:1")
}
