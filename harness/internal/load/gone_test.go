package load_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// meanwhile runs a plan of so long on a server, and does something to it once 200 messages were offered.
func meanwhile(t *testing.T, srv *redis.Server, length time.Duration, do func(*redis.Server)) *run.Document {
	t.Helper()
	d, err := spec.Parse("dq")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup, p.DrainTimeout = false, 0, 2*time.Second
	p.Producers, p.Consumers, p.Rate, p.Duration = 5, 3, 200, length
	p.Delay, p.Queue = plan.Delay{Min: 100 * time.Millisecond, Max: time.Second}, "own"
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	var once sync.Once
	var doing sync.WaitGroup
	o := load.Options{
		Plan: p, Driver: d, RunID: 7, OwnQueue: true, RedisURL: srv.URL(), Redis: &load.Redis{Conn: redis.On(client), Several: srv.Several()},
		Progress: func(p load.Progress) {
			if p.Offered >= 200 {
				once.Do(func() { doing.Go(func() { do(srv) }) })
			}
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := load.Run(ctx, o)
	require.NoError(t, err)
	doing.Wait()
	result.Report.Judge(nil)
	return result.Report
}

// A run whose server is gone is given up, and the fate of its messages is unknown.
func TestAServerThatIsGoneEndsTheRun(t *testing.T) {
	t.Parallel()
	r := meanwhile(t, redistest.Redis(t), time.Hour, func(s *redis.Server) { require.NoError(t, s.Close()) })
	c := r.Counts
	require.Zero(t, c.Lost+c.Pending+c.Duplicate)
	require.Positive(t, c.Unknown)
	require.Equal(t, c.Offered, c.Delivered+c.Unknown)
	bySecond := int64(0)
	for _, i := range r.Intervals {
		bySecond += i.Unknown
	}
	require.Equal(t, c.Unknown, bySecond)
	require.Contains(t, r.ServerGone, "the server was gone")
	require.False(t, r.Verdict.Passed)
	require.Contains(t, r.Verdict.Text, "of unknown fate")
}

// One that does not answer for longer than it may refuse connections is not gone.
func TestAServerThatDoesNotAnswerIsNotGone(t *testing.T) {
	t.Parallel()
	r := meanwhile(t, redistest.Redis(t), 2*time.Second, func(s *redis.Server) {
		client := redistest.Client(s)
		defer client.Close()
		require.NoError(t, client.Do(context.Background(), "CLIENT", "PAUSE", "1500").Err())
	})
	require.Empty(t, r.ServerGone)
	require.Zero(t, r.Counts.Lost+r.Counts.Unknown+r.Counts.Pending)
}
