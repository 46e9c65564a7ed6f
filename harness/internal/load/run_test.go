package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/driver/serve"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// wrapped is the memory driver with another queue around each of its own.
type wrapped struct {
	spec.Memory
	wrap func(q driver.Queue) driver.Queue
}

func (w wrapped) Open(ctx context.Context, redisURL, name string) (driver.Queue, error) {
	q, err := w.Memory.Open(ctx, redisURL, name)
	return w.wrap(q), err
}

func (w wrapped) Serve(in io.Reader, out io.Writer) error { return serve.Serve(in, out, w) }

type fault func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error

type faultyQueue struct {
	driver.Queue
	driver.Inspector
	fault  fault
	offers atomic.Int64
}

// faulty is the memory driver with a fault built in, by the number of the offer.
func faulty(f fault) spec.Driver {
	return wrapped{memory(), func(q driver.Queue) driver.Queue {
		holder, _ := q.(driver.Inspector)
		return &faultyQueue{Queue: q, Inspector: holder, fault: f}
	}}
}

func (q *faultyQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	return q.fault(q, ctx, q.offers.Add(1), value, delay)
}

// testPlan is 1000 messages in 2 s, due 1 s later, without a warm-up.
func testPlan() plan.Plan {
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Rate, p.Duration, p.Warmup = 5, 500, 2*time.Second, 0
	p.Delay = plan.Fixed(time.Second)
	p.Queue = "test"
	return p
}

// runVirtual runs a plan on virtual time.
func runVirtual(ctx context.Context, t *testing.T, d spec.Driver, p plan.Plan) *run.Document {
	t.Helper()
	result, err := Run(ctx, Options{Plan: p, Driver: d, RunID: 0xabcd, Clock: clock.Runtime()})
	require.NoError(t, err)
	result.Judge(nil)
	c := result.Counts
	require.Equal(t, c.Offered, c.Delivered+c.Pending+c.Lost+c.Removed)
	require.Equal(t, c.Delivered, result.Histograms.Lateness.Count())
	return result
}

// virtual does so in a bubble of its own.
func virtual(t *testing.T, d spec.Driver, p plan.Plan) (out *run.Document) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { out = runVirtual(t.Context(), t, d, p) })
	return out
}

func memory() spec.Memory { return spec.Memory{Clock: clock.Runtime()} }

func TestFaultlessRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Warmup, p.Queues, p.Consumers = time.Second, 7, 9
		p.Delay = plan.Between(500*time.Millisecond, 1500*time.Millisecond)
		var ends strings.Builder
		out, err := Run(t.Context(), Options{Plan: p, Driver: memory(), Clock: clock.Runtime(), Progress: ProgressWriter(&ends, false)})
		require.NoError(t, err)
		require.True(t, out.Judge(nil).Passed, out.Verdict.Text)
		require.Equal(t, run.Counts{Offered: 1000, Delivered: 1000}, out.Counts)
		require.Zero(t, out.Histograms.Lateness.Max())
		require.Zero(t, out.Histograms.ScheduleLag.Max())
		require.Empty(t, out.Notes)
		require.Equal(t, "warm-up  offered 500/500  delivered 500  pending 0  p99 0 ns  left 0s\n"+
			"load  offered 1000/1000  delivered 1000  pending 0  p99 0 ns  left 0s\n", ends.String())
		require.EqualValues(t, 1000, Total(out, func(i run.Interval) int64 { return i.Offered }))
		require.EqualValues(t, 1000, Total(out, func(i run.Interval) int64 { return i.Delivered }))
	})
}

// Each fault is counted exactly, and nothing else is.
func TestFaultsAreCountedExactly(t *testing.T) {
	type delays = []time.Duration
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		normal, tenth func(d time.Duration) delays // what is offered, of a message and of every 10th; nil for the message itself
		fails, alien  bool                         // every 10th, and what is not of the run is offered with it
		want          run.Counts
	}{
		"loses every 10th":                     {tenth: func(time.Duration) delays { return nil }, want: run.Counts{Offered: 1000, Delivered: 900, Lost: 100}},
		"duplicates every 10th":                {tenth: func(d time.Duration) delays { return delays{d, d} }, want: run.Counts{Offered: 1000, Delivered: 1000, Duplicate: 100}},
		"second copies come later":             {tenth: func(d time.Duration) delays { return delays{d, d + 300*ms} }, want: run.Counts{Offered: 1000, Delivered: 1000, Duplicate: 100}},
		"delivers every 10th early":            {tenth: func(d time.Duration) delays { return delays{d - 3*ms/2} }, want: run.Counts{Offered: 1000, Delivered: 1000, Early: 100}},
		"1 ms early is the resolution":         {normal: func(d time.Duration) delays { return delays{d - ms} }, want: run.Counts{Offered: 1000, Delivered: 1000}},
		"refuses every 10th":                   {tenth: func(time.Duration) delays { return nil }, fails: true, want: run.Counts{Offered: 900, Delivered: 900, OfferErrors: 100}},
		"takes every 10th over, with an error": {fails: true, want: run.Counts{Offered: 1000, Delivered: 1000, OfferErrors: 100}},
		"delivers what is not of the run":      {alien: true, want: run.Counts{Offered: 1000, Delivered: 1000, Foreign: 200}},
		"keeps every 10th for an hour":         {tenth: func(time.Duration) delays { return delays{time.Hour} }, want: run.Counts{Offered: 1000, Delivered: 900, Pending: 100}},
		"accepts every 10th and nothing comes": {tenth: func(time.Duration) delays { return nil }, normal: func(time.Duration) delays { return nil }, want: run.Counts{Offered: 1000, Lost: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := runVirtual(t.Context(), t, faulty(func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error {
					of, tenth, all := tc.normal, n%10 == 0, delays{delay}
					if tenth && tc.tenth != nil {
						of = tc.tenth
					}
					if of != nil {
						all = of(delay)
					}
					for _, d := range all {
						_ = q.Queue.Offer(ctx, value, d)
					}
					if tenth && tc.alien {
						_ = q.Queue.Offer(ctx, []byte("somebody else's"), delay)
						_ = q.Queue.Offer(ctx, program.Payload(7, 0, 1, len(value)), delay)
					}
					if tenth && tc.fails {
						return errors.New("no such luck")
					}
					return nil
				}), testPlan())
				require.Equal(t, tc.want, out.Counts)
				c := tc.want
				require.Equal(t, c.Lost+c.Duplicate+c.Early+c.Pending+c.OfferErrors == 0, out.Verdict.Passed, out.Verdict.Text)
			})
		})
	}
}

// One producer's offers hang: the others keep to their schedule, and the hanging ones are cancelled at the end.
func TestHangingOfferDelaysNobodyElse(t *testing.T) {
	out := virtual(t, faulty(func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error {
		if n == 7 {
			<-ctx.Done()
			return ctx.Err()
		}
		return q.Queue.Offer(ctx, value, delay)
	}), testPlan())
	require.Equal(t, run.Counts{Offered: 999, Delivered: 999, OfferErrors: 1}, out.Counts)
	require.Zero(t, out.Histograms.Lateness.Max())
	require.Zero(t, out.Histograms.ScheduleLag.Max())
}

// A pause of the implementation shows as schedule lag of every message that should have been sent in it: no coordinated omission.
func TestPauseShowsInEveryMessageItDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Producers = 1
		began := time.Now()
		out := runVirtual(t.Context(), t, faulty(func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error {
			if pause := time.Until(began.Add(readyBefore + 1150*time.Millisecond)); n > 100 && pause > 0 {
				time.Sleep(pause)
			}
			return q.Queue.Offer(ctx, value, delay)
		}), p)
		require.EqualValues(t, 1000, out.Counts.Delivered)
		// All senders wait in it from the fourth message on, and some 500 with them.
		lag := out.Histograms.ScheduleLag
		require.InDelta(t, time.Second, lag.Max(), float64(100*time.Millisecond))
		require.InDelta(t, 500*time.Millisecond, lag.Quantile(.75), float64(100*time.Millisecond))
		// The paused messages are late, as their due instants were before the pause.
		require.Less(t, out.Histograms.Lateness.Quantile(.99), int64(100))
	})
}

// A take that never ends, whatever its context says, is given up.
type deafQueue struct {
	driver.Queue
	release chan struct{}
}

func (q deafQueue) Take(context.Context) ([]byte, error) {
	<-q.release
	return nil, errors.New("released")
}

func TestTakeThatIgnoresItsContextIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		out := runVirtual(t.Context(), t, wrapped{memory(), func(q driver.Queue) driver.Queue { return deafQueue{q, release} }}, testPlan())
		require.Equal(t, run.Counts{Offered: 1000, Lost: 1000}, out.Counts)
		require.Contains(t, fmt.Sprint(out.AgentFaults), "offers or takes did not end")
		close(release)
	})
}

// liar keeps nothing, and says of a message that it is held and not due.
type liar struct{ driver.Queue }

func (liar) Offer(context.Context, []byte, time.Duration) error { return nil }

func (liar) Held(_ context.Context, each func([]byte)) (int64, error) {
	each(program.Payload(0xabcd, 0, time.Now().Add(time.Hour).UnixNano(), plan.MinPayload))
	return 1, nil
}

func TestHeldMessagesAreThoseThatWereOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		liars := wrapped{memory(), func(q driver.Queue) driver.Queue { return liar{q} }}
		out, err := Run(t.Context(), Options{Plan: testPlan(), Driver: liars, RunID: 0xabcd, Clock: clock.Runtime()})
		require.NoError(t, err)
		require.Contains(t, fmt.Sprint(out.AgentFaults), "load.held: h.a: expected due = sent + its delay")
		require.EqualValues(t, 999, out.Counts.Unknown)
		require.False(t, out.Judge(nil).Passed)
	})
}

// keeper delivers, and keeps the first message.
type keeper struct{ driver.Queue }

func (keeper) Held(ctx context.Context, each func([]byte)) (int64, error) {
	return liar{}.Held(ctx, each)
}

func TestDeliveredMessagesAreNotQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := runVirtual(t.Context(), t, wrapped{memory(), func(q driver.Queue) driver.Queue { return keeper{q} }}, testPlan())
		require.EqualValues(t, 1000, out.Counts.Delivered)
		require.Contains(t, out.Judge(nil).Text, "1 delivered message still queued: to be delivered twice")
	})
}

// lasting is a program that goes on after the end of its input.
type lasting struct{ spec.Memory }

func (l lasting) Serve(in io.Reader, out io.Writer) error {
	defer time.Sleep(2 * rush)
	return serve.Serve(in, out, l.Memory)
}

// An agent ends a minute after the last sign of life of its run.
func TestSilenceEndsAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		agent := heard{near, time.AfterFunc(orphaned, func() { _ = near.Close() })}
		time.AfterFunc(orphaned-time.Second, func() { _, _ = far.Write([]byte("x")) })
		began := time.Now()
		read, err := io.ReadAll(agent)
		require.Equal(t, []any{"x", io.ErrClosedPipe, 2*orphaned - time.Second}, []any{string(read), err, time.Since(began)})
	})
}

// An interrupted run stops its offers and drains, but does not wait for messages that are due after the drain timeout.
func TestInterrupt(t *testing.T) {
	for delay, want := range map[time.Duration]run.Counts{
		time.Second: {Offered: 501, Delivered: 501}, time.Hour: {Offered: 501, Pending: 501, NotDue: 501},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := testPlan()
			p.Delay = plan.Fixed(delay)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(readyBefore+1001*time.Millisecond, cancel)
			start := time.Now()
			out := runVirtual(ctx, t, lasting{memory()}, p)
			require.Equal(t, want, out.Counts)
			require.Contains(t, out.Notes, "memory did not end within 2s of its stdin closing and was killed")
			require.True(t, out.Interrupted)
			require.True(t, out.Verdict.Passed, out.Verdict.Text)
			require.Contains(t, out.Verdict.Text, "Interrupted")
			require.Less(t, time.Since(start), 7*time.Second)

			p.Warmup = time.Second
			ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := Run(ctx, Options{Plan: p, Driver: memory(), Clock: clock.Runtime()})
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorContains(t, err, "nothing was measured")
		})
	}
}

// tardy takes a message 100 ms late.
type tardy struct {
	driver.Queue
	driver.Inspector
}

func (q tardy) Take(ctx context.Context) ([]byte, error) {
	defer time.Sleep(100 * time.Millisecond)
	return q.Queue.Take(ctx)
}

// An interrupted run waits for messages due within the drain timeout, however late, and counts the later ones as not due.
func TestInterruptWaitsForLateMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Delay, p.Consumers = plan.Between(0, 20*time.Second), 100
		ctx, cancel := context.WithTimeout(t.Context(), readyBefore+time.Second)
		defer cancel()
		c := runVirtual(ctx, t, wrapped{memory(), func(q driver.Queue) driver.Queue { return tardy{q, q.(driver.Inspector)} }}, p).Counts //nolint:forcetypeassert // memory is one
		require.Equal(t, run.Counts{Offered: c.Offered, Delivered: c.Offered - c.NotDue, Pending: c.NotDue, NotDue: max(c.NotDue, 1)}, c)
	})
}

// A warm-up that ends by itself ends as soon as nothing falls any more.
func TestWarmUpEndsWhenItIsWarm(t *testing.T) {
	for name, tc := range map[string]struct {
		slow  time.Duration // how much slower the first offers are
		limit time.Duration
		warm  bool
		least float64
		most  float64
	}{
		"at once":      {0, 30 * time.Second, true, 6, 9},
		"a cold start": {20 * time.Millisecond, 30 * time.Second, true, 10, 25},
		"never":        {5 * time.Second, 8 * time.Second, false, 8, 8.1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := testPlan()
				p.Producers, p.Warmup, p.WarmupEnds = 200, tc.limit, true
				start := time.Now()
				out := runVirtual(t.Context(), t, faulty(func(q *faultyQueue, ctx context.Context, _ int64, value []byte, delay time.Duration) error {
					// Falls by half every two seconds.
					time.Sleep(time.Duration(float64(tc.slow) * math.Exp2(-time.Since(start).Seconds()/2)))
					return q.Queue.Offer(ctx, value, delay)
				}), p)
				require.NotNil(t, out.Warmup)
				require.Equal(t, tc.warm, out.Warmup.Warm, "%+v", out.Warmup)
				require.GreaterOrEqual(t, out.Warmup.Seconds, tc.least)
				require.LessOrEqual(t, out.Warmup.Seconds, tc.most)
				require.EqualValues(t, 1000, out.Counts.Delivered)
			})
		})
	}
}

// A terminal gets one line that is rewritten, a file one every ten seconds and the last.
func TestProgressModes(t *testing.T) {
	for rewrite, want := range map[bool][2]int{true: {1, 25}, false: {3, 0}} {
		var out strings.Builder
		write := ProgressWriter(&out, rewrite)
		for second := 1; second <= 25; second++ {
			write("", second == 25)
		}
		require.Equal(t, want, [2]int{strings.Count(out.String(), "\n"), strings.Count(out.String(), "\r")})
	}
}

func TestAddresses(t *testing.T) {
	pair := redis.Files{Cert: "c.pem", Key: "k.pem"}
	for addr, want := range map[string]struct {
		parse func(string) (Address, error)
		Address
		wrong string
	}{
		":9121": {ParseListen, Address{Host: "127.0.0.1", Port: "9121"}, ""}, "0.0.0.0:9121": {ParseListen, Address{Host: "0.0.0.0", Port: "9121"}, ""},
		"[::]:0": {ParseListen, Address{Host: "::", Port: "0"}, ""}, "h:1?tls_cert=c.pem&tls_key=k.pem": {ParseListen, Address{Host: "h", Port: "1", TLS: true, Files: pair}, ""},
		"": {ParseListen, Address{}, "such as 127.0.0.1:8080"}, "9090": {ParseListen, Address{}, "expected HOST:PORT"}, "h:x": {ParseListen, Address{}, "expected HOST:PORT"},
		"h:70000": {ParseListen, Address{}, "expected HOST:PORT"}, "h:-1": {ParseListen, Address{}, "expected HOST:PORT"},
		"h:1?tls_cert=c.pem": {ParseListen, Address{}, "with TLS HOST:PORT?tls_cert=FILE&tls_key=FILE, got"}, "h:1?tls_key=": {ParseListen, Address{}, "expected "},
		"h:2?tls_ca=c.pem": {ParseListen, Address{}, "expected "},

		"h:1": {ParseServer, Address{Host: "h", Port: "1"}, ""}, "http://h:1/": {ParseServer, Address{Host: "h", Port: "1"}, ""},
		"https://h:1": {ParseServer, Address{Host: "h", Port: "1", TLS: true}, ""}, "h:1?tls_ca=c.pem": {ParseServer, Address{Host: "h", Port: "1", TLS: true, Files: redis.Files{CA: "c.pem"}}, ""},
		"https://h:1/?tls_ca=c.pem": {ParseServer, Address{Host: "h", Port: "1", TLS: true, Files: redis.Files{CA: "c.pem"}}, ""},
		"h":                         {ParseServer, Address{}, "expected "}, "https://h": {ParseServer, Address{}, "expected "}, "ftp://h:1": {ParseServer, Address{}, "expected "},
		"h:2?tls_cert=c.pem": {ParseServer, Address{}, "expected "},
	} {
		got, err := want.parse(addr)
		if want.wrong != "" {
			require.ErrorContains(t, err, want.wrong, addr)
			continue
		}
		require.NoError(t, err, addr)
		require.Equal(t, want.Address, got)
	}
	for host, local := range map[string]bool{"127.0.0.2": true, "::1": true, "localhost": true, "0.0.0.0": false, "h": false} {
		require.Equal(t, local, Address{Host: host}.IsLocal())
	}
}

// at is an instant of the run in ms, as the ledger has it.
func at(ms int64) int64 { return time.Unix(1000, 0).UnixNano() + ms*int64(time.Millisecond) }

func event(f plan.Fault, from, to int64) run.FaultEvent {
	return run.FaultEvent{Kind: f.Kind, Text: f.String(), MayLose: string(f.Info().Loss), From: float64(from) / 1000, To: float64(to) / 1000}
}

// broken is a phase of these messages, in which something broke: of a plan with its consumers and fleet.
func broken(p plan.Plan, messages ...message) *phase {
	c := &phase{plan: p, startNs: at(0)}
	for _, m := range messages {
		c.state, c.due, c.records = append(c.state, m.state), append(c.due, m.due), append(c.records, m.record)
	}
	return c
}

type message struct {
	state byte
	due   int64
	record
}

func TestMessagesAreAccountedFor(t *testing.T) {
	const failed, accepted = tried | answered, tried | answered | confirmed
	c := broken(plan.Plan{Consumers: 1},
		message{}, // never offered
		message{accepted | delivered, at(500), record{at(11), at(501), 0, false}},
		message{accepted | delivered, at(600), record{at(21), at(601), 0, false}},
		message{failed, at(700), record{at(31), 0, 0, false}},
		message{failed, at(700), record{at(32), 0, 0, true}},
		message{failed | delivered, at(800), record{at(41), at(5000), 0, false}}, // too late to show anything
		message{tried | delivered, at(900), record{0, at(2250), 0, false}},
		message{accepted | delivered, at(2300), record{at(61), at(2399), 0, false}}, // on time
		message{accepted | held, at(1000), record{at(71), 0, 0, false}},
		message{accepted, at(1100), record{at(81), 0, 0, false}},
		message{accepted, at(9000), record{at(91), 0, 0, false}},
		message{accepted | delivered, at(2210), record{at(93), at(2208), 0, false}}, // early, which says nothing of the recovery
	)
	c.told, c.unanswered, c.counts = [256]int64{program.Offered: 7, program.Failed: 2, program.Refused: 1}, 1, run.Counts{Duplicate: 2, Early: 1}
	stall := event(plan.Fault{Kind: "stall", For: time.Second}, 1000, 2000)
	stall.Times = 3
	after := event(plan.Fault{Kind: "cut"}, 6000, 6000)
	resumed := int64(399 * time.Millisecond)
	require.Equal(t, &run.Faults{
		Offered: 11, Acknowledged: 7, Refused: 1, Uncertain: 3, UncertainCame: 2, Lost: 2, LostBeyond: 1, Duplicate: 2, Early: 1, EarlyBeyond: 1,
		Events: []run.FaultEvent{
			{Kind: "stall", Text: "stall at 0s for 1s", From: 1, To: 2, Times: 3, MayLose: "nothing", ResumedNs: &resumed},
			{Kind: "cut", Text: "cut at 0s", From: 6, To: 6, MayLose: "what is on its way to a consumer"},
		},
	}, c.account([]run.FaultEvent{stall, after}))
	c.plan.Fleet = []plan.Member{{Takes: true, To: 2 * time.Second, Kill: true}, {To: time.Second}, {Offers: true, To: 2 * time.Second, Kill: true}}
	require.Equal(t, []run.FaultEvent{
		{Kind: "kill-member", Text: "kill-member at 2s", From: 2, To: 2, MayLose: "what is on its way to a consumer", ResumedNs: &resumed},
		{Kind: "kill-member", Text: "kill-member at 2s", From: 2, To: 2, MayLose: "nothing", ResumedNs: &resumed},
	}, c.account(nil).Events)
}

// A fault accounts for no more losses than it may cause.
func TestLossesBeyondWhatMayBe(t *testing.T) {
	lost := func(answered, due int64) message {
		return message{confirmed, at(due), record{answered: at(answered), sent: at(answered)}}
	}
	kill := func(aof string) run.FaultEvent {
		return event(plan.Fault{Kind: "kill-server", For: time.Second, AOF: aof}, 5000, 6000)
	}
	takes := event(plan.Fault{Kind: plan.LoseReplies, Count: 5, Commands: []string{"take"}}, 5000, 6000)
	takes.Times = 3
	for name, tc := range map[string]struct {
		events   []run.FaultEvent
		messages []message
		beyond   int64
	}{
		"nothing broke":          {nil, []message{lost(100, 200)}, 1},
		"may lose nothing":       {[]run.FaultEvent{event(plan.Fault{Kind: "flush-scripts"}, 5000, 5000)}, []message{lost(100, 200)}, 1},
		"one for each consumer":  {[]run.FaultEvent{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []message{lost(1, 5000), lost(1, 5500), lost(1, 5001)}, 1},
		"due long before":        {[]run.FaultEvent{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []message{lost(1, 3999)}, 1},
		"of a backlog":           {[]run.FaultEvent{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []message{lost(1, 3000), {confirmed | delivered, at(2999), record{at(2), at(4500), 0, false}}}, 0},
		"due long after":         {[]run.FaultEvent{event(plan.Fault{Kind: "cut"}, 5000, 5000)}, []message{lost(1, 6001)}, 1},
		"of two events":          {[]run.FaultEvent{event(plan.Fault{Kind: "cut"}, 5000, 5000), event(plan.Fault{Kind: "cut"}, 5500, 5500)}, []message{lost(1, 4501), lost(1, 4502), lost(1, 4503), lost(1, 5000)}, 0},
		"of two events and more": {[]run.FaultEvent{event(plan.Fault{Kind: "cut"}, 5000, 5000), event(plan.Fault{Kind: "cut"}, 5500, 5500)}, []message{lost(1, 4501), lost(1, 4502), lost(1, 4503), lost(1, 5000), lost(1, 4506)}, 1},
		"as often as it was":     {[]run.FaultEvent{takes}, []message{lost(1, 4501), lost(1, 4502), lost(1, 4503), lost(1, 4504)}, 1},
		"always":                 {[]run.FaultEvent{kill("always")}, []message{lost(1, 5000), lost(2, 5000), lost(4900, 5000)}, 1},
		"once a second":          {[]run.FaultEvent{kill("everysec")}, []message{lost(4000, 9000), lost(4999, 9000), lost(3999, 9000)}, 1},
		"without a file":         {[]run.FaultEvent{kill("off")}, []message{lost(1, 9000), lost(4999, 9000), lost(6001, 9000)}, 1},
		"all keys removed":       {[]run.FaultEvent{event(plan.Fault{Kind: "flush-all"}, 5000, 5001)}, []message{lost(1, 9000), lost(5002, 9000), {confirmed, at(9000), record{at(5002), 0, at(5001), false}}}, 1},
	} {
		require.Equal(t, tc.beyond, broken(plan.Plan{Consumers: 2}, tc.messages...).account(tc.events).LostBeyond, name)
	}
}

// Logged reads how many values a lateness.hlog has.
func Logged(log []byte) (values int64) {
	lines := hdr.NewHistogramLogReader(bytes.NewReader(log))
	for h, err := lines.NextIntervalHistogram(); h != nil && err == nil; h, err = lines.NextIntervalHistogram() {
		values += h.TotalCount()
	}
	return values
}

// Total is the sum of a figure over the seconds of a run.
func Total(r *run.Document, of func(run.Interval) int64) (sum int64) {
	for _, i := range r.Intervals {
		sum += of(i)
	}
	return sum
}

// A real Redisson runs each plan by itself. The first time fetches it, so only where DQ_REQUIRE asks for that.
func TestRunOnARealRedisson(t *testing.T) {
	for name, tc := range map[string]struct {
		driver string
		change func(p *plan.Plan)
	}{
		"plain":              {"redisson:3.16.6", func(*plan.Plan) {}},
		"many queues":        {"redisson:3.16.6", func(p *plan.Plan) { p.Producers, p.Queues = 2, 4 }},
		"polling":            {"redisson:3.16.6", func(p *plan.Plan) { p.Poll = 5 * time.Millisecond }},
		"the oldest release": {"redisson:2.15.2", func(*plan.Plan) {}},
	} {
		t.Run(name, func(t *testing.T) {
			redistest.Redisson(t, strings.TrimPrefix(tc.driver, "redisson:"))
			p := testPlan()
			p.Consumers, p.Rate, p.Duration, p.Warmup = 8, 100, time.Second, 500*time.Millisecond
			tc.change(&p)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			o := Options{Plan: p, Driver: Parsed(t, tc.driver), Notice: func(line string) { t.Log(line) }}
			client := OnRedis(t, redistest.Redis(t), &o)
			r, err := Run(ctx, o)
			if err != nil && strings.Contains(err.Error(), "Subscribe timeout") { // seen of Redisson 3.16.6 on a busy machine
				r, err = Run(ctx, o)
			}
			require.NoError(t, err)
			require.Equal(t, run.Counts{Offered: 100, Delivered: 100}, r.Counts)
			require.Equal(t, tc.driver, r.Driver.String())
			require.Positive(t, r.ServerStats.TransferCalls)
			require.NotNil(t, r.Machine.Late, "the program tells when the latest came")
			require.Empty(t, r.Notes)
			requireNoKeys(t, client)
		})
	}
}

// The real Redisson is interrupted as dq is: no more offers, what is due soon is drained, the rest is pending, and there is a report.
func TestInterruptedRedissonStillReports(t *testing.T) {
	redistest.Redisson(t, "4.7.0")
	p := testPlan()
	p.Rate, p.Duration, p.Warmup, p.DrainTimeout = 200, time.Hour, 500*time.Millisecond, time.Second
	p.Delay = plan.Between(10*time.Millisecond, 20*time.Second)
	deadline, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ctx, interrupt := context.WithCancel(deadline)
	defer interrupt()
	o := Options{Plan: p, Driver: Parsed(t, "redisson:4.7.0"), Progress: func(text string, _ bool) {
		if strings.HasPrefix(text, "load") && !strings.Contains(text, "delivered 0 ") {
			interrupt()
		}
	}}
	client := OnRedis(t, redistest.Redis(t), &o)
	r, err := Run(ctx, o)
	require.NoError(t, err)
	require.True(t, r.Interrupted)
	require.Zero(t, r.Counts.Lost+r.Counts.Duplicate+r.Counts.Early+r.Counts.Pending-r.Counts.NotDue)
	require.Positive(t, r.Counts.NotDue)
	require.Positive(t, r.Counts.Delivered)
	require.Equal(t, r.Counts.Delivered, Logged(r.Log.Bytes()))
	held, err := client.ZCard(t.Context(), "redisson_delay_queue_timeout:{own}").Result()
	require.NoError(t, err)
	require.Zero(t, held, "the run's own queue goes with it")
}
