// Package peertest judges a peer as dq-bench uses it: as a queue, and as a
// program.
package peertest

import (
	"context"
	"os"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	// programEnv makes a test binary the program.
	programEnv = "DQ_TEST_PEER"
	// Messages is how many messages Load offers.
	Messages = 200
)

// Main is what TestMain calls: the program if Load started the binary, else the
// tests.
func Main(m *testing.M, program func()) {
	if os.Getenv(programEnv) != "" {
		os.Args = os.Args[:1]
		program()
		return
	}
	os.Exit(m.Run())
}

// Open opens a queue of the driver on a server of the test's own.
func Open(t *testing.T, d driver.Driver) driver.Queue {
	t.Helper()
	srv := redistest.Redis(t)
	queues, err := d.Open(t.Context(), driver.Target{RedisURL: srv.URL()}, "orders")
	require.NoError(t, err)
	t.Cleanup(func() { _ = queues[0].Close() })
	return queues[0]
}

// Delivers shows that an empty queue holds nothing, that what is due is taken and
// then no longer held, that what is not due is held, and that a closed queue says
// so.
func Delivers(t *testing.T, q driver.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	holder, ok := q.(driver.Inspector)
	require.True(t, ok, "a queue that tells pending messages from lost ones")
	held, err := holder.Held(ctx)
	require.NoError(t, err)
	require.Zero(t, held)
	require.NoError(t, holder.Values(ctx, func([]byte) { t.Error("a value in an empty queue") }))

	require.NoError(t, q.Offer(ctx, []byte("now"), 0))
	require.NoError(t, q.Offer(ctx, []byte("later"), time.Hour))
	value, err := q.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "now", string(value))
	require.Eventually(t, func() bool {
		held, err := holder.Held(ctx)
		return err == nil && held == 1
	}, 10*time.Second, 10*time.Millisecond)
	var values []string
	require.NoError(t, holder.Values(ctx, func(value []byte) { values = append(values, string(value)) }))
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

// Load is the whole way: dq-bench's engine, the test binary as the program, the
// library, Redis. All Messages come once; that some come early is the library's,
// and no condition here. It returns the report, and a client of the server.
func Load(t *testing.T) (*run.Document, goredis.UniversalClient) {
	t.Helper()
	srv := redistest.Redis(t)
	t.Setenv(programEnv, "1")
	d, err := spec.Parse("exec:'" + os.Args[0] + "'")
	require.NoError(t, err)
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Consumers, p.Rate, p.Duration, p.Warmup, p.Queue = 5, 4, Messages, time.Second, 0, "dq-bench:test"
	p.Delay = plan.Delay{Min: time.Second, Max: time.Second}
	result, err := load.Run(t.Context(), load.Options{
		Plan: p, Driver: d, RedisURL: srv.URL(), RunID: 0xabcd, OwnQueue: true,
		Redis: &load.Redis{Conn: redis.On(client), Queue: p.Queue},
	})
	require.NoError(t, err)
	c := result.Report.Counts
	require.EqualValues(t, Messages, c.Delivered)
	require.Zero(t, c.Lost+c.Duplicate+c.Pending+c.OfferErrors)
	return result.Report, client
}
