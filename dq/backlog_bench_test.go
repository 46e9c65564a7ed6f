package dq_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// takers is how many goroutines empty the destination in the benchmarks of a backlog.
const takers = 4

// BenchmarkBacklog has a backlog in random order come due within a second, transferred by
// passes that unlist and by Redisson's script alone, in turn on servers of their own, and
// reports the rates, their ratio, and the longest call as the server's slow log has it. The
// exact side is measured for ten seconds: all of it takes minutes.
//
//	go test ./dq -run '^$' -bench Backlog -benchtime 1x
func BenchmarkBacklog(b *testing.B) {
	const n = 200_000
	var auto, exact drained
	for range b.N {
		auto.drain(b, n, time.Second)
		exact.drain(b, n, time.Second, dq.WithRedissonCommands())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(auto.rate, "auto-msg/s")
	b.ReportMetric(exact.rate, "exact-msg/s")
	b.ReportMetric(auto.rate/exact.rate, "rate-ratio")
	b.ReportMetric(auto.longest.Seconds()*1e3, "auto-longest-ms")
	b.ReportMetric(exact.longest.Seconds()*1e3, "exact-longest-ms")
}

// BenchmarkLongQueue has 5,000 messages a second come due out of 500,000 in random order, and
// reports how long past due they come in 20 seconds.
//
//	go test ./dq -run '^$' -bench LongQueue -benchtime 1x
func BenchmarkLongQueue(b *testing.B) {
	const n = 500_000
	var auto drained
	for range b.N {
		auto.until = 20 * time.Second
		auto.drain(b, n, 100*time.Second)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(auto.late)), "messages")
	b.ReportMetric(auto.pastDue(0.5).Seconds()*1e3, "p50-ms")
	b.ReportMetric(auto.pastDue(0.99).Seconds()*1e3, "p99-ms")
	b.ReportMetric(auto.pastDue(1).Seconds()*1e3, "max-ms")
	b.ReportMetric(auto.longest.Seconds()*1e3, "longest-ms")
}

// BenchmarkBurst has 10,000 messages come due in one millisecond, both ways, and reports how
// long past due they come.
//
//	go test ./dq -run '^$' -bench Burst -benchtime 1x
func BenchmarkBurst(b *testing.B) {
	const n = 10_000
	var auto, exact drained
	for range b.N {
		auto.drain(b, n, 0)
		exact.drain(b, n, 0, dq.WithRedissonCommands())
	}
	b.ReportMetric(0, "ns/op")
	for name, d := range map[string]*drained{"auto": &auto, "exact": &exact} {
		b.ReportMetric(d.pastDue(0.5).Seconds()*1e3, name+"-p50-ms")
		b.ReportMetric(d.pastDue(0.99).Seconds()*1e3, name+"-p99-ms")
	}
	b.ReportMetric(exact.pastDue(0.99).Seconds()/auto.pastDue(0.99).Seconds(), "p99-ratio")
}

// BenchmarkCancel cancels single ones of 100,000 messages: by ticket, and by Redisson's remove
// script, in turn on one server, and reports what a call takes and the ratio. Cancelled are any, where
// delays differ and where they are equal, or some of the latest.
//
//	go test ./dq -run '^$' -bench Cancel -benchtime 1x
func BenchmarkCancel(b *testing.B) {
	const n = 100_000
	random := rand.New(rand.NewPCG(5, 6))
	shuffled, inOrder := rand.New(rand.NewPCG(1, 2)).Perm(n), make([]int, n)
	for i := range inOrder {
		inOrder[i] = i
	}
	for name, c := range map[string]struct {
		order []int
		last  int // of how many offered last
	}{
		"random-delays": {shuffled, n},
		"equal-delays":  {inOrder, n},
		"latest-10000":  {inOrder, n / 10},
		"latest-1000":   {shuffled, n / 100},
	} {
		b.Run(name, func(b *testing.B) {
			s := redistest.Redis(b)
			defer s.Close()
			on := benchmarkOn(b, s)
			defer on.client.Close()
			base := time.Now().Add(time.Hour).UnixMilli()
			due := func(i int) int64 { return base + int64(i) }
			on.fillInOrder(b, wire.LayoutBc0Lc0, c.order, due)
			delayed := dq.NewSender(on.queue)
			var byTicket, byValue []time.Duration
			chosen := random.Perm(c.last)
			for k, at := range chosen[:505] {
				i, begun := c.order[n-1-at], time.Now()
				if k%101 != 0 {
					require.NoError(b, delayed.Cancel(b.Context(), ticket(b, i, due(i))))
					byTicket = append(byTicket, time.Since(begun))
					continue
				}
				removed, err := delayed.Remove(b.Context(), strconv.Itoa(i))
				byValue = append(byValue, time.Since(begun))
				require.NoError(b, err)
				require.True(b, removed)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(mean(byTicket).Seconds()*1e3, "ticket-ms")
			b.ReportMetric(mean(byValue).Seconds()*1e3, "remove-ms")
			b.ReportMetric(float64(mean(byValue))/float64(mean(byTicket)), "time-ratio")
		})
	}
}

// ticket returns the ticket of a member made by fill.
func ticket(t testing.TB, i int, due int64) dq.Ticket {
	t.Helper()
	var id [8]byte
	for k := range id {
		id[k] = byte(i >> (8 * k))
	}
	parsed, err := dq.ParseTicket(fmt.Sprintf("%d-%x", due, id))
	require.NoError(t, err)
	return parsed
}

func mean(all []time.Duration) (sum time.Duration) {
	for _, d := range all {
		sum += d
	}
	return sum / time.Duration(len(all))
}

// drained is what came of a backlog.
type drained struct {
	rate    float64 // messages a second, from the first to the last
	longest time.Duration
	late    []time.Duration
	until   time.Duration // how long it is measured, 10 s where nothing is said
}

func (d *drained) pastDue(q float64) time.Duration {
	slices.Sort(d.late)
	return d.late[int(q*float64(len(d.late)-1))]
}

func (d *drained) drain(b *testing.B, n int, within time.Duration, options ...dq.Option) {
	b.Helper()
	s := redistest.Redis(b)
	defer s.Close()
	on := benchmarkOn(b, s, options...)
	defer on.client.Close()
	start := time.Now().Add(time.Duration(n)*time.Second/20_000 + 6*time.Second)
	due := func(i int) int64 { return start.UnixMilli() + int64(i)*within.Milliseconds()/int64(n) }
	on.fill(b, wire.LayoutBc0Lc0, n, due)
	require.NoError(b, on.redis.ConfigSet(b.Context(), "slowlog-log-slower-than", "1000").Err())
	require.NoError(b, on.redis.Do(b.Context(), "SLOWLOG", "RESET").Err())

	ctx, cancel := context.WithDeadline(b.Context(), start.Add(cmp.Or(d.until, 10*time.Second)))
	defer cancel()
	delayed := dq.NewSender(on.queue)
	require.NoError(b, delayed.Ready(ctx))
	var all sync.Mutex
	var first, last time.Time
	came := 0
	note := func(values ...string) {
		now := time.Now()
		all.Lock()
		defer all.Unlock()
		if came == 0 {
			first = now
		}
		last = now
		for _, v := range values {
			i, _ := strconv.Atoi(v)
			d.late = append(d.late, now.Sub(time.UnixMilli(due(i))))
		}
		if came += len(values); came >= n {
			cancel()
		}
	}
	var group sync.WaitGroup
	for range takers {
		group.Go(func() { takeSome(ctx, on.queue, note) })
	}
	group.Wait()
	d.rate = float64(came) / max(last.Sub(first).Seconds(), 1e-3)
	calls, err := on.redis.SlowLogGet(b.Context(), 1000).Result()
	require.NoError(b, err)
	for _, call := range calls {
		if call.Args[0] == "EVALSHA" {
			d.longest = max(d.longest, call.Duration)
		}
	}
}

// takeSome takes one value, and what else is there, until ctx ends.
func takeSome(ctx context.Context, queue *dq.Taker[string], note func(...string)) {
	for {
		one, err := queue.Take(ctx)
		if err != nil {
			return
		}
		note(one)
	}
}

func benchmarkOn(b *testing.B, s *redis.Server, options ...dq.Option) *bundle {
	b.Helper()
	opt, err := goredis.ParseURL(s.URL())
	require.NoError(b, err)
	on := &bundle{server: s, redis: goredis.NewClient(opt), names: wire.NamesOf("orders")}
	b.Cleanup(func() { _ = on.redis.Close() })
	on.client, err = dq.NewClient(on.redis, options...)
	require.NoError(b, err)
	on.queue = dq.NewTaker(on.client, "orders", codec.String{})
	return on
}
