package load

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/page"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestStartForms(t *testing.T) {
	at, err := ParseStart("2026-01-31T12:00:00.5Z")
	require.NoError(t, err)
	require.True(t, at.At.Equal(time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)))
	after, err := ParseStart("+5s")
	require.NoError(t, err)
	require.Equal(t, Start{After: 5 * time.Second}, after)
	for _, text := range []string{"", "5s", "+", "+-5s", "+0s", "noon", "2026-01-31"} {
		_, err := ParseStart(text)
		require.ErrorContains(t, err, "start-at: expected", text)
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add("+5s")
	f.Add("2026-01-31T12:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseStart(text); err == nil {
			require.NotEqual(t, s.At.IsZero(), s.After == 0, "either of both")
		}
	})
}

func TestWorkersNeedSomethingToDo(t *testing.T) {
	p := testPlan()
	require.NoError(t, plan.Worker{Number: 1, Count: 5}.Check(p))
	require.ErrorContains(t, plan.Worker{Number: 1, Count: 6}.Check(p), "6 workers need a producer")
	p.Producers, p.Consumers = 10, 5
	require.ErrorContains(t, plan.Worker{Number: 1, Count: 6}.Check(p), "6 workers need a consumer")
	_, err := Run(t.Context(), Options{Plan: testPlan(), Driver: memory(), Worker: plan.Worker{Number: 1, Count: 2}, StartAt: time.Now().Add(time.Hour)})
	require.ErrorContains(t, err, "expected a driver whose messages are on a server")
}

// workersOf runs a plan split over n workers on srv, and joins what they report.
func workersOf(t *testing.T, srv *redis.Server, d driver.Driver, p plan.Plan, n int) *run.Document {
	t.Helper()
	start := time.Now().Add(2 * time.Second)
	runs := make([]*run.Document, n)
	errs := make([]error, n)
	var workers sync.WaitGroup
	for i := range n {
		workers.Go(func() {
			client := srv.NewClient()
			defer client.Close()
			result, err := Run(t.Context(), Options{
				Plan: p, Driver: d, RedisURL: srv.DriverURL(), Redis: &Redis{Client: client, Queue: p.Queue},
				RunID: 0xabcd, OwnQueue: true, Worker: plan.Worker{Number: i + 1, Count: n}, StartAt: start,
			})
			if errs[i] = err; err == nil {
				runs[i] = throughFile(t, result.Report)
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for _, r := range runs {
		require.GreaterOrEqual(t, r.Worker.AskedSeconds, r.ElapsedSeconds)
	}
	merged, err := run.Merge(runs)
	require.NoError(t, err)
	merged.Judge(nil)
	return merged
}

// throughFile returns what a reader of the run file sees.
func throughFile(t *testing.T, r *run.Document) *run.Document {
	t.Helper()
	r.Judge(nil)
	folder := t.TempDir()
	require.NoError(t, page.WriteFolder(folder, r, nil))
	read, err := run.ReadFile(folder + "/" + run.File)
	require.NoError(t, err)
	return read
}

func sharedPlan(queue string) plan.Plan {
	p := plan.DefaultPlan()
	p.WarmupEnds = false
	p.Producers, p.Consumers, p.Rate, p.Duration = 10, 8, 500, time.Second
	p.Delay = plan.Delay{Min: 100 * time.Millisecond, Max: 700 * time.Millisecond}
	p.Warmup, p.DrainTimeout, p.Queue = 200*time.Millisecond, 5*time.Second, queue
	return p
}

// Four workers have the counts of one, whichever of them takes a message.
func TestFourWorkersCountAsOne(t *testing.T) {
	t.Parallel()
	for name, launch := range map[string]func(testing.TB) *redis.Server{
		"one server": redistest.Redis, "cluster": startCluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := launch(t)
			d, err := spec.Parse("dq")
			require.NoError(t, err)
			p := sharedPlan("workers:" + t.Name())
			p.Queues = 3
			merged := workersOf(t, srv, d, p, 4)
			require.True(t, merged.Verdict.Passed, merged.Verdict.Text)
			require.Equal(t, run.Counts{Offered: 500, Delivered: 500}, merged.Counts)
			require.EqualValues(t, 500, merged.Histograms.OfferRTT.Count())
			require.Equal(t, Options{Plan: p}.scenario(), merged.Scenario)
			require.Equal(t, 4, merged.Workers)
			require.Contains(t, merged.Notes[len(merged.Notes)-1], "the server's clock minus the worker's")
			var offered, delivered int64
			for _, i := range merged.Intervals {
				offered, delivered = offered+i.Offered, delivered+i.Delivered
			}
			require.EqualValues(t, 500, offered)
			require.EqualValues(t, 500, delivered)
		})
	}
}

// What workers do wrong is counted once, over all of them.
func TestWorkersCountFaultsExactly(t *testing.T) {
	t.Parallel()
	srv := redistest.Redis(t)
	d, err := spec.Parse("dq")
	require.NoError(t, err)
	p := sharedPlan("workers:faulty")
	p.DrainTimeout = time.Second
	merged := workersOf(t, srv, losing{d}, p, 4)
	c := merged.Counts
	require.Equal(t, run.Counts{Offered: 500, Delivered: 450, Lost: 50, Duplicate: 50}, c)
	require.False(t, merged.Verdict.Passed)
}

// losing drops each message whose number in its producer's sequence ends with 3,
// and offers each twice that ends with 7.
type losing struct{ driver.Driver }

func (d losing) Open(ctx context.Context, target driver.Target, names ...string) ([]driver.Queue, error) {
	queues, err := d.Driver.Open(ctx, target, names...)
	for i, q := range queues {
		queues[i] = losingQueue{q}
	}
	return queues, err
}

type losingQueue struct{ driver.Queue }

func (q losingQueue) Offer(ctx context.Context, value []byte, delay time.Duration) error {
	h, err := plan.ParsePayload(value)
	if err != nil {
		return err
	}
	switch {
	case h.Phase == plan.Measured && h.Seq%10 == 3:
		return nil
	case h.Phase == plan.Measured && h.Seq%10 == 7:
		if err := q.Queue.Offer(ctx, value, delay); err != nil {
			return err
		}
	}
	return q.Queue.Offer(ctx, value, delay)
}

func TestStartThatHasPassedIsRefused(t *testing.T) {
	_, err := Run(t.Context(), Options{Plan: testPlan(), Driver: memory(), StartAt: time.Now().Add(-time.Minute)})
	var late *LateStartError
	require.ErrorAs(t, err, &late)
	require.Greater(t, late.By, 59*time.Second)
}

func TestWorkersMeet(t *testing.T) {
	srv := redistest.Redis(t)
	client := srv.NewClient()
	defer client.Close()
	p := sharedPlan("workers:meet")
	after := Start{After: 10 * time.Second}
	first, err := Meet(t.Context(), client, p, plan.Worker{Number: 1, Count: 2}, after)
	require.NoError(t, err)
	second, err := Meet(t.Context(), client, p, plan.Worker{Number: 2, Count: 2}, after)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, SharedID(p, 2, first), SharedID(p, 2, second))
	_, err = Meet(t.Context(), client, p, plan.Worker{Number: 0, Count: 2}, after)
	require.ErrorContains(t, err, "worker 0/2 of this run is there already")
	p.Seed++
	other, err := Meet(t.Context(), client, p, plan.Worker{Number: 1, Count: 2}, after)
	require.NoError(t, err, "another plan is another run")
	require.NotEqual(t, first, other)
}

func TestClockOffsetOfOneMachineIsWithinItsError(t *testing.T) {
	srv := redistest.Redis(t)
	client := srv.NewClient()
	defer client.Close()
	offset, err := (&Redis{Client: client, Queue: "q"}).ClockOffset(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, offset.Ahead.Abs(), offset.Error)
}

// startCluster gives a cluster of three masters.
func startCluster(t testing.TB) *redis.Server {
	t.Helper()
	srv, err := redis.StartCluster(context.Background(), 3)
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}
