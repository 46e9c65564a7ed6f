package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/harness/internal/run"
)

// wrapped is the memory driver with another queue around each of its own.
type wrapped struct {
	spec.Memory
	wrap func(q driver.Queue) driver.Queue
}

func (w wrapped) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	queues, err := w.Memory.Open(ctx, target, names...)
	for i, q := range queues {
		queues[i] = w.wrap(q)
	}
	return queues, err
}

type fault func(q *faultyQueue, ctx context.Context, n int64, value []byte, delay time.Duration) error

type faultyQueue struct {
	driver.Queue
	driver.Inspector
	fault  fault
	offers atomic.Int64
}

// faulty is the memory driver with a fault built in, by the number of the offer.
func faulty(f fault) driver.Driver {
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
func runVirtual(ctx context.Context, t *testing.T, d driver.Driver, p plan.Plan) *run.Document {
	t.Helper()
	result, err := Run(ctx, Options{Plan: p, Driver: d, RunID: 0xabcd, Clock: clock.Runtime()})
	require.NoError(t, err)
	result.Report.Judge(nil)
	c := result.Report.Counts
	require.Equal(t, c.Offered, c.Delivered+c.Pending+c.Lost+c.Removed)
	require.Equal(t, c.Delivered, result.Report.Histograms.Lateness.Count())
	return result.Report
}

// virtual does so in a bubble of its own.
func virtual(t *testing.T, d driver.Driver, p plan.Plan) (out *run.Document) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { out = runVirtual(t.Context(), t, d, p) })
	return out
}

func memory() spec.Memory { return spec.Memory{Clock: clock.Runtime()} }

func TestFaultlessRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Warmup = time.Second
		p.Delay = plan.Between(500*time.Millisecond, 1500*time.Millisecond)
		var last Progress
		result, err := Run(t.Context(), Options{
			Plan: p, Driver: memory(), Clock: clock.Runtime(), Progress: func(p Progress) { last = p },
		})
		require.NoError(t, err)
		out := result.Report
		require.True(t, out.Judge(nil).Passed, out.Verdict.Text)
		require.Equal(t, run.Counts{Offered: 1000, Delivered: 1000}, out.Counts)
		require.Zero(t, out.Histograms.Lateness.Max())
		require.EqualValues(t, 1000, out.Histograms.OfferRTT.Count())
		require.Zero(t, out.Histograms.ScheduleLag.Max())
		require.Empty(t, out.Notes)
		require.EqualValues(t, 1000, last.Delivered)
		require.True(t, last.Last)
		var offered, delivered int64
		for _, i := range out.Intervals {
			offered, delivered = offered+i.Offered, delivered+i.Delivered
		}
		require.EqualValues(t, 1000, offered)
		require.EqualValues(t, 1000, delivered)
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

// A pause of the implementation shows as schedule lag of every message that
// should have been sent in it: no coordinated omission.
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
		require.Contains(t, fmt.Sprint(out.Notes), "offers or takes did not end")
		close(release)
	})
}

func TestInterruptStopsOffersAndDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(readyBefore+1001*time.Millisecond, cancel)
		out := runVirtual(ctx, t, memory(), testPlan())
		require.Equal(t, run.Counts{Offered: 501, Delivered: 501}, out.Counts)
		require.True(t, out.Interrupted)
		require.True(t, out.Verdict.Passed)
		require.Contains(t, out.Verdict.Text, "Interrupted")
	})
}

// What is due beyond the drain timeout is not waited for, not even that long.
func TestInterruptDoesNotWaitForWhatIsFarAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Delay = plan.Fixed(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(readyBefore+1001*time.Millisecond, cancel)
		start := time.Now()
		out := runVirtual(ctx, t, memory(), p)
		require.Equal(t, run.Counts{Offered: 501, Pending: 501, NotDue: 501}, out.Counts)
		require.True(t, out.Verdict.Passed, out.Verdict.Text)
		require.Less(t, time.Since(start), 2*time.Second)
	})
}

func TestInterruptDuringWarmup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testPlan()
		p.Warmup = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		_, err := Run(ctx, Options{Plan: p, Driver: memory(), Clock: clock.Runtime()})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "nothing was measured")
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

func TestProgressLines(t *testing.T) {
	p := Progress{Phase: plan.Measured, Planned: 100, Offered: 40, Delivered: 30, Pending: 10, Left: 6400 * time.Millisecond, Lateness: run.NewHistogram()}
	p.Lateness.Record(1_500_000)
	require.Equal(t, "load  offered 40/100  delivered 30  pending 10  p99 1.50 ms  left 6s", p.String())
	p.Phase, p.Lateness, p.OfferErrors = plan.Warmup, nil, 3
	require.Equal(t, "warm-up  offered 40/100  delivered 30  pending 10  failed 3  p99 -  left 6s", p.String())
}

// A terminal gets one line that is rewritten, a file one every ten seconds and the last.
func TestProgressModes(t *testing.T) {
	for rewrite, want := range map[bool][2]int{true: {1, 25}, false: {3, 0}} {
		var out strings.Builder
		write := ProgressWriter(&out, rewrite)
		for second := 1; second <= 25; second++ {
			write(Progress{Last: second == 25})
		}
		require.Equal(t, want, [2]int{strings.Count(out.String(), "\n"), strings.Count(out.String(), "\r")})
	}
}
