package load_test

import (
	"context"
	"os"
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
	p.Delay, p.Queue = plan.Between(100*time.Millisecond, time.Second), "own"
	var once sync.Once
	var doing sync.WaitGroup
	o := load.Options{Plan: p, Driver: d, Progress: func(p load.Progress) {
		if p.Offered >= 200 {
			once.Do(func() { doing.Go(func() { do(srv) }) })
		}
	}}
	load.OnRedis(t, srv, &o)
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

// What a server did is told of the one that was there all the time, or not at all, and no objective on it is met.
func TestNoServerFiguresAcrossARestartOrAFailover(t *testing.T) {
	t.Parallel()
	kept, sentinels := redistest.Process(t, "--appendonly", "yes"), redistest.Sentinel(t, 1)
	busy(t, sentinels)
	for name, tc := range map[string]struct {
		srv    *redis.Server
		length time.Duration
		do     func(*redis.Server)
	}{
		"restart": {kept, 2500 * time.Millisecond, func(s *redis.Server) {
			require.NoError(t, s.Nodes()[0].Kill())
			require.NoError(t, s.Nodes()[0].Restart(t.Context()))
		}},
		"fail-over": {sentinels.Server, 4 * time.Second, func(*redis.Server) {
			_, err := sentinels.Failover(t.Context())
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := meanwhile(t, tc.srv, tc.length, tc.do)
			require.Empty(t, r.ServerGone)
			require.Nil(t, r.ServerStats)
			require.Contains(t, r.Notes, "no server statistics: a server was restarted during the run, or another one took over, joined or went, and its work is not counted in full")
			slo, err := run.ParseSLO("transfer_calls_per_message<=1000")
			require.NoError(t, err)
			require.False(t, slo.Evaluate(r).Met)
		})
	}
}

// busy has each node count more commands than a run makes, so that no difference between two of them is below zero.
func busy(t *testing.T, set *redistest.SentinelSet) {
	t.Helper()
	for i, node := range set.Nodes() {
		client := redistest.Client(node)
		defer client.Close()
		pipeline := client.Pipeline()
		for range 20000 * i {
			pipeline.Do(t.Context(), "ZRANGEBYSCORE", "none", "0", "1")
		}
		_, err := pipeline.Exec(t.Context())
		require.NoError(t, err)
	}
}

// A server that freezes holds the offers up, and the run fails for that: it is valid, and is compared.
func TestAFrozenServerFailsTheRun(t *testing.T) {
	t.Parallel()
	d, err := spec.Parse("dq")
	require.NoError(t, err)
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup, p.Producers, p.Consumers, p.Rate, p.Duration = false, 0, 10, 4, 500, 3*time.Second
	p.Delay, p.Queue, p.MaxScheduleLag = plan.Fixed(200*time.Millisecond), "own", 600*time.Millisecond
	at := 500 * time.Millisecond
	p.Faults = []plan.Fault{{Kind: "halt", At: plan.Span{Min: at, Max: at}, For: 1500 * time.Millisecond}}
	o := load.Options{Plan: p, Driver: d, Serve: []string{os.Args[0], "serve"}}
	onRedis(t, &o)
	result, err := load.Run(t.Context(), o)
	require.NoError(t, err)
	r := result.Report
	r.Faults = nil          // which would excuse it
	r.Machine.BusyShare = 0 // by whatever else runs on the machine of the test
	require.False(t, r.Judge(nil).Passed)
	require.True(t, r.Valid(), r.Verdict.Text)
	require.Contains(t, r.Verdict.Text, "the system under test held up")
	require.Contains(t, r.Verdict.Text, "response time p99")
	require.Greater(t, r.Offers.LateForSystem, r.Offers.LateForTool+r.Offers.LateForMachine, "%+v", r.Offers)
	require.Zero(t, r.Counts.Lost)
}
