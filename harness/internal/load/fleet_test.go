package load

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A restart loses the messages in memory: exactly the waiting ones. A member that opens slowly is waited for, even if it is there
// after the last message should have been sent.
func TestRestartLosesWhatIsOnlyInMemory(t *testing.T) {
	for _, opensIn := range []time.Duration{0, 4 * time.Second} {
		p := testPlan()
		p.Duration, p.MaxScheduleLag, p.DrainTimeout = 4*time.Second, time.Second, time.Second
		p.Fleet = []plan.Member{{Offers: true, Takes: true, To: 2001 * time.Millisecond}, {Offers: true, Takes: true, From: 3 * time.Second}}
		var opened atomic.Bool
		out := virtual(t, wrapped{memory(), func(q driver.Queue) driver.Queue {
			if opened.Swap(true) {
				time.Sleep(opensIn)
			}
			return q
		}}, p)
		// 2.001 s at 500/s are 1001 messages, of which 501 were due, and some more once the offers are
		// known to be answered; the items of the gap are sent late.
		require.InDelta(t, 500, out.Counts.Lost, 20)
		require.Equal(t, run.Counts{Offered: 2000, Delivered: 2000 - out.Counts.Lost, Lost: out.Counts.Lost}, out.Counts)
		require.False(t, out.Verdict.Passed)
		require.InEpsilon(t, time.Second+opensIn, out.Histograms.ScheduleLag.Max(), .01)
		require.Equal(t, []string{"driver offers and takes to 2.001s", "driver offers and takes from 3s"}, out.Scenario.Fleet)
		lost, err := run.ParseSLO("lost>0")
		require.NoError(t, err)
		require.Equal(t, opensIn == 0, out.Judge(nil, lost).Passed, out.Verdict.Text)
	}
}

// A member that closes waits for the answers to its offers.
func TestAMemberThatClosesHasItsOffersAnswered(t *testing.T) {
	p := testPlan()
	p.MaxScheduleLag = 10 * time.Second
	p.Fleet = []plan.Member{{Offers: true, Takes: true, To: 1001 * time.Millisecond}, {Offers: true, Takes: true, From: 1001 * time.Millisecond}}
	out := virtual(t, faulty(func(q *faultyQueue, ctx context.Context, _ int64, value []byte, delay time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(30 * time.Millisecond): // longer than there is between two offers of a producer
		}
		return q.Queue.Offer(ctx, value, delay)
	}), p)
	require.Zero(t, out.Counts.OfferErrors, "%v", out.Notes)
	require.Equal(t, int64(1000), out.Counts.Offered)
}

// A removal that says yes and does nothing is found out.
type lyingQueue struct{ driver.Queue }

func (lyingQueue) Remove(context.Context, []byte) (bool, error) { return true, nil }

// Messages cancelled in time are never delivered; the rest are, and one cancelled after its due time was delivered already.
func TestCancelledMessages(t *testing.T) {
	lies := wrapped{memory(), func(q driver.Queue) driver.Queue { return lyingQueue{q} }}
	for name, tc := range map[string]struct {
		driver           spec.Driver
		cancel           plan.Cancel
		removed, revived float64
		says             string
	}{
		"in time":  {memory(), plan.Cancel{Share: .5, After: 500 * time.Millisecond}, 500, 0, "none lost"},
		"too late": {memory(), plan.Cancel{Share: 1, After: 1001 * time.Millisecond}, 0, 0, "All 1000 messages delivered"},
		"a lie":    {lies, plan.Cancel{Share: .5, After: 100 * time.Millisecond}, 0, 500, "delivered although cancelled"},
	} {
		p := testPlan()
		p.Cancel = tc.cancel
		out := virtual(t, tc.driver, p)
		require.InDelta(t, tc.removed, out.Counts.Removed, tc.removed/10, name)
		require.InDelta(t, tc.revived, out.Counts.Revived, tc.revived/10, name)
		require.Equal(t, int64(1000), out.Counts.Delivered+out.Counts.Removed)
		require.InDelta(t, tc.cancel.Share*1000, out.Histograms.RemoveRTT.Count(), 50)
		require.Equal(t, tc.revived == 0, out.Verdict.Passed, out.Verdict.Text)
		require.Contains(t, out.Verdict.Text, tc.says)
		require.Equal(t, name == "too late", len(out.Notes) > 0, "%v", out.Notes)
	}
}

// Undelivered messages of the warm-up are lost, or still held.
func TestALostWarmUpFailsTheRun(t *testing.T) {
	p := testPlan()
	p.Warmup, p.DrainTimeout = time.Second, time.Second
	out := virtual(t, faulty(func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error {
		switch {
		case n <= 100:
			return nil
		case n <= 150:
			delay = time.Hour
		}
		return q.Queue.Offer(ctx, value, delay)
	}), p)
	require.EqualValues(t, 100, out.Warmup.Lost)
	require.EqualValues(t, 50, out.Warmup.Pending)
	require.EqualValues(t, 1000, out.Counts.Delivered)
	require.False(t, out.Verdict.Passed)
	require.Contains(t, out.Verdict.Text, "100 of the warm-up lost")
	e := newEngine(Options{Plan: p, Driver: memory()})
	e.phases[plan.Warmup] = e.newPhase(plan.Warmup, time.Now())
	e.fault(e.members[0], time.Now(), "died")
	require.True(t, e.faults[0].Warmup)
}

// Messages that are not due when the run ends are pending, which is no fault.
func TestHorizonLeavesWhatIsNotDuePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Delay = plan.Delay{Spans: []plan.Span{{Min: time.Second, Max: time.Second}, {Min: time.Hour, Max: time.Hour}}}
		p.Horizon = 2 * time.Second
		start := time.Now()
		out := runVirtual(t.Context(), t, memory(), p)
		require.Less(t, time.Since(start), 5*time.Second)
		require.True(t, out.Verdict.Passed, out.Verdict.Text)
		require.Equal(t, out.Counts.Pending, out.Counts.NotDue)
		require.InDelta(t, 500, out.Counts.Pending, 50)
		require.Equal(t, int64(1000), out.Counts.Delivered+out.Counts.Pending)
		require.Contains(t, out.Verdict.Text, "not due yet")
	})
}

// A consumer that polls every 3 s finds a message up to 3 s late.
func TestPollingConsumersAreLate(t *testing.T) {
	p := testPlan()
	p.Producers, p.Consumers, p.Rate, p.Duration, p.Poll = 1, 1, .1, 100*time.Second, 3*time.Second
	out := virtual(t, memory(), p)
	require.Equal(t, run.Counts{Offered: 10, Delivered: 10}, out.Counts)
	require.LessOrEqual(t, out.Histograms.Lateness.Max(), int64(3*time.Second))
	require.Greater(t, out.Histograms.Lateness.Max(), int64(time.Second))
}

func TestDriverThatLacksWhatThePlanNeeds(t *testing.T) {
	polls, cancels := testPlan(), testPlan()
	polls.Poll, cancels.Cancel.Share = time.Second, .5
	for _, p := range []plan.Plan{polls, cancels} {
		_, err := Run(t.Context(), Options{Plan: p, Driver: faulty(nil)})
		require.ErrorAs(t, err, new(*driver.CapabilityError))
	}
	_, err := Run(t.Context(), Options{Driver: faulty(nil)})
	require.ErrorContains(t, err, "drain timeout: expected", "a plan that is wrong")
}

func TestUsageReadsInfo(t *testing.T) {
	process, u := readInfo("# Server\r\nrun_id:abc\r\n# Replication\r\nrole:master\r\n# Commandstats\r\ncmdstat_get:calls=9,usec=1\r\n" +
		"cmdstat_zrangebyscore:calls=12,usec=34,usec_per_call=2.83,rejected_calls=0,failed_calls=0\r\n" +
		"# Stats\r\ntotal_commands_processed:100\r\n# CPU\r\nused_cpu_sys:0.25\r\nused_cpu_user:1.5\r\nused_cpu_sys_children:9\r\n")
	require.Equal(t, "abc master", process)
	require.Equal(t, run.ServerStats{TransferCalls: 12, Commands: 100, CPUSeconds: 1.75}, u)
	_, none := readInfo("")
	_, _, err := usages{"": none}.since(usages{"": none})
	require.ErrorIs(t, err, errNoStatistics)
}

// The figures of two processes are never subtracted, whichever are the greater ones.
func TestUsageIsThatOfTheSameProcesses(t *testing.T) {
	of := func(calls, n int64, s float64) run.ServerStats {
		return run.ServerStats{TransferCalls: calls, Commands: n, CPUSeconds: s}
	}
	before := usages{"a master": of(10, 40, 1), "b master": of(1, 1, 1)}
	all, busiest, err := usages{"a master": of(12, 100, 1.75), "b master": of(1, 2, 1.5)}.since(before)
	require.NoError(t, err)
	require.Equal(t, of(2, 61, 1.25), all)
	require.InDelta(t, .75, busiest, 0)
	more := of(99, 99, 9)
	for _, others := range []usages{
		{"a master": more, "c master": more}, {"a master": more, "b master": more, "c master": more}, {"a master": more}, {"a master": more, "b slave": more},
		{"a master": more, "b master": of(0, 1, 1)}, // although the other did more than it lacks
	} {
		_, _, err := others.since(before)
		require.ErrorIs(t, err, errOtherServers)
	}
}

// Parsed is the implementation that a --driver names.
func Parsed(t *testing.T, name string) spec.Driver {
	t.Helper()
	d, err := spec.Parse(name)
	require.NoError(t, err)
	return d
}

// OnRedis gives a run a server, and a queue of its own there.
func OnRedis(t *testing.T, srv *redis.Server, o *Options) goredis.UniversalClient {
	t.Helper()
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	o.RunID, o.Plan.Queue, o.Redis = 7, "", srv.URL()
	return client
}

func requireNoKeys(t *testing.T, client goredis.UniversalClient) {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "nothing is left on the server")
}

// A run leaves nothing on the server, whatever keys its implementation has, and does not touch a queue in use.
func TestRunOnRedis(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dq", "redis-list", "redis-zset"} {
		t.Run(name, func(t *testing.T) {
			p := testPlan()
			p.Delay, p.Duration, p.Warmup = plan.Between(50*time.Millisecond, 100*time.Millisecond), 300*time.Millisecond, 100*time.Millisecond
			o := Options{Plan: p, Driver: Parsed(t, name)}
			srv := redistest.Redis(t)
			client := OnRedis(t, srv, &o)
			out, err := Run(t.Context(), o)
			require.NoError(t, err)
			require.Equal(t, run.Counts{Offered: 150, Delivered: 150}, out.Counts)
			require.Empty(t, out.Notes)
			require.Positive(t, out.ServerStats.Commands)
			require.Equal(t, name != "redis-list", out.ServerStats.TransferCalls > 0)
			requireNoKeys(t, client)

			keys, _ := spec.KeysOf(o.Driver, nil, out.Scenario.Queue)
			require.NoError(t, client.Do(t.Context(), "RPUSH", keys.Lists[0], "in use").Err())
			_, err = Run(t.Context(), o)
			require.ErrorContains(t, err, "holds 1 messages already")
			e := newEngine(o)
			e.conn = srv.Conn()
			defer e.conn.Close()
			e.cleanUp(t.Context(), run.Counts{Pending: 7}, nil)
			require.Equal(t, []string{`queue "dq-bench:00000007" is kept: it holds 7 messages`}, e.notes)
		})
	}
}

func TestConnectionsOfAName(t *testing.T) {
	list := "id=3 addr=127.0.0.1:1 laddr=127.0.0.1:2 fd=8 name=part age=1 flags=b cmd=blpop user=default\n" +
		"id=4 addr=127.0.0.1:3 fd=9 name= age=1 flags=N cmd=client|list\n" +
		"id=5 addr=127.0.0.1:4 fd=9 name=part-2 age=1 flags=b cmd=blpop\n" +
		"id=17 addr=127.0.0.1:5 fd=9 name=part age=1 flags=N cmd=evalsha\n"
	require.Equal(t, []string{"3", "17"}, connections(list, "part"))
	require.Empty(t, connections(list, "other"))
}
