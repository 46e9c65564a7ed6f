package load_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/load"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
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
		err = d.Serve(os.Stdin, os.Stdout)
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
	p.Producers, p.Consumers, p.Rate, p.Duration = 5, 3, 400, 2*time.Second
	p.Delay = plan.Delay{Spans: []plan.Span{{Min: 980 * time.Millisecond, Max: 980 * time.Millisecond}}, Together: true}
	p.DrainTimeout = 3 * time.Second // time for the next process to take over on a busy machine
	p.Fleet = []plan.Member{
		{Offers: true, Takes: true, To: time.Second, Kill: true}, {Offers: true, Takes: true, From: 1100 * time.Millisecond},
	}
	return p
}

// ran runs an implementation, with the server that it needs, if any.
func ran(ctx context.Context, t *testing.T, driverSpec string, o load.Options) *run.Document {
	t.Helper()
	o.Driver = load.Parsed(t, driverSpec)
	if _, stored := spec.KeysOf(o.Driver, nil, ""); stored {
		load.OnRedis(t, redistest.Redis(t), &o)
		if len(o.Plan.Faults) > 0 { // which are of a server of the run's own
			o.Redis = "process"
		}
	}
	r, err := load.Run(ctx, o)
	require.NoError(t, err)
	return r
}

// kill runs the plan, and checks that every message is accounted for.
func kill(t *testing.T, driverSpec string, p plan.Plan) *run.Document {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := ran(ctx, t, driverSpec, load.Options{Plan: p, RunID: 7, Serve: []string{os.Args[0], "serve"}})
	c, h := r.Counts, r.Histograms
	require.Equal(t, c.Offered, c.Delivered+c.Pending+c.Lost)
	require.Zero(t, c.Early+c.Pending+c.Foreign+c.Corrupt, "%+v", c)
	require.Equal(t, []int64{c.Delivered, c.Delivered}, []int64{h.Lateness.Count(), h.PastDue.Count()})
	require.Equal(t, []int64{h.OfferRTT.Count(), h.OfferRTT.Count()}, []int64{h.ResponseTime.Count(), h.ScheduleLag.Count()})
	slow := strings.Count(fmt.Sprint(r.Notes), "context canceled") // its end cut offers of the process that follows, whose senders grow fourfold
	require.LessOrEqual(t, c.OfferErrors, int64(p.Producers*(1+4*slow)), "a producer has one offer under way: %q", r.Notes)
	require.Equal(t, []int64{c.Delivered, c.Delivered}, []int64{load.Logged(r.Log.Bytes()), load.Total(r, func(i run.Interval) int64 { return i.Delivered })})
	require.Empty(t, r.AgentFaults, "as it was meant to end")
	return r
}

// A process that is killed loses what it had taken from Redis and not handed over, which is a value of each consumer at most; all
// else comes by the process that follows. That takes over the temp list of redis-zset: what a consumer held at that moment comes
// twice if it was not acknowledged. Messages in memory are lost: all that were not due.
func TestKilledProcessLosesWhatItsConsumersHeld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dq", "dq:3.16.6,faithful", "redisson:4.7.0", "exec:'" + os.Args[0] + "' serve dq", "redis-zset", "memory"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := killPlan()
			least, most := int64(0), int64(p.Consumers)
			switch name {
			case "memory":
				p.Delay = plan.Fixed(1500 * time.Millisecond)
				least, most = 1, 1000 // offered in the second before
			case "redisson:4.7.0":
				redistest.Redisson(t, "4.7.0")
				p.Warmup, p.Rate = 3*time.Second, 500
			}
			c := kill(t, name, p).Counts
			require.Positive(t, c.Delivered)
			require.GreaterOrEqual(t, c.Lost, least)
			require.LessOrEqual(t, c.Lost+c.Duplicate, most)
			require.True(t, c.Duplicate == 0 || name == "redis-zset")
		})
	}
}

// A program that keeps its messages elsewhere than in Redisson's keys says itself which it holds.
func TestAProgramSaysWhatItHolds(t *testing.T) {
	t.Parallel()
	p := killPlan()
	p.Fleet, p.Delay, p.Horizon = nil, plan.Fixed(time.Hour), 100*time.Millisecond
	r := ran(t.Context(), t, "exec:'"+os.Args[0]+"' serve memory", load.Options{Plan: p, RunID: 7})
	require.Equal(t, run.Counts{Offered: 800, Pending: 800, NotDue: 800}, r.Counts, r.Notes)
}

// A member that is never killed, for the run is over before, ends as others do.
func TestRunEndsBeforeAMemberIsKilled(t *testing.T) {
	t.Parallel()
	p := killPlan()
	p.Rate, p.Warmup, p.Duration, p.Delay = 100, 0, 200*time.Millisecond, plan.Fixed(10*time.Millisecond)
	p.Fleet = []plan.Member{{Offers: true, Takes: true, To: time.Hour, Kill: true}, {Offers: true, Takes: true}}
	_, err := load.Run(t.Context(), load.Options{Plan: p, Driver: load.Parsed(t, "memory"), RunID: 7})
	require.ErrorContains(t, err, "expected a process of its own", "what cannot be killed is refused before the first offer")
	result := ran(t.Context(), t, "memory", load.Options{Plan: p, RunID: 7, Serve: []string{os.Args[0], "serve"}})
	require.Equal(t, run.Counts{Offered: 20, Delivered: 20}, result.Counts)
	require.Empty(t, result.Notes)
}

// meanwhile runs a plan of so long on a server, and does something to it after a second of load.
func meanwhile(t *testing.T, srv *redis.Server, length time.Duration, do func(s *redis.Server, interrupt func())) *run.Document {
	t.Helper()
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup, p.DrainTimeout = false, 0, 2*time.Second
	p.Producers, p.Consumers, p.Rate, p.Duration = 5, 3, 200, length
	p.Delay = plan.Between(100*time.Millisecond, time.Second)
	var once sync.Once
	var doing sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := load.Options{Plan: p, Driver: load.Parsed(t, "dq"), Silence: 4 * time.Second, Progress: func(text string, _ bool) {
		if strings.HasPrefix(text, "load") { // a second is over
			once.Do(func() { doing.Go(func() { do(srv, cancel) }) })
		}
	}}
	load.OnRedis(t, srv, &o)
	result, err := load.Run(ctx, o)
	require.NoError(t, err)
	doing.Wait()
	result.Judge(nil)
	return result
}

// A run whose server is gone is given up, and the fate of its messages is unknown. An interrupt does so at once.
func TestAServerThatIsGoneEndsTheRun(t *testing.T) {
	t.Parallel()
	for srv, do := range map[*redis.Server]func(*redis.Server, func()){
		redistest.Redis(t):   func(s *redis.Server, _ func()) { require.NoError(t, s.Close()) },
		redistest.Process(t): func(s *redis.Server, interrupt func()) { require.NoError(t, s.Nodes()[0].Pause()); interrupt() },
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			began, r := time.Now(), meanwhile(t, srv, time.Hour, do)
			c := r.Counts
			require.Less(t, time.Since(began), 30*time.Second)
			require.Zero(t, c.Lost+c.Pending+c.Duplicate)
			require.Positive(t, c.Unknown)
			require.Equal(t, c.Offered, c.Delivered+c.Unknown)
			require.Equal(t, c.Unknown, load.Total(r, func(i run.Interval) int64 { return i.Unknown }))
			require.Regexp(t, "the server (was gone|did not answer)", r.ServerGone)
			require.False(t, r.Verdict.Passed)
			require.Contains(t, r.Verdict.Text, "of unknown fate")
		})
	}
}

// Server figures need the same server throughout; without them no objective on them is met.
func TestNoServerFiguresAcrossARestartOrAFailover(t *testing.T) {
	t.Parallel()
	kept, sentinels := redistest.Process(t, "--appendonly", "yes"), redistest.Sentinel(t)
	for name, tc := range map[string]struct {
		srv    *redis.Server
		length time.Duration
		do     func(*redis.Server, func())
	}{
		"restart": {kept, 2500 * time.Millisecond, func(s *redis.Server, _ func()) {
			require.NoError(t, s.Nodes()[0].Kill())
			require.NoError(t, s.Nodes()[0].Restart(t.Context()))
		}},
		"fail-over": {sentinels.Server, 4 * time.Second, func(*redis.Server, func()) {
			_, err := sentinels.Failover(t.Context())
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := meanwhile(t, tc.srv, tc.length, tc.do)
			require.Empty(t, r.ServerGone)
			require.Nil(t, r.ServerStats)
			require.Contains(t, r.Notes, "no server statistics: a server was restarted or its counters reset during the run, or another one took over, joined or went, and its work is not counted in full")
			slo, err := run.ParseSLO("transfer_calls_per_message<=1000")
			require.NoError(t, err)
			require.False(t, slo.Evaluate(r).Met)
		})
	}
}

// An agent does not wait for a port that says nothing.
func TestAPortThatIsSilentIsNoDoor(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	at, _ := load.ParseServer(silent.Addr().String())
	err = load.Join(t.Context(), at, "token", 0, nil)
	require.ErrorIs(t, err, load.ErrNoDoor)
	require.ErrorContains(t, err, "accepts connections and does not answer")
}

// A server that freezes holds the offers up, and the run fails for that: it is valid, and is compared.
func TestAFrozenServerFailsTheRun(t *testing.T) {
	t.Parallel()
	p := plan.DefaultPlan()
	p.WarmupEnds, p.Warmup, p.Producers, p.Consumers, p.Rate, p.Duration = false, 0, 10, 4, 500, 3*time.Second
	p.Delay, p.MaxScheduleLag = plan.Fixed(200*time.Millisecond), 600*time.Millisecond
	p.Faults = []plan.Fault{{Kind: "halt", At: 500 * time.Millisecond, For: 1500 * time.Millisecond}}
	r := ran(t.Context(), t, "dq", load.Options{Plan: p, Serve: []string{os.Args[0], "serve"}})
	r.Faults = nil          // which would excuse it
	r.Machine.BusyShare = 0 // by whatever else runs on the machine of the test
	require.False(t, r.Judge(nil).Passed)
	require.True(t, r.Valid(), r.Verdict.Text)
	require.Contains(t, r.Verdict.Text, "the system under test held up")
	require.Contains(t, r.Verdict.Text, "response time p99")
	require.Greater(t, r.Offers.LateForSystem, r.Offers.LateForTool+r.Offers.LateForMachine, "%+v", r.Offers)
	require.Zero(t, r.Counts.Lost)
}

// wrongs are a program's breaches of the protocol, one each, half a second into the run: it sends something else in the place of a
// sample of the kind, or does something with a line that it writes.
var wrongs = map[string]struct {
	kind program.Kind
	tell func(s program.Sample) []program.Sample
	do   func(out io.Writer, line []byte)
	says string
}{
	"a start an hour off":     {program.Offered, one(func(s *program.Sample) { s.A -= int64(time.Hour) }), nil, "a.a: expected"},
	"an end that is to come":  {program.Offered, one(func(s *program.Sample) { s.B += int64(time.Hour) }), nil, "a.b: expected an instant since the offer was due, in the past"},
	"a take in 1677":          {program.Taken, one(func(s *program.Sample) { s.B = -1 << 63 }), nil, "t.b: expected an instant since the offer was due, in the past"},
	"an end before its start": {program.Offered, one(func(s *program.Sample) { s.B = s.A - 1 }), nil, "a.b: expected"},
	"an index never sent":     {program.Taken, one(func(s *program.Sample) { s.Index = 1 << 20 }), nil, "t.index: expected a message that was handed out, got 1048576"},
	"a take in no warm-up":    {program.Taken, one(func(s *program.Sample) { s.Index |= program.Warm }), nil, "t.index: expected a message that was handed out, got 0x8000"},
	"a skip of a taken one": {program.Offered, func(s program.Sample) []program.Sample {
		return []program.Sample{{Kind: program.Taken, Index: s.Index, A: s.A + 1e8, B: s.B}, {Kind: program.Skipped, Index: s.Index}}
	}, nil, "s.index: expected a message that was not offered"},
	"the same offer twice": {program.Offered, func(s program.Sample) []program.Sample { return []program.Sample{s, s} }, nil, "expected one answer to each offer"},
	"another due instant":  {program.Taken, one(func(s *program.Sample) { s.A += 5e6 }), nil, "expected due = sent + its delay"},
	"a removal of nothing": {program.Taken, one(func(s *program.Sample) { s.Kind = program.Removed }), nil, "expected a message that was to be cancelled"},
	"an item left open":    {program.Offered, func(program.Sample) []program.Sample { return nil }, nil, "left 1 item open"},
	"a negative count":     {program.Taken, one(func(s *program.Sample) { s.Kind, s.A = program.Dropped, -100 }), nil, "d.a: expected a number of samples, got -100"},
	"no such kind":         {program.Taken, one(func(s *program.Sample) { s.Kind = '?' }), nil, "kind: expected"},
	"dies":                 {0, nil, func(io.Writer, []byte) { os.Exit(3) }, "has ended: exit status 3"},
	"stops answering":      {0, nil, func(io.Writer, []byte) { select {} }, "stopped answering"},
	"hangs":                {0, nil, func(io.Writer, []byte) { select {} }, "has ended: stopped answering"},
	"says no JSON":         {0, nil, func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":2,"event":"samples","samples":NaN}`) }, "it broke the protocol on stdout"},
	"answers nobody":       {0, nil, func(out io.Writer, line []byte) { fmt.Fprintf(out, "%s\n{\"id\":999,\"ok\":true}\n", line) }, "expected one answer to each request, got an answer or event to 999"},
	"answers twice":        {0, nil, func(out io.Writer, line []byte) { fmt.Fprintf(out, "%s\n{\"id\":1,\"ok\":true}\n", line) }, "expected one answer to each request, got an answer or event to 1"},
	"an unknown event":     {0, nil, func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":2,"event":"news","samples":""}`) }, `expected an event "samples"`},
	"no samples":           {0, nil, func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":2,"event":"samples"}`) }, `expected an event "samples"`},
	"an event of none":     {0, nil, func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":999,"event":"samples","samples":""}`) }, "without a request"},
	"tears a sample":       {0, nil, func(out io.Writer, _ []byte) { fmt.Fprintln(out, `{"id":2,"event":"samples","samples":"YWE="}`) }, "records of 25 bytes"},
	"exits with 3":         {0, nil, nil, "has ended: exit status 3"},
	"refuses to close":     {0, nil, nil, "load.close: busy"},
}

func one(change func(*program.Sample)) func(program.Sample) []program.Sample {
	return func(s program.Sample) []program.Sample { change(&s); return []program.Sample{s} }
}

// adversary serves the memory driver, and does one thing against the protocol.
func adversary(fault string) {
	lines, out := io.Pipe()
	in, requests := io.Pipe()
	var closes atomic.Uint64 // the request that closes
	go func() {
		_ = program.ReadLines(os.Stdin, func(asked []byte) error {
			var head struct {
				ID uint64
				Op string
			}
			if json.Unmarshal(asked, &head) == nil && head.Op == "load.close" {
				closes.Store(head.ID)
			}
			_, err := fmt.Fprintf(requests, "%s\n", asked)
			return err
		})
		_ = requests.Close()
	}()
	go func() { _ = serve.Serve(in, out, spec.Memory{}); _ = out.Close() }()
	began, done := time.Time{}, false
	_ = program.ReadLines(lines, func(line []byte) error {
		var head struct {
			ID      uint64
			Samples []byte
		}
		if err := json.Unmarshal(line, &head); err != nil {
			panic(err)
		}
		_ = program.Decode(head.Samples, func(s program.Sample) error {
			if s.Kind == program.Taken && began.IsZero() { // half a second after that the run has a message
				began = time.Now()
			}
			return nil
		})
		due := !done && !began.IsZero() && time.Since(began) > 500*time.Millisecond
		switch wrong := wrongs[fault]; {
		case due && wrong.tell != nil && len(head.Samples) > 0:
			var told []byte
			_ = program.Decode(head.Samples, func(s program.Sample) error {
				all := []program.Sample{s}
				if s.Kind == wrong.kind && !done {
					all, done = wrong.tell(s), true
				}
				for _, s := range all {
					told = program.Append(told, s)
				}
				return nil
			})
			fmt.Printf("{\"id\":%d,\"event\":\"samples\",\"samples\":%q}\n", head.ID, base64.StdEncoding.EncodeToString(told))
		case due && wrong.do != nil:
			done = true
			wrong.do(os.Stdout, line)
		case fault == "refuses to close" && closes.Load() == head.ID && head.ID != 0:
			fmt.Printf("{\"id\":%d,\"ok\":false,\"error\":{\"class\":\"busy\",\"message\":\"\"}}\n", head.ID)
		default:
			fmt.Printf("%s\n", line)
		}
		return nil
	})
	if fault == "exits with 3" {
		os.Exit(3)
	}
}

// Whatever a program does, the run is kept, what was delivered is counted, and it fails by a sentence that names it.
func TestAdversaries(t *testing.T) {
	t.Parallel()
	for name, wrong := range wrongs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan.DefaultPlan()
			p.WarmupEnds, p.Warmup, p.Producers, p.Consumers, p.Rate, p.Duration = false, 0, 5, 2, 200, 2*time.Second
			p.Delay, p.Queue, p.DrainTimeout = plan.Fixed(100*time.Millisecond), "q", time.Second
			limits := map[bool][]time.Duration{true: {2 * time.Second, 15 * time.Second}, false: {time.Minute, 3 * time.Second}}[name == "hangs"]
			ctx, interrupt := context.WithTimeout(t.Context(), limits[0])
			defer interrupt()
			d := load.Parsed(t, fmt.Sprintf("exec:'%s' adversary '%s'", os.Args[0], name))
			r, err := load.Run(ctx, load.Options{Plan: p, Driver: d, RunID: 7, Silence: limits[1]})
			require.NoError(t, err, "the run is kept")
			unsent := r.Offers.Unsent
			r.ToolUsage, r.Machine, r.Offers = nil, nil, nil // of this process, in which other tests run as well
			require.False(t, r.Judge(nil).Passed)
			require.True(t, r.Valid(), r.Verdict.Text)
			require.Contains(t, r.Verdict.Text, wrong.says)
			c := r.Counts
			require.Positive(t, c.Delivered)
			require.Zero(t, c.Lost, "what is not known is not lost: %+v", c)
			require.Equal(t, c.Offered, c.Delivered+c.Pending+c.Unknown)
			require.Equal(t, c.Delivered, r.Histograms.Lateness.Count())
			require.Equal(t, []int64{c.Offered, r.Scenario.Messages}, []int64{load.Total(r, func(i run.Interval) int64 { return i.Offered }), c.Offered + unsent})
			require.True(t, unsent > 0 || name != "dies", "what was planned after its end was not offered: %+v", c)
			_, err = r.Encode()
			require.NoError(t, err)
		})
	}
}
