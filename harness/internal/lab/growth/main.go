// Growth measures what a queue costs as it grows, by itself and in number, and writes recordings/GROWTH.md
// and the plot beside it, recordings/growth.svg.
//
//	make growth
//
// Both sides of a row were measured one after the other on a fresh server each. "Redisson" is the script of
// Redisson alone, as dq sends it WithTransfer(Exact): what it costs the server is the same from any client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/server"
)

const (
	// rate is how many messages a second come due while a queue is measured, offered messages of them.
	rate     = 50
	messages = 300
	// valueSize is that of all values, in bytes.
	valueSize = 100
	// longest bounds one measurement.
	longest = 3 * time.Minute
)

func main() {
	out := flag.String("out", "recordings", "the folder of GROWTH.md and growth.svg")
	most := flag.Int("most", 1_000_000, "the largest number of pending messages; 5,000,000 take 2 GB and some minutes")
	queues := flag.Int("queues", 10_000, "the largest number of queues")
	flag.Parse()
	if err := report(context.Background(), *out, *most, *queues); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// cost is what one measurement came to.
type cost struct {
	n int // pending messages, or queues
	// bytes is what the server's memory grew by for each message that waits.
	bytes float64
	// p50 and p99 are past due; server is its processor time for each message.
	p50, p99, server time.Duration
	err              error
}

// side is one way to transfer.
type side struct {
	name   string
	how    dq.Transfers
	color  string
	length []cost
	count  []cost
}

func report(ctx context.Context, out string, most, queues int) error {
	sides := []*side{{name: "dq", how: dq.Auto, color: "#1f6feb"}, {name: "Redisson's script", how: dq.Exact, color: "#d1242f"}}
	var product string
	for _, s := range sides {
		for _, n := range []int{1_000, 10_000, 100_000, 500_000, 1_000_000, 5_000_000} {
			if n > most {
				break
			}
			fmt.Fprintf(os.Stderr, "%s: %d pending\n", s.name, n)
			c, version := measure(ctx, func(ctx context.Context, rdb *redis.Client) (cost, error) { return longQueue(ctx, rdb, s.how, n) })
			c.n, product = n, version
			s.length = append(s.length, c)
		}
		for n := 1; n <= queues; n *= 10 {
			fmt.Fprintf(os.Stderr, "%s: %d queues\n", s.name, n)
			c, _ := measure(ctx, func(ctx context.Context, rdb *redis.Client) (cost, error) { return manyQueues(ctx, rdb, s.how, n) })
			c.n = n
			s.count = append(s.count, c)
		}
	}
	if err := run.WriteWhole(filepath.Join(out, "growth.svg"), []byte(plot(sides))); err != nil {
		return err
	}
	return run.WriteWhole(filepath.Join(out, "GROWTH.md"), []byte(page(sides, product, time.Now())))
}

// measure runs one measurement on a server of its own.
func measure(ctx context.Context, do func(context.Context, *redis.Client) (cost, error)) (cost, string) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	srv, err := server.Start(ctx, "process", nil)
	if err != nil {
		return cost{err: err}, ""
	}
	defer srv.Close()
	options, err := redis.ParseURL(srv.URL())
	if err != nil {
		return cost{err: err}, ""
	}
	rdb := redis.NewClient(options)
	defer rdb.Close()
	c, err := do(ctx, rdb)
	c.err = err
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return c, srv.Product + " " + srv.Version
}

// longQueue has n messages wait, all due in an hour or two, and measures those that come due before them.
func longQueue(ctx context.Context, rdb *redis.Client, how dq.Transfers, n int) (c cost, err error) {
	before, err := usage(ctx, rdb)
	if err != nil {
		return c, err
	}
	if err := fill(ctx, rdb, "orders", n); err != nil {
		return c, err
	}
	full, err := usage(ctx, rdb)
	if err != nil {
		return c, err
	}
	c.bytes = (full.memory - before.memory) / float64(n)
	client, err := dq.NewClient(rdb, dq.WithTransfer(how))
	if err != nil {
		return c, err
	}
	defer client.Close()
	orders := dq.NewBlockingQueue(client, "orders", codec.Bytes{})
	delayed := dq.NewDelayedQueue(orders)
	if err := delayed.Ready(ctx); err != nil {
		return c, err
	}
	late := newLateness()
	taking, stop := context.WithCancel(ctx)
	var taker sync.WaitGroup
	defer taker.Wait()
	defer stop()
	taker.Go(func() {
		for {
			value, err := orders.Take(taking)
			if err != nil {
				return
			}
			late.came(value)
		}
	})
	err = steadily(ctx, func(i int) error {
		delay := someDelay()
		return delayed.Offer(ctx, stamp(time.Now().Add(delay)), delay)
	})
	if err != nil {
		return c, err
	}
	if err := late.wait(ctx, messages); err != nil {
		return c, err
	}
	after, err := usage(ctx, rdb)
	c.p50, c.p99 = late.quantile(.5), late.quantile(.99)
	c.server = (after.cpu - full.cpu) / messages
	return c, err
}

// manyQueues has messages come due in n queues of one client, and measures when they are transferred.
func manyQueues(ctx context.Context, rdb *redis.Client, how dq.Transfers, n int) (c cost, err error) {
	late := newLateness()
	client, err := dq.NewClient(rdb, dq.WithTransfer(how), dq.WithObserver(dq.Observer{Transfer: func(e dq.TransferEvent) {
		if e.Late > 0 {
			late.add(e.Late)
		}
	}}))
	if err != nil {
		return c, err
	}
	defer client.Close()
	queues := make([]*dq.DelayedQueue[[]byte], n)
	for i := range queues {
		queues[i] = dq.NewDelayedQueue(dq.NewBlockingQueue(client, "orders-"+strconv.Itoa(i), codec.Bytes{}))
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
	err = steadily(ctx, func(i int) error {
		delay := someDelay()
		return queues[i*7919%n].Offer(ctx, stamp(time.Now().Add(delay)), delay)
	})
	if err != nil {
		return c, err
	}
	for i := range min(n, messages) { // all are transferred when nothing waits
		for {
			size, err := queues[i*7919%n].Size(ctx)
			if err != nil {
				return c, err
			}
			if size == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	after, err := usage(ctx, rdb)
	c.p50, c.p99 = late.quantile(.5), late.quantile(.99)
	c.server = (after.cpu - before.cpu) / messages
	return c, err
}

// steadily calls offer for each message, rate times a second.
func steadily(ctx context.Context, offer func(i int) error) error {
	next := time.NewTicker(time.Second / rate)
	defer next.Stop()
	for i := range messages {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
		if err := offer(i); err != nil {
			return err
		}
	}
	return nil
}

// someDelay is in whole milliseconds, as due times are: what a value says is when it is due in Redis.
func someDelay() time.Duration { return time.Duration(500+rand.N(2000)) * time.Millisecond }

// stamp is a value that says when it is due.
func stamp(due time.Time) []byte {
	value := make([]byte, valueSize)
	copy(value, strconv.FormatInt(due.UnixMilli(), 10))
	return value
}

// lateness collects by how much messages were past due.
type lateness struct {
	mu  sync.Mutex
	all *run.Histogram
}

func newLateness() *lateness { return &lateness{all: run.NewHistogram(run.TotalDigits)} }

func (l *lateness) came(value []byte) {
	due, _ := strconv.ParseInt(strings.TrimRight(string(value), "\x00"), 10, 64)
	l.add(time.Since(time.UnixMilli(due)))
}

func (l *lateness) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Record(int64(d))
}

func (l *lateness) count() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Count()
}

// wait returns when n have come.
func (l *lateness) wait(ctx context.Context, n int64) error {
	for l.count() < n {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d messages came within %s", l.count(), n, longest)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

func (l *lateness) quantile(q float64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Duration(l.all.Quantile(q))
}

// fill puts n members into a queue, in an order that has nothing to do with when they are due.
func fill(ctx context.Context, rdb *redis.Client, queue string, n int) error {
	names, layout := wire.NamesOf(queue), wire.Newest().Layout()
	soon := time.Now().Add(time.Hour).UnixMilli()
	const batch = 5_000
	for first := 0; first < n; first += batch {
		_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			members, entries := make([]redis.Z, 0, batch), make([]any, 0, batch)
			for range min(batch, n-first) {
				var id [8]byte
				for i := range id {
					id[i] = byte(rand.Uint32())
				}
				due := soon + rand.Int64N(time.Hour.Milliseconds())
				member := string(layout.Pack(id, stamp(time.UnixMilli(due))))
				members, entries = append(members, redis.Z{Score: float64(due), Member: member}), append(entries, member)
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

func usage(ctx context.Context, rdb *redis.Client) (u used, err error) {
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
