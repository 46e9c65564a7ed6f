package dq_test

import (
	"context"
	"net"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// offered is what each offer of the benchmarks offers.
var offered = strings.Repeat("x", 100)

// BenchmarkOffer has 50 goroutines offer, and redis-benchmark run the same script on 50
// connections, in turn on one server, and reports the rates and their ratio.
//
//	go test ./dq -run '^$' -bench Offer -benchtime 1x -count 3
func BenchmarkOffer(b *testing.B) {
	const goroutines, n = 50, 150_000
	offerBeside(b, n, nil, func(ctx context.Context, d *dq.Sender[string]) {
		var group sync.WaitGroup
		for range goroutines {
			group.Go(func() {
				for range n / goroutines {
					if err := d.Offer(ctx, offered, time.Hour); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	})
}

// BenchmarkOfferAll has one goroutine offer all at once, and redis-benchmark run the same script on
// 50 connections with 16 under way on each.
func BenchmarkOfferAll(b *testing.B) {
	const n = 200_000
	values := make([]string, n)
	for i := range values {
		values[i] = offered
	}
	offerBeside(b, n, []string{"-P", "16"}, func(ctx context.Context, d *dq.Sender[string]) {
		confirmed, err := d.OfferAll(ctx, time.Hour, values...)
		require.NoError(b, err)
		require.Equal(b, n, confirmed)
	})
}

func offerBeside(b *testing.B, n int, flags []string, offer func(context.Context, *dq.Sender[string])) {
	b.Helper()
	s := redistest.Redis(b)
	defer s.Close()
	on := benchmarkOn(b, s)
	defer on.client.Close()
	delayed := dq.NewSender(on.queue)
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	require.NoError(b, delayed.Offer(ctx, offered, time.Hour)) // the script is known
	var ours, theirs, allocated float64
	for range b.N {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		offer(ctx, delayed)
		ours = float64(n) / time.Since(began).Seconds()
		runtime.ReadMemStats(&after)
		allocated = float64(after.Mallocs-before.Mallocs) / float64(n)
		require.NoError(b, on.redis.Del(ctx, on.names.Pending, on.names.TimeoutSet).Err())
		theirs = redisBenchmark(b, s, n, flags)
		require.NoError(b, on.redis.Del(ctx, on.names.Pending, on.names.TimeoutSet).Err())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours, "dq-msg/s")
	b.ReportMetric(theirs, "redis-benchmark-msg/s")
	b.ReportMetric(ours/theirs, "rate-ratio")
	b.ReportMetric(allocated, "allocs/msg")
}

var rates = regexp.MustCompile(`([0-9.]+) requests per second`)

// redisBenchmark runs Redisson's offer script, and returns how often a second.
func redisBenchmark(b *testing.B, s *redis.Server, n int, flags []string) float64 {
	b.Helper()
	host, port, err := net.SplitHostPort(s.Addr)
	require.NoError(b, err)
	script, ok := wire.Newest().Script(wire.ScriptOffer)
	require.True(b, ok)
	names := wire.NamesOf("orders")
	args := append([]string{"-h", host, "-p", port, "-q", "-c", "50", "-n", strconv.Itoa(n), "-r", "1000000000"}, flags...)
	args = append(args, "EVALSHA", script.SHA1, "4", names.Destination, names.TimeoutSet, names.Pending, names.Channel,
		strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10), "__rand_int__", offered)
	out, err := exec.CommandContext(b.Context(), "redis-benchmark", args...).CombinedOutput()
	require.NoError(b, err, "redis-benchmark, which comes with redis-server: %s", out)
	found := rates.FindAllStringSubmatch(string(out), -1)
	require.NotEmpty(b, found, "%s", out)
	rate, err := strconv.ParseFloat(found[len(found)-1][1], 64)
	require.NoError(b, err)
	return rate
}
