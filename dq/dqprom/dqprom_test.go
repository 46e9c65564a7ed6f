package dqprom_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/dqprom"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.MainWithoutLeaks(m) }

// values are the figures of a registry: counters and gauges, and of histograms how many were observed, by name and the values of their labels.
func values(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			switch {
			case m.GetHistogram() != nil:
				all[name] = float64(m.GetHistogram().GetSampleCount())
			case m.GetCounter() != nil:
				all[name] = m.GetCounter().GetValue()
			default:
				all[name] = m.GetGauge().GetValue()
			}
		}
	}
	return all
}

func connect(t *testing.T) *redis.Client {
	t.Helper()
	options, err := redis.ParseURL(redistest.Redis(t).URL())
	require.NoError(t, err)
	rdb := redis.NewClient(options)
	t.Cleanup(func() { require.NoError(t, rdb.Close()) })
	return rdb
}

func TestWhatAServiceDoes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	metrics := dqprom.NewMetrics()
	handled := make(chan error, 10)
	rdb := connect(t)
	client, err := dq.NewClient(rdb, dq.WithObserver(metrics.Observe), dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(dq.Handled); ok {
			handled <- e.Err
		}
	}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics, dqprom.NewQueues(rdb, "orders"))

	queue, err := dq.NewQueue(client, "orders", codec.String{})
	require.NoError(t, err)
	require.NoError(t, queue.Ready(ctx))
	_, err = queue.Offer(ctx, "first", 20*time.Millisecond)
	require.NoError(t, err)
	confirmed, err := queue.OfferAll(ctx, time.Hour, "a", "b", "c")
	require.NoError(t, err)
	require.Equal(t, 3, confirmed)
	value, err := queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "first", value)

	worker := dq.NewWorker(client, dq.WorkerOptions{MaxAttempts: 2, Backoff: func(int) time.Duration { return 0 }})
	dq.Handle(worker, queue, func(context.Context, *dq.Message[string]) error { return errors.New("no") })
	_, err = queue.Offer(ctx, "fails twice", 0)
	require.NoError(t, err)
	consuming, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(consuming) }()
	for range 2 {
		require.EqualError(t, <-handled, "no")
	}
	require.Eventually(t, func() bool { n, err := queue.Counts(ctx); return err == nil && n.Dead == 1 }, 10*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-ended)

	metrics.Observe(dq.ClockSet{})

	got := values(t, registry)
	for name, want := range map[string]float64{
		"dq_offered_total orders": 5, "dq_taken_total orders": 3, "dq_handler_seconds orders error": 2, "dq_retries_total orders": 1,
		"dq_clock_steps_total": 1, "dq_offer_seconds orders confirmed": 4, // OfferAll: the first by itself, and one batch
		"dq_waiting orders": 3, "dq_ready orders": 0, "dq_held orders": 0, "dq_dead orders": 1, "dq_overdue_seconds orders": 0,
	} {
		require.Equal(t, want, got[name], "%s in %v", name, got)
	}
	require.GreaterOrEqual(t, got["dq_transfer_late_seconds orders"], 1.0)
	require.GreaterOrEqual(t, got["dq_transfer_seconds orders ok"], 2.0)
}

func TestAQueueThatNobodyTransfers(t *testing.T) {
	t.Parallel()
	rdb := connect(t)
	name := "any \xff bytes"
	due := float64(time.Now().Add(-time.Minute).UnixMilli())
	require.NoError(t, rdb.ZAdd(t.Context(), "redisson_delay_queue_timeout:{"+name+"}",
		redis.Z{Score: -5, Member: "never"}, redis.Z{Score: due, Member: "x"}).Err())
	registry := prometheus.NewRegistry()
	registry.MustRegister(dqprom.NewQueues(rdb, name))
	got := values(t, registry)
	require.Equal(t, 2.0, got[`dq_waiting "any \xff bytes"`], "%v", got)
	require.InDelta(t, 60, got[`dq_overdue_seconds "any \xff bytes"`], 20)
}

func TestAServerThatCannotBeAskedFailsTheScrape(t *testing.T) {
	t.Parallel()
	rdb := connect(t)
	require.NoError(t, rdb.Set(t.Context(), "orders", "no list", 0).Err())
	registry := prometheus.NewRegistry()
	registry.MustRegister(dqprom.NewQueues(rdb, "orders"))
	_, err := registry.Gather()
	require.ErrorContains(t, err, `queue "orders": WRONGTYPE`)
}
