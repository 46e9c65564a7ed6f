package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
)

const (
	// rate is how many messages a second come due while a queue is measured, offered messages of them.
	rate     = 50
	messages = 300
	// valueSize is the size of all values, in bytes.
	valueSize = 100
	// longestMeasurement bounds one measurement.
	longestMeasurement = 3 * time.Minute
)

// growth measures what a queue costs as it grows, by itself and in number: a section of docs/results.md.
//
//	make growth
//
// Both sides of a row were measured one after the other on a fresh server each. "Redisson's script" is
// the script of Redisson alone, as dq sends it WithTransfer(Exact): the script costs the server the same
// from any client.
func growth() {
	most := flag.Int("most", 1_000_000, "the largest number of pending messages; 5,000,000 take 2 GB and some minutes")
	queues := flag.Int("queues", 10_000, "the largest number of queues")
	runReport("growth", 90*time.Minute, func(ctx context.Context) (string, error) { return report(ctx, *most, *queues), nil })
}

// report measures, and returns the two tables.
func report(ctx context.Context, most, queues int) string {
	const each = "p50|p99|server each"
	head := strings.Split("dq: "+each+"|Redisson's script: "+each, "|")
	row := func(n, pending, queues int) []string {
		cells := []string{grouped(int64(n))}
		for _, strict := range []bool{false, true} {
			fmt.Fprintf(os.Stderr, "%d pending, %d queues, Redisson's script: %t\n", pending, queues, strict)
			c, err := alone(ctx, strict, pending, queues)
			if pending > 0 && !strict {
				cells = append(cells, fmt.Sprintf("%.0f", c.bytes))
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				cells = append(cells, strings.SplitN(err.Error(), "\n", 2)[0], "–", "–")
				continue
			}
			for _, d := range []time.Duration{c.p50, c.p99, c.server} {
				cells = append(cells, strings.ReplaceAll(run.FormatNs(int64(d)), " ", ""))
			}
		}
		return cells
	}
	var length, count [][]string
	for _, n := range []int{1_000, 10_000, 100_000, 500_000, 1_000_000, 5_000_000} {
		if n <= most {
			length = append(length, row(n, n, 1))
		}
	}
	for n := 1; n <= queues; n *= 10 {
		count = append(count, row(n, 0, n))
	}
	return asTable(append([]string{"pending", "bytes each"}, head...), length) + "\n" + asTable(append([]string{"queues"}, head...), count)
}

// cost is what one measurement came to.
type cost struct {
	// bytes is what the server's memory grew by for each message that waits.
	bytes float64
	// p50 and p99 are past due; server is its processor time for each message.
	p50, p99, server time.Duration
}

// alone runs one measurement on a server of its own.
func alone(ctx context.Context, strict bool, pending, queues int) (cost, error) {
	ctx, cancel := context.WithTimeout(ctx, longestMeasurement)
	defer cancel()
	srv, err := redis.Start(ctx, "process", nil)
	if err != nil {
		return cost{}, err
	}
	defer srv.Close()
	rdb, err := redis.NewClient(srv.URL())
	if err != nil {
		return cost{}, err
	}
	defer rdb.Close()
	return measure(ctx, rdb, strict, pending, queues)
}

// measure has messages come due in queues of one client. Where others are pending, in the one queue that
// there is, all due in an hour or two, a message is late by when it is taken, and else by when it is
// transferred.
func measure(ctx context.Context, rdb goredis.UniversalClient, strict bool, pending, n int) (c cost, err error) {
	empty, err := usage(ctx, rdb)
	if err != nil {
		return c, err
	}
	if err := fill(ctx, rdb, "orders-0", pending); err != nil {
		return c, err
	}
	full, err := usage(ctx, rdb)
	if err != nil {
		return c, err
	}
	c.bytes = (full.memory - empty.memory) / float64(max(pending, 1))
	late := run.NewHistogram(run.TotalDigits)
	var mu sync.Mutex
	came := func(after time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		late.Record(int64(after))
	}
	options := []dq.Option{dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(dq.Transferred); ok && pending == 0 && e.Late > 0 {
			came(e.Late)
		}
	})}
	if strict {
		options = append(options, dq.WithRedissonCommands())
	}
	client, err := dq.NewClient(rdb, options...)
	if err != nil {
		return c, err
	}
	defer client.Close()
	queues := make([]*dq.Queue[[]byte], n)
	for i := range queues {
		if queues[i], err = dq.NewQueue(client, "orders-"+strconv.Itoa(i), codec.Bytes{}); err != nil {
			return c, err
		}
	}
	for _, q := range queues {
		if err := q.Ready(ctx); err != nil {
			return c, err
		}
	}
	before, err := usage(ctx, rdb)
	if err != nil {
		return c, err
	}
	var taker sync.WaitGroup
	var failed error
	if pending > 0 {
		taker.Go(func() {
			for i := range messages {
				value, err := queues[0].Take(ctx)
				if err != nil {
					failed = fmt.Errorf("%d of %d messages came within %s: %w", i, messages, longestMeasurement, err)
					return
				}
				due, _ := strconv.ParseInt(strings.TrimRight(string(value), "\x00"), 10, 64)
				came(time.Since(time.UnixMilli(due)))
			}
		})
	}
	used := func(i int) *dq.Queue[[]byte] { return queues[i*7919%n] }
	err = steadily(ctx, used)
	taker.Wait()
	if err := errors.Join(err, failed); err != nil {
		return c, err
	}
	for i := range min(n, messages) { // all are transferred when nothing else waits
		for size := pending + 1; size > pending; time.Sleep(10 * time.Millisecond) {
			counts, err := used(i).Counts(ctx)
			if err != nil {
				return c, err
			}
			size = counts.Waiting
		}
	}
	after, err := usage(ctx, rdb)
	mu.Lock()
	defer mu.Unlock()
	c.p50, c.p99 = time.Duration(late.Quantile(.5)), time.Duration(late.Quantile(.99))
	c.server = (after.cpu - before.cpu) / messages
	return c, err
}

// steadily offers each message to its queue, rate a second. Delays are in whole milliseconds, as due
// times are: a value says when the message is due in Redis.
func steadily(ctx context.Context, queue func(i int) *dq.Queue[[]byte]) error {
	next := time.NewTicker(time.Second / rate)
	defer next.Stop()
	for i := range messages {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
		delay := time.Duration(500+rand.N(2000)) * time.Millisecond
		if _, err := queue(i).Offer(ctx, stamp(time.Now().Add(delay)), delay); err != nil {
			return err
		}
	}
	return nil
}

// stamp is a value that says when it is due.
func stamp(due time.Time) []byte {
	value := make([]byte, valueSize)
	copy(value, strconv.FormatInt(due.UnixMilli(), 10))
	return value
}

// fill puts n members into a queue, in an order that has nothing to do with when they are due.
func fill(ctx context.Context, rdb goredis.UniversalClient, queue string, n int) error {
	names, layout := wire.NamesOf(queue), wire.Newest().Layout()
	soon := time.Now().Add(time.Hour).UnixMilli()
	const batch = 5_000
	for first := 0; first < n; first += batch {
		_, err := rdb.Pipelined(ctx, func(p goredis.Pipeliner) error {
			members, entries := make([]goredis.Z, 0, batch), make([]any, 0, batch)
			for range min(batch, n-first) {
				var id [8]byte
				for i := range id {
					id[i] = byte(rand.Uint32())
				}
				due := soon + rand.Int64N(time.Hour.Milliseconds())
				member := string(layout.Pack(id, stamp(time.UnixMilli(due))))
				members, entries = append(members, goredis.Z{Score: float64(due), Member: member}), append(entries, member)
			}
			p.ZAdd(ctx, names.TimeoutSet, members...)
			p.RPush(ctx, names.Pending, entries...)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// used is what the server has used.
type used struct {
	memory float64
	cpu    time.Duration
}

func usage(ctx context.Context, rdb goredis.UniversalClient) (u used, err error) {
	info, err := rdb.InfoMap(ctx, "memory", "cpu").Result()
	if err != nil {
		return u, err
	}
	number := func(section, field string) float64 {
		n, bad := strconv.ParseFloat(info[section][field], 64)
		err = errors.Join(err, bad)
		return n
	}
	u.memory = number("Memory", "used_memory")
	u.cpu = time.Duration((number("CPU", "used_cpu_sys") + number("CPU", "used_cpu_user")) * float64(time.Second))
	return u, err
}
