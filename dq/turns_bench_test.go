package dq_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// BenchmarkTurns has 20 clients on one queue and 100 due times, 50 ms apart, and reports how many
// transfers each has: where they take turns, and under strict wire, where all transfer.
//
//	go test ./dq -run '^$' -bench Turns -benchtime 1x
func BenchmarkTurns(b *testing.B) {
	var turns, all float64
	for range b.N {
		turns = transfersADueTime(b)
		all = transfersADueTime(b, dq.WithRedissonCommands())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(turns, "turns-transfers/due")
	b.ReportMetric(all, "strict-transfers/due")
	b.ReportMetric(all/turns, "transfers-ratio")
}

func transfersADueTime(b *testing.B, options ...dq.Option) float64 {
	b.Helper()
	const clients, dueTimes, apart = 20, 100, 50 * time.Millisecond
	s := redistest.Redis(b)
	defer s.Close()
	var transfers atomic.Int64
	options = append(options, on(func(dq.Transferred) { transfers.Add(1) }))
	var on *bundle
	var delayed *dq.Sender[string]
	for range clients {
		on = benchmarkOn(b, s, options...)
		defer on.client.Close()
		delayed = dq.NewSender(on.queue)
		require.NoError(b, delayed.Ready(b.Context()))
	}
	for i := range dueTimes {
		require.NoError(b, delayed.Offer(b.Context(), strconv.Itoa(i), time.Second+time.Duration(i)*apart))
	}
	before := transfers.Load()
	for range dueTimes {
		_, err := on.queue.Take(b.Context())
		require.NoError(b, err)
	}
	<-time.After(apart) // what the last due time has the others do
	return float64(transfers.Load()-before) / dueTimes
}

// BenchmarkTakeover kills one of two processes on a queue, again and again, while a message comes
// due each 10 ms, and reports how long past due the latest came.
//
//	go test ./dq -run '^$' -bench Takeover -benchtime 1x
func BenchmarkTakeover(b *testing.B) {
	const kills, messages, apart = 8, 40, 10 * time.Millisecond
	s := redistest.Redis(b)
	defer s.Close()
	on := benchmarkOn(b, s)
	defer on.client.Close()
	delayed := dq.NewSender(on.queue)
	require.NoError(b, delayed.Ready(b.Context()))
	due := dq.NewTaker(on.client, "orders", codec.Long{})
	offers := dq.NewSender(due)
	defer offers.Close()
	var latest time.Duration
	for range kills {
		other := process(b, s)
		listen(b, on.redis, 2)
		for i := range messages {
			delay := 100*time.Millisecond + time.Duration(i)*apart
			require.NoError(b, offers.Offer(b.Context(), time.Now().Add(delay).UnixMilli(), delay))
		}
		for i := range messages {
			at, err := due.Take(b.Context())
			require.NoError(b, err)
			latest = max(latest, time.Since(time.UnixMilli(at)))
			if i == messages/2 {
				require.NoError(b, other.Kill())
			}
		}
		listen(b, on.redis, 1)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(latest.Seconds()*1e3, "latest-ms")
}
