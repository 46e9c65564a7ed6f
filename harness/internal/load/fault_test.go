package load

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const deadline = 30 * time.Second

// client tries each command once, and never again.
func client(t *testing.T, url string) *goredis.Client {
	t.Helper()
	options, err := goredis.ParseURL(url)
	require.NoError(t, err)
	options.MaxRetries, options.DialerRetries = -1, 1
	options.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, addr)
	}
	c := goredis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// prepared has the faults of a plan ready on a server of their own.
func prepared(t *testing.T, redisSpec string, faults ...plan.Fault) (*injector, *redis.Server, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	s, err := startServer(ctx, redisSpec, faults, nil)
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	p := plan.DefaultPlan()
	p.Queue, p.Faults, p.Duration = "q", faults, time.Minute
	require.NoError(t, p.Validate())
	proxy, err := redis.NewProxy(redis.DialTo(s.Addr))
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return &injector{faults: faults, server: s, proxy: proxy, admin: s.Conn()}, s, ctx
}

// While a fault lasts a client meets the error that it is named for. A run that is interrupted undoes the fault under way, and does
// no other one.
func TestEachFaultIsMetWhileItLasts(t *testing.T) {
	t.Parallel()
	const long = 20 * time.Second
	for _, tc := range []struct {
		fault plan.Fault
		want  string
	}{
		{plan.Fault{Kind: "stall", For: long}, "timeout"},
		{plan.Fault{Kind: "slow", For: long, Latency: long}, "timeout"},
		{plan.Fault{Kind: "refuse", For: long}, "refused"},
		{plan.Fault{Kind: plan.LoseReplies, For: long, Count: 1, Commands: []string{"set"}}, "reset"},
		{plan.Fault{Kind: plan.LoseRequests, For: long, Count: 1, Commands: []string{"SET"}}, "reset"},
		{plan.Fault{Kind: "pause-clients", For: 5 * time.Second}, "timeout"}, // it ends by itself
		{plan.Fault{Kind: "oom", For: long}, "OOM"},
		{plan.Fault{Kind: "readonly", For: long}, "READONLY"},
		{plan.Fault{Kind: "max-clients", For: long}, "reset"}, // go-redis does not pass the server's reason on
		{plan.Fault{Kind: "halt", For: long}, "timeout"},
		{plan.Fault{Kind: "kill-server", For: long, AOF: "always"}, "reset"},
	} {
		t.Run(tc.fault.Kind, func(t *testing.T) {
			t.Parallel()
			in, s, ctx := prepared(t, "process", tc.fault, plan.Fault{Kind: "flush-all", At: long + time.Second})
			running, interrupt := context.WithCancel(ctx)
			ended := make(chan []run.FaultEvent, 1)
			go func() { ended <- in.run(running, time.Now()) }()
			c := client(t, s.URLBy(in.proxy.Addr)+"?read_timeout="+map[bool]string{true: "300ms", false: "10s"}[tc.want == "timeout"])
			set := func() error { return c.Set(ctx, "key", "value", 0).Err() }
			require.Eventually(t, func() bool { return is(set(), tc.want) }, deadline, time.Millisecond, "%s was not met", tc.want)
			interrupt()
			events := <-ended
			require.Eventually(t, func() bool { return set() == nil }, deadline, time.Millisecond)
			require.Len(t, events, 1)
			require.Empty(t, events[0].Error)
		})
	}
}

// Faults without a duration are done when run returns.
func TestFaultsThatAreDoneAtOnce(t *testing.T) {
	t.Parallel()
	in, s, ctx := prepared(t, "process",
		plan.Fault{Kind: "flush-scripts", At: 0}, plan.Fault{Kind: "cut", At: 1}, plan.Fault{Kind: "kill-clients", At: 2},
	)
	c := client(t, s.URLBy(in.proxy.Addr))
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	sha := c.ScriptLoad(ctx, "return 1").Val()
	events := in.run(ctx, time.Now())
	_, err = sub.Receive(ctx)
	require.Error(t, err, "it is cut")
	for _, e := range events {
		require.Empty(t, e.Error, e.Kind)
	}
	beside := redistest.Client(s)
	defer beside.Close()
	require.Equal(t, []bool{false}, beside.ScriptExists(ctx, sha).Val())
}

// A server that has no file comes back empty, one that has comes back as it was.
func TestWhatAKilledServerKeeps(t *testing.T) {
	t.Parallel()
	for aof, kept := range map[string]int64{"always": 1, "everysec": 1, "no": 1, "off": 0} {
		t.Run(aof, func(t *testing.T) {
			t.Parallel()
			in, s, ctx := prepared(t, "process", plan.Fault{Kind: "kill-server", For: 50 * time.Millisecond, AOF: aof})
			c := client(t, s.URLBy(in.proxy.Addr))
			require.NoError(t, c.Set(t.Context(), "key", "value", 0).Err())
			require.Empty(t, in.run(ctx, time.Now())[0].Error)
			beside := redistest.Client(s)
			defer beside.Close()
			require.Equal(t, kept, beside.Exists(t.Context(), "key").Val())
		})
	}
}

// A fault whose command is never sent did not happen, and says so.
func TestAFaultThatDoesNotHappenSaysSo(t *testing.T) {
	t.Parallel()
	in, _, ctx := prepared(t, "embedded", plan.Fault{Kind: plan.LoseReplies, For: 100 * time.Millisecond, Count: 1})
	require.Contains(t, in.run(ctx, time.Now())[0].Error, "no such command arrived within 100ms")
}

// usage.txt of the command has the servers that cannot.
func TestFaultsThatAServerCanHave(t *testing.T) {
	for server, kind := range map[string]string{"auto": "kill-server", "process:/x": "halt", "container": "oom", "embedded": "cut"} {
		wanted, err := redis.Parse(server)
		require.NoError(t, errors.Join(err, CheckFaults(wanted, []plan.Fault{{Kind: kind}})))
	}
}

// is reports whether an error is a time-out, or has a text.
func is(err error, want string) bool {
	var timeout net.Error
	switch {
	case err == nil:
		return false
	case want == "timeout":
		return errors.As(err, &timeout) && timeout.Timeout()
	}
	return strings.Contains(err.Error(), want) || want == "reset" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EPIPE))
}

// stalling is a virtual clock of a machine that stands still from time to time: what is to wake in a stall wakes at its end.
type stalling struct {
	clock.Clock
	wakes func(at time.Time) time.Time
}

func (s stalling) NewTimer() clock.Timer { return stallingTimer{s.Clock.NewTimer(), s} }

type stallingTimer struct {
	clock.Timer
	stalling
}

func (t stallingTimer) Reset(at time.Time) { t.Timer.Reset(t.wakes(at)) }

func TestTheMeterSeesWhenTheMachineStoodStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		k := stalling{clock.Runtime(), func(at time.Time) time.Time {
			for after, length := range map[time.Duration]time.Duration{
				100 * time.Millisecond: 30 * time.Millisecond, 500 * time.Millisecond: 5 * time.Millisecond,
				900*time.Millisecond + 500*time.Microsecond: time.Millisecond, // the wake in it is 0.5 ms late only
			} {
				if from := start.Add(after); !at.Before(from) && at.Before(from.Add(length)) {
					return from.Add(length)
				}
			}
			return at
		}}
		m := startMeter(k, program.NewEpoch())
		time.Sleep(time.Second)
		soFar := []run.Interval{{Second: .12}}
		m.spread(soFar, start.UnixNano())
		require.Equal(t, int64(20*time.Millisecond), soFar[0].HiccupNs, "a page shows it while the run lasts")
		m.end()
		m.end()
		require.Equal(t, run.Hiccups{Count: 2, TotalNs: 35e6, LongestNs: 30e6, Share: .035}, m.seen(time.Second))
		seconds := []run.Interval{{Second: .1}, {Second: .12}, {Second: 1}}
		m.spread(seconds, start.UnixNano())
		require.Equal(t, []run.Interval{
			{Second: .1}, {Second: .12, HiccupNs: int64(20 * time.Millisecond)}, {Second: 1, HiccupNs: int64(15 * time.Millisecond)},
		}, seconds)
	})
}

func TestCPUTimesReadsProcStat(t *testing.T) {
	before := parseCPUTimes("cpu  100 2 30 400 5 6 7 80 9 1\ncpu0 1 1 1 1 1 1 1 1 0 0\n")
	require.Equal(t, cpuTimes{total: 630, idle: 405, steal: 80}, before)
	after := parseCPUTimes("cpu  110 2 30 410 5 6 7 95 9 1\n")
	require.Equal(t, cpuTimes{total: 35, idle: 10, steal: 15}, after.since(before))
	require.Zero(t, parseCPUTimes("cpu 1 2 3 4 5 6 7"), "any other text of the kernel is no figure")
}

// history is the fate of one message, as the naive count keeps it.
type history struct {
	samples []program.Sample // in the order in which the agent reports them
	kept    bool             // at the end
}

// randomHistory lets anything happen to a message that may.
func randomHistory(rng *rand.Rand, item program.Item) (h history) {
	chance := func(p float64) bool { return rng.Float64() < p }
	index := item.Index
	sent := item.At + rng.Int64N(5e6)
	waited := uint32(0)
	if chance(.05) {
		sent += int64(2 * time.Second)
		waited = uint32(rng.IntN(2) * 2_000_000)
	}
	answered, due := sent+rng.Int64N(3e6), item.DueAt(sent)
	if chance(.5) {
		h.samples = append(h.samples, program.Sample{Kind: program.Offering, Index: index, A: sent, B: due})
	}
	kind := program.Offered
	switch draw := rng.IntN(20); {
	case draw == 0:
		kind = program.Failed
	case draw == 1:
		kind = program.Refused
	case draw == 2 && h.samples == nil:
		h.samples = append(h.samples, program.Sample{Kind: program.Skipped, Index: index})
		return h
	case draw == 3:
		return h // never answered
	}
	h.samples = append(h.samples, program.Sample{Kind: kind, Waited: waited, Index: index, A: sent, B: answered})
	if kind == program.Refused || kind == program.Failed && chance(.5) {
		return h
	}
	if item.CancelAfter > 0 {
		h.samples = append(h.samples, program.Sample{
			Kind: []program.Kind{program.Removed, program.TooLate, program.Unmoved}[rng.IntN(3)], Index: index, A: answered, B: answered + rng.Int64N(1e6),
		})
	}
	h.kept = chance(.1)
	for !h.kept && chance(.9) {
		h.samples = append(h.samples, program.Sample{Kind: program.Taken, Index: index, A: due, B: due + rng.Int64N(30e6) - 2e6})
		if !chance(.05) {
			break
		}
	}
	return h
}

// A phase agrees with a naive count over any history.
func TestAPhaseCountsAsANaiveCountDoes(t *testing.T) {
	t.Parallel()
	seeds := uint64(50)
	if redistest.Thorough() {
		seeds = 200
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 41))
		p := testPlan()
		p.Rate, p.Duration, p.Queues, p.Producers, p.Seed = plan.Rate(20+rng.IntN(200)), time.Duration(1+rng.IntN(2))*time.Second, 1+rng.IntN(3), 1+rng.IntN(4), seed
		p.Delay = plan.Between(0, time.Duration(rng.IntN(1000))*time.Millisecond)
		p.Cancel, p.Fleet = plan.Cancel{Share: rng.Float64() / 2}, []plan.Member{{Count: 1 + rng.IntN(3)}}
		e := newEngine(Options{Plan: p})
		c := e.newPhase(plan.Measured, time.Unix(1000, 0))
		end := c.startNs + int64(8*time.Second)
		all, next := make([]history, c.n), make([]int, c.n)
		var order []int64
		for i := range c.n {
			c.hand(e.members[rng.IntN(len(e.members))])
			all[i] = randomHistory(rng, c.item(i))
			order = append(order, slices.Repeat([]int64{i}, len(all[i].samples))...)
		}
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var told []program.Sample
		for _, i := range order {
			s, m := all[i].samples[next[i]], e.members[c.owner[i]]
			next[i]++
			told = append(told, s)
			skips := s.Kind == program.Skipped
			for _, out := range []int64{-1 << 63, -8e18, 1<<63 - 1} {
				a, b := s, s
				a.A, b.B = out, out
				require.True(t, skips || c.add(m, a) != nil && c.add(m, b) != nil, "seed %d: %+v cannot be with %d", seed, s, out)
			}
			require.True(t, !skips || c.add(m, s) != nil, "nothing is halted")
			c.stopped = skips
			require.NoError(t, c.add(m, s), "seed %d: %+v", seed, s)
			require.True(t, !skips || c.add(m, program.Sample{Kind: program.Taken, Index: s.Index, A: end, B: end}) != nil, "a take of a skipped one")
			c.stopped = false
		}
		for i, h := range all {
			if h.kept {
				require.NoError(t, c.keepHeld(program.Sample{Kind: program.Held, Index: uint32(i), A: cmp.Or(c.due[i], end)}, end))
			}
		}
		c.close(c.start.Add(8*time.Second), true)
		requireNaive(t, seed, c, all, told)
	}
}

// requireNaive counts again, each figure by its definition.
func requireNaive(t *testing.T, seed uint64, c *phase, all []history, told []program.Sample) {
	t.Helper()
	var want run.Counts
	var offers run.Offers
	var outstanding int64
	var rtts, lags []int64
	for i, h := range all {
		had := map[program.Kind]int64{}
		for _, s := range h.samples {
			had[s.Kind]++
			if s.Kind == program.Offered || s.Kind == program.Failed || s.Kind == program.Refused {
				lag := s.A - c.item(int64(i)).At
				rtts, lags = append(rtts, s.B-s.A), append(lags, lag)
				switch {
				case lag <= int64(plan.DefaultMaxScheduleLag):
				case lag-int64(s.Waited)*1000 <= int64(plan.DefaultMaxScheduleLag):
					offers.LateForSystem++
				default:
					offers.LateForTool++
				}
			}
		}
		failed := had[program.Failed] + had[program.Refused]
		want.OfferErrors += failed
		offers.Unsent += 1 - min(had[program.Offering]+had[program.Offered]+failed, 1)
		if had[program.Offering] > 0 && failed+had[program.Offered] == 0 {
			want.OfferErrors++
		}
		switch {
		case had[program.Taken] > 0:
			want.Delivered++
			want.Duplicate += had[program.Taken] - 1
			want.Revived += had[program.Removed]
		case had[program.Removed] > 0:
			want.Removed++
		case h.kept:
			want.Pending++
		case had[program.Offered] > 0:
			want.Lost++
		}
		if had[program.Offered] > 0 && had[program.Taken]+had[program.Removed] == 0 {
			outstanding++
		}
	}
	want.Offered = want.Delivered + want.Removed + want.Pending + want.Lost
	var first []program.Sample // deliveries
	seen := map[uint32]bool{}
	var lateness, pastDue []int64
	for _, s := range told {
		if s.Kind == program.Taken && !seen[s.Index] {
			seen[s.Index] = true
			first = append(first, s)
			lateness, pastDue = append(lateness, s.B-s.A), append(pastDue, s.B-s.A/1e6*1e6)
			if s.A-s.B > int64(time.Millisecond) {
				want.Early++
			}
		}
	}
	require.Equal(t, want, c.balance(false), "seed %d", seed)
	require.Equal(t, offers, c.offers, "seed %d", seed)
	require.Equal(t, outstanding, c.outstanding, "seed %d", seed)
	for name, of := range map[string]struct {
		values []int64
		h      *run.Histogram
	}{"lateness": {lateness, c.histograms.Lateness}, "past due": {pastDue, c.histograms.PastDue}, "rtt": {rtts, c.histograms.OfferRTT}, "lag": {lags, c.histograms.ScheduleLag}} {
		require.EqualValues(t, len(of.values), of.h.Count(), name)
		slices.Sort(of.values)
		for _, q := range []float64{.5, .9, .99, 1} {
			if n := len(of.values); n > 0 {
				exact := float64(of.values[max(int(q*float64(n)+.999999), 1)-1])
				require.InDelta(t, exact, float64(of.h.Quantile(q)), max(exact, -exact)*.001+128, "seed %d: %s at %v", seed, name, q)
			}
		}
	}
	slices.SortFunc(first, func(a, b program.Sample) int { return cmp.Or(cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A)) })
	var inverted run.Order
	delivered := int64(0)
	for i, s := range first {
		queue, producer := int64(0), int64(0) // by how much a message was due later that came before
		for _, o := range first[:i] {
			if int(o.Index)%len(c.order.queues) == int(s.Index)%len(c.order.queues) {
				queue = max(queue, o.A-s.A)
			}
			if int(o.Index)%len(c.order.producers) == int(s.Index)%len(c.order.producers) {
				producer = max(producer, o.A-s.A)
			}
		}
		if queue >= int64(time.Millisecond) {
			inverted.Inversions++
			inverted.LongestNs = max(inverted.LongestNs, queue)
		}
		if producer >= int64(time.Millisecond) {
			inverted.OfOneProducer++
		}
	}
	require.Equal(t, inverted, c.order.Order, "seed %d", seed)
	for _, i := range c.intervals {
		delivered += i.Delivered
	}
	require.Equal(t, want.Delivered, delivered, "seed %d: of all seconds", seed)
}
