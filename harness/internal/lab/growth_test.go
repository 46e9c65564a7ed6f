package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/text"
)

const (
	growthMessages    = 300
	growthPerSecond   = 50
	growthValueSize   = 100 // bytes
	growthMeasurement = 3 * time.Minute
)

// BenchmarkGrowth measures the cost of a message while a queue is long, and while a client has many queues. Each measurement
// has a fresh server. "Redisson's script" is sent by dq: its cost for the server is the same from any client.
//
//	make growth
func BenchmarkGrowth(b *testing.B) {
	ctx := b.Context()
	b.Chdir("../../..")
	const each = "p50|p99|server each"
	head := strings.Split("dq: "+each+"|Redisson's script: "+each, "|")
	row := func(n, pending, queues int) []string {
		cells := []string{text.Count(int64(n))}
		for _, strict := range []bool{false, true} {
			fmt.Fprintf(os.Stderr, "%d pending, %d queues, Redisson's script: %t\n", pending, queues, strict)
			c, err := costOf(b, strict, pending, queues)
			if pending > 0 && !strict {
				cells = append(cells, fmt.Sprintf("%.0f", c.bytes))
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				cells = append(cells, strings.SplitN(err.Error(), "\n", 2)[0], "–", "–")
				continue
			}
			cells = append(cells, compact(c.p50), compact(c.p99), compact(c.server))
		}
		return cells
	}
	var length, count [][]string
	for _, n := range []int{1_000, 10_000, 100_000, 500_000, 1_000_000, 5_000_000} {
		length = append(length, row(n, n, 1))
	}
	for n := 1; n <= 10_000; n *= 10 {
		count = append(count, row(n, 0, n))
	}
	section := asTable(append([]string{"pending", "bytes each"}, head...), length) + "\n" + asTable(append([]string{"queues"}, head...), count)
	require.NoError(b, writeSection(filepath.Join("docs", "results.md"), "growth", machine(ctx)+"\n\n"+section))
}

// cost is the result of one measurement.
type cost struct {
	bytes            float64       // of the server's memory, for each pending message
	p50, p99, server time.Duration // past due, and the server's processor time for each message
}

// costOf offers messages to queues of one client, on a server of its own. With pending messages there is one queue, and
// a message is late by its take; else by its transfer.
func costOf(b *testing.B, strict bool, pending, n int) (c cost, err error) {
	b.Helper()
	srv, err := redis.Start(b.Context(), "process", nil)
	require.NoError(b, err)
	defer srv.Close()
	rdb := must(redis.NewClient(srv.URL()))
	defer rdb.Close()
	empty, _ := usage(b, rdb)
	fill(b, rdb, "orders-0", pending)
	full, _ := usage(b, rdb)
	c.bytes = (full - empty) / float64(max(pending, 1))
	late := run.NewHistogram()
	var mu sync.Mutex
	record := func(after time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		late.Record(int64(after))
	}
	options := []dq.Option{dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(dq.Transferred); ok && pending == 0 && e.Late > 0 {
			record(e.Late)
		}
	})}
	if strict {
		options = append(options, dq.WithRedissonCommands())
	}
	client, err := dq.NewClient(rdb, options...)
	require.NoError(b, err)
	defer client.Close()
	queues := make([]*dq.Queue[[]byte], n)
	for i := range queues {
		queues[i] = must(dq.NewQueue(client, "orders-"+strconv.Itoa(i), codec.Bytes{}))
	}
	for _, q := range queues {
		require.NoError(b, q.Ready(b.Context()))
	}
	_, before := usage(b, rdb)
	ctx, cancel := context.WithTimeout(b.Context(), growthMeasurement)
	defer cancel()
	taken := make(chan error, 1)
	go func() {
		for i := 0; pending > 0 && i < growthMessages; i++ {
			value, err := queues[0].Take(ctx)
			if err != nil {
				taken <- fmt.Errorf("%d of %d messages came within %s: %w", i, growthMessages, growthMeasurement, err)
				return
			}
			due, _ := strconv.ParseInt(strings.TrimRight(string(value), "\x00"), 10, 64)
			record(time.Since(time.UnixMilli(due)))
		}
		taken <- nil
	}()
	used := func(i int) *dq.Queue[[]byte] { return queues[i*7919%n] }
	if err := errors.Join(steadily(ctx, used), <-taken); err != nil {
		return c, err
	}
	for i := range min(n, growthMessages) { // until all are transferred
		for waiting := pending + 1; waiting > pending; time.Sleep(10 * time.Millisecond) {
			counts, err := used(i).Counts(ctx)
			if err != nil {
				return c, err
			}
			waiting = counts.Waiting
		}
	}
	_, after := usage(b, rdb)
	mu.Lock()
	defer mu.Unlock()
	c.p50, c.p99 = time.Duration(late.Quantile(.5)), time.Duration(late.Quantile(.99))
	c.server = (after - before) / growthMessages
	return c, nil
}

// steadily offers each message to its queue. Delays are whole milliseconds, as due times are: the value is the due time.
func steadily(ctx context.Context, queue func(i int) *dq.Queue[[]byte]) error {
	next := time.NewTicker(time.Second / growthPerSecond)
	defer next.Stop()
	for i := range growthMessages {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
		delay := time.Duration(500+rand.N(2000)) * time.Millisecond
		if _, err := queue(i).Offer(ctx, stamp(time.Now().Add(delay).UnixMilli()), delay); err != nil {
			return err
		}
	}
	return nil
}

// stamp is a value that contains its due time.
func stamp(due int64) []byte {
	return append(strconv.AppendInt(nil, due, 10), make([]byte, growthValueSize-13)...)
}

// fill puts n members into a queue, due in an hour or two, in random order.
func fill(b *testing.B, rdb goredis.UniversalClient, queue string, n int) {
	b.Helper()
	names, layout := wire.NamesOf(queue), wire.Newest().Layout()
	soon := time.Now().Add(time.Hour).UnixMilli()
	const batch = 5_000
	for first := 0; first < n; first += batch {
		members, entries := make([]goredis.Z, 0, batch), make([]any, 0, batch)
		for range min(batch, n-first) {
			due := soon + rand.Int64N(time.Hour.Milliseconds())
			member := string(layout.Pack([8]byte(binary.BigEndian.AppendUint64(nil, rand.Uint64())), stamp(due)))
			members, entries = append(members, goredis.Z{Score: float64(due), Member: member}), append(entries, member)
		}
		require.NoError(b, errors.Join(rdb.ZAdd(b.Context(), names.TimeoutSet, members...).Err(), rdb.RPush(b.Context(), names.Pending, entries...).Err()))
	}
}

// usage returns the server's memory in bytes and its processor time.
func usage(b *testing.B, rdb goredis.UniversalClient) (memory float64, cpu time.Duration) {
	b.Helper()
	text, err := rdb.Info(b.Context(), "memory", "cpu").Result()
	require.NoError(b, err)
	number := func(field string) float64 {
		return must(strconv.ParseFloat(redis.Fields(text)[field], 64))
	}
	cpu = time.Duration((number("used_cpu_sys") + number("used_cpu_user")) * float64(time.Second))
	return number("used_memory"), cpu
}
