package load_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// TestMain makes the test binary, called with serve and the name of an implementation, a program that serves it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "adversary" {
		adversary(os.Args[2])
		return
	}
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		os.Exit(redistest.Waiting{M: m}.Run())
	}
	d, err := spec.Parse(os.Args[len(os.Args)-1])
	if err == nil {
		err = serve.Serve(os.Stdin, os.Stdout, d)
	}
	if err != nil {
		_, _ = io.WriteString(os.Stderr, err.Error())
		os.Exit(1)
	}
}

// killPlan kills the only process while it takes what is all due, and has another go on.
func killPlan() plan.Plan {
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup = false, 500*time.Millisecond
	p.Producers, p.Consumers, p.Rate, p.Duration = 5, 3, 1000, 2*time.Second
	p.Delay = plan.Delay{Spans: []plan.Span{{Min: 980 * time.Millisecond, Max: 980 * time.Millisecond}}, Together: true}
	p.Queue, p.DrainTimeout = "own", 1500*time.Millisecond
	p.Fleet = []plan.Member{
		{Offers: true, Takes: true, To: time.Second, Kill: true}, {Offers: true, Takes: true, From: 1100 * time.Millisecond},
	}
	return p
}

// onRedis gives a run the server that its implementation needs, if any.
func onRedis(t *testing.T, o *load.Options) {
	t.Helper()
	if _, stored := spec.KeysOf(o.Driver, nil, ""); !stored {
		return
	}
	srv := redistest.Redis(t)
	load.OnRedis(t, srv, o)
	if len(o.Plan.Faults) > 0 {
		in, err := load.NewInjector(srv, o.Plan)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, in.Close()) })
		o.RedisURL, o.Injector = in.URL(), in
	}
}

// kill runs the plan, and checks that every message is accounted for.
func kill(t *testing.T, driverSpec string, p plan.Plan) *run.Document {
	t.Helper()
	d, err := spec.Parse(driverSpec)
	require.NoError(t, err)
	o := load.Options{Plan: p, Driver: d, RunID: 7, OwnQueue: true, Serve: []string{os.Args[0], "serve"}}
	onRedis(t, &o)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	result, err := load.Run(ctx, o)
	require.NoError(t, err)
	r := result.Report
	c, h := r.Counts, r.Histograms
	require.Equal(t, c.Offered, c.Delivered+c.Pending+c.Lost)
	require.Zero(t, c.Early+c.Pending+c.Foreign+c.Corrupt, "%+v", c)
	require.Equal(t, []int64{c.Delivered, c.Delivered}, []int64{h.Lateness.Count(), h.PastDue.Count()})
	require.Equal(t, []int64{h.OfferRTT.Count(), h.OfferRTT.Count()}, []int64{h.ResponseTime.Count(), h.ScheduleLag.Count()})
	slow := strings.Count(fmt.Sprint(r.Notes), "context canceled") // its end cut offers of the process that follows, whose senders grow fourfold
	require.LessOrEqual(t, c.OfferErrors, int64(p.Producers*(1+4*slow)), "a producer has one offer under way: %q", r.Notes)
	delivered := int64(0)
	for _, i := range r.Intervals {
		delivered += i.Delivered
	}
	require.Equal(t, []int64{c.Delivered, c.Delivered}, []int64{load.Logged(result.Log.Bytes()), delivered})
	require.Empty(t, r.AgentFaults, "as it was meant to end")
	return r
}

// A process that is killed loses what it had taken from Redis and not handed over, which is a value of each consumer at most; all
// else comes by the process that follows. That takes over the temp list of redis-zset: what a consumer held at that moment comes
// twice if it was not acknowledged.
func TestKilledProcessLosesWhatItsConsumersHeld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dq", "dq:3.16.6,faithful", "exec:'" + os.Args[0] + "' serve dq", "redis-zset"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := killPlan()
			r := kill(t, name, p)
			require.Positive(t, r.Counts.Delivered)
			require.LessOrEqual(t, r.Counts.Lost+r.Counts.Duplicate, int64(p.Consumers))
			if name != "redis-zset" {
				require.Zero(t, r.Counts.Duplicate)
			}
			require.Equal(t, []string{"driver offers and takes until killed at 1s", "driver offers and takes from 1.1s"}, r.Scenario.Fleet)
		})
	}
}

// What a killed process had in memory is gone: all that was not due.
func TestKilledProcessLosesWhatIsOnlyInMemory(t *testing.T) {
	t.Parallel()
	p := killPlan()
	p.Delay = plan.Fixed(1500 * time.Millisecond)
	r := kill(t, "memory", p)
	require.Zero(t, r.Counts.Duplicate)
	require.Positive(t, r.Counts.Lost)
	require.LessOrEqual(t, r.Counts.Lost, int64(1000), "what was offered in the second before")
	require.GreaterOrEqual(t, r.Counts.Delivered, int64(1000), "what was offered after")
}

// The real Redisson loses as much.
func TestKilledRedissonLosesWhatItsConsumersHeld(t *testing.T) {
	redistest.Redisson(t, "4.7.0")
	p := killPlan()
	p.Warmup, p.Rate = 3*time.Second, 500
	r := kill(t, "redisson:4.7.0", p)
	require.Zero(t, r.Counts.Duplicate)
	require.Positive(t, r.Counts.Delivered)
	require.LessOrEqual(t, r.Counts.Lost, int64(p.Consumers))
}

// A member that is never killed, for the run is over before, ends as others do.
func TestRunEndsBeforeAMemberIsKilled(t *testing.T) {
	t.Parallel()
	p := killPlan()
	p.Rate, p.Warmup, p.Duration, p.Delay = 100, 0, 200*time.Millisecond, plan.Fixed(10*time.Millisecond)
	p.Fleet = []plan.Member{{Offers: true, Takes: true, To: time.Hour, Kill: true}, {Offers: true, Takes: true}}
	d, err := spec.Parse("memory")
	require.NoError(t, err)
	result, err := load.Run(t.Context(), load.Options{Plan: p, Driver: d, RunID: 7, Serve: []string{os.Args[0], "serve"}})
	require.NoError(t, err)
	require.Equal(t, run.Counts{Offered: 20, Delivered: 20}, result.Report.Counts)
	require.Empty(t, result.Report.Notes)
}

// Who cannot be killed is refused before anything is offered.
func TestWhoCannotBeKilled(t *testing.T) {
	memory, err := spec.Parse("memory")
	require.NoError(t, err)
	_, err = load.Run(t.Context(), load.Options{Plan: killPlan(), Driver: memory})
	require.ErrorContains(t, err, "expected a process of its own")
}
