package dq_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// takers is how many goroutines empty the destination in the benchmarks of a backlog.
const takers = 4

// BenchmarkBacklog has 200,000 messages in random order come due within a second. All of the exact side takes minutes.
func BenchmarkBacklog(b *testing.B) {
	benchmarkDrain(b, 200_000, time.Second, 10*time.Second, dq.WithRedissonCommands())
}

// BenchmarkLongQueue has 5,000 messages a second come due out of 500,000 in random order.
func BenchmarkLongQueue(b *testing.B) { benchmarkDrain(b, 500_000, 100*time.Second, 20*time.Second) }

// BenchmarkBurst has 10,000 messages come due in one millisecond.
func BenchmarkBurst(b *testing.B) {
	benchmarkDrain(b, 10_000, 0, 10*time.Second, dq.WithRedissonCommands())
}

// benchmarkDrain has n messages come due, transferred by passes that unlist and, with the options beside, by Redisson's script alone, in
// turn on servers of their own. It measures for so long, and reports rates, how long past due the messages come, and the longest
// call as the server's slow log has it.
//
//	go test ./dq -run '^$' -bench Backlog -benchtime 1x
func benchmarkDrain(b *testing.B, n int, within, until time.Duration, beside ...dq.Option) {
	b.Helper()
	auto, exact := drained{until: until}, drained{until: until}
	for range b.N {
		auto.drain(b, n, within)
		if beside != nil {
			exact.drain(b, n, within, beside...)
		}
	}
	b.ReportMetric(0, "ns/op")
	for side, d := range map[string]*drained{"auto": &auto, "exact": &exact} {
		if len(d.late) > 0 {
			b.ReportMetric(d.rate, side+"-msg/s")
			b.ReportMetric(d.longest.Seconds()*1e3, side+"-longest-ms")
			for name, q := range map[string]float64{"p50": .5, "p99": .99, "max": 1} {
				b.ReportMetric(d.pastDue(q).Seconds()*1e3, side+"-"+name+"-ms")
			}
		}
	}
	if beside != nil {
		b.ReportMetric(auto.rate/exact.rate, "rate-ratio")
		b.ReportMetric(exact.pastDue(.99).Seconds()/auto.pastDue(.99).Seconds(), "p99-ratio")
	}
}

// BenchmarkCancel cancels single ones of 100,000 messages: by ticket, and by Redisson's remove script, in turn on one server, and reports
// what a call takes and the ratio. Cancelled are any, where delays differ and where they are equal, or some of the latest.
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
			for k, at := range random.Perm(c.last)[:505] {
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
	until   time.Duration // how long it is measured
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

	ctx, cancel := context.WithDeadline(b.Context(), start.Add(d.until))
	defer cancel()
	require.NoError(b, dq.NewSender(on.queue).Ready(ctx))
	var all sync.Mutex
	came, first, last := 0, time.Time{}, time.Time{}
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
		group.Go(func() {
			for {
				one, err := on.queue.Take(ctx)
				if err != nil {
					return
				}
				more, _ := on.queue.Queue.Poll(ctx, 500)
				note(append(more, one)...)
			}
		})
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

func benchmarkOn(b *testing.B, s *redis.Server, options ...dq.Option) *bundle {
	b.Helper()
	return bundleOf(b, s, clientOf(b, connect(b, s.URL()), options...), "orders")
}

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
	return must(strconv.ParseFloat(found[len(found)-1][1], 64))
}

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
	require.NoError(b, dq.NewSender(on.queue).Ready(b.Context()))
	due := dq.NewTaker(on.client, "orders", codec.Long{})
	offers := dq.NewSender(due)
	defer offers.Close()
	var latest time.Duration
	for range kills {
		other := process(b, s.URL(), nil, transfers).Process
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
