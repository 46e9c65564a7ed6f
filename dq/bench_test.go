package dq_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/clock"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// BenchmarkLateness measures delivered − due with the precise timer and with
// Go's own, in turn (A B B A) on one server, and reports both and their ratio.
// Read the ratios: absolute figures depend on the machine and what else it does.
//
//	go test ./dq -run '^$' -bench Lateness -benchtime 1x
func BenchmarkLateness(b *testing.B) {
	const seconds = 4
	for _, rate := range []int{20, 1000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			s := redistest.Redis(b)
			opt, err := redis.ParseURL(s.URL())
			require.NoError(b, err)
			rdb := redis.NewClient(opt)
			defer rdb.Close()
			var precise, plain side
			for range b.N {
				precise.measure(b, rdb, clock.System(), rate, seconds)
				plain.measure(b, rdb, clock.Runtime(), rate, seconds)
				plain.measure(b, rdb, clock.Runtime(), rate, seconds)
				precise.measure(b, rdb, clock.System(), rate, seconds)
			}
			b.ReportMetric(0, "ns/op")
			precise.report(b, "timerfd")
			plain.report(b, "time.Timer")
			b.ReportMetric(ratio(precise.quantile(0.5)+time.Millisecond, plain.quantile(0.5)+time.Millisecond), "p50-ratio")
			b.ReportMetric(ratio(precise.quantile(0.99)+time.Millisecond, plain.quantile(0.99)+time.Millisecond), "p99-ratio")
		})
	}
}

// side collects the lateness of one kind of timer.
type side struct {
	lateness  []time.Duration
	transfers int
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func (s *side) quantile(q float64) time.Duration {
	slices.Sort(s.lateness)
	return s.lateness[int(q*float64(len(s.lateness)-1))]
}

// report shows quantiles in ms. The ratios count from 1 ms before the due
// instant, which is where whole milliseconds may put a delivery, so that they
// never divide by something near zero.
func (s *side) report(b *testing.B, name string) {
	b.ReportMetric(s.quantile(0.5).Seconds()*1e3, name+"-p50-ms")
	b.ReportMetric(s.quantile(0.99).Seconds()*1e3, name+"-p99-ms")
	b.ReportMetric(float64(s.transfers)/float64(len(s.lateness)), name+"-calls/msg")
}

func (s *side) measure(b *testing.B, rdb *redis.Client, k clock.Clock, rate, seconds int) {
	b.Helper()
	const delay = time.Second
	ctx, cancel := context.WithTimeout(b.Context(), time.Duration(seconds)*time.Second+delay+testDeadline)
	defer cancel()
	var transfers atomic.Int64
	client, err := dq.NewClient(rdb, dq.WithClock(k),
		on(func(dq.Transferred) { transfers.Add(1) }))
	require.NoError(b, err)
	defer client.Close()
	queue := dq.NewTaker(client, "orders", codec.Long{})
	delayed := dq.NewSender(queue)
	require.NoError(b, delayed.Ready(ctx))

	n := rate * seconds
	late := make(chan time.Duration, n)
	for range 8 {
		go func() {
			for {
				due, err := queue.Take(ctx)
				if err != nil {
					return
				}
				late <- time.Duration(time.Now().UnixNano() - due)
			}
		}()
	}
	pace := clock.System().NewTimer()
	defer pace.Close()
	start := time.Now()
	for i := range n {
		at := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
		require.NoError(b, clock.SleepUntil(ctx, clock.System(), pace, at))
		go func() {
			due := time.Now().Add(delay).UnixNano()
			if err := delayed.Offer(ctx, due, delay); err != nil && ctx.Err() == nil {
				b.Error(err)
			}
		}()
	}
	for range n {
		select {
		case l := <-late:
			s.lateness = append(s.lateness, l)
		case <-ctx.Done():
			b.Fatal("a value did not come")
		}
	}
	s.transfers += int(transfers.Load())
}
