package dq_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/resp"
)

var faultTest, quoted = regexp.MustCompile(`(?m)^func TestFault(\w+)\(`), regexp.MustCompile("`(\\w+)`")

// The README's Worker is the one of ExampleWorker_Shutdown.
func TestTheWorkerOfTheREADMEIsAnExample(t *testing.T) {
	t.Parallel()
	readme := must(os.ReadFile("README.md"))
	examples := must(os.ReadFile("example_test.go"))
	_, snippet, found := strings.Cut(string(readme), "at least once.\n\n```go\n")
	require.True(t, found)
	snippet, _, _ = strings.Cut(snippet, "```")
	require.Contains(t, snippet, "worker.Shutdown(ending)")
	for line := range strings.Lines(snippet) {
		require.Contains(t, string(examples), "\t"+line)
	}
}

func TestTheTableOfFaultsNamesItsTests(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{}
	for _, file := range must(filepath.Glob("*_test.go")) {
		for _, found := range faultTest.FindAllSubmatch(must(os.ReadFile(file)), -1) {
			tests[string(found[1])] = true
		}
	}
	readme := must(os.ReadFile("README.md"))
	_, table, found := strings.Cut(string(readme), "| tests `TestFault…` |\n|---|---|---|---|---|\n")
	require.True(t, found, "README.md has the table")
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "|") {
			break
		}
		cells := strings.Split(row, " | ")
		require.Len(t, cells, 5, row)
		require.Regexp(t, quoted, cells[4], "a row without a test")
		for _, name := range quoted.FindAllStringSubmatch(cells[4], -1) {
			require.True(t, tests[name[1]], "TestFault%s does not exist: %s", name[1], row)
		}
	}
}

// TestFaultNilIsNoValue: a poll of Redisson returns null where there is no value.
func TestFaultNilIsNoValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := deadline(t)
	queue := dq.NewTaker(b.client, "orders", must(java.NewKryo5[any]()))
	delayed := dq.NewSender(queue)
	lists := dq.NewTaker(b.client, "orders", codec.JSON[[]string]{})
	for _, offer := range []func() error{
		func() error { return queue.Offer(ctx, nil) },
		func() error { return delayed.Offer(ctx, nil, time.Second) },
		func() error { return delayed.Offer(ctx, (*int32)(nil), time.Second) },
		func() error { _, err := delayed.OfferAll(ctx, time.Second, nil, "a"); return err },
		func() error { return lists.Offer(ctx, nil) },
	} {
		err := offer()
		require.ErrorIs(t, err, dq.ErrNilValue)
		require.NotErrorIs(t, err, dq.ErrUncertain)
	}
	require.Empty(t, b.redis.Keys(ctx, "*orders*").Val())
}

// slowly is a connection whose replies arrive at 330 KB a second.
type slowly struct{ net.Conn }

func (c slowly) Read(p []byte) (int, error) {
	<-time.After(100 * time.Millisecond)
	return c.Conn.Read(p[:min(len(p), 33_000)])
}

// A value that takes longer to arrive than a silent connection is given is no loss.
func TestFaultASlowValueArrives(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	p, err := redis.NewProxy(func(ctx context.Context) (net.Conn, error) {
		c, err := redis.DialTo(s.Addr)(ctx)
		return slowly{c}, err
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	b := at(t, s, "redis://"+p.Addr+"?read_timeout=1s", quick())
	q, ctx := b.queue, deadline(t)
	value := strings.Repeat("x", 1<<20) // about 3 s
	require.NoError(t, b.redis.RPush(ctx, "orders", value, value).Err())
	got := make(chan error, 2)
	check := func(v string, err error) {
		if err == nil && v != value {
			err = fmt.Errorf("%d bytes", len(v))
		}
		got <- err
	}
	go func() { check(q.Take(ctx)) }()
	go func() { check(q.Poll(ctx)) }()
	require.NoError(t, <-got)
	require.NoError(t, <-got)
}

// A server whose writes are paused postpones BLPOP, and ends itself when it is asked to
// unblock that client. A graceful fail-over in a cluster is such a pause.
func TestFaultAPausedServerSurvivesTakesThatEnd(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(ctx context.Context, c *dq.Client, q *dq.Taker[string]){
		"cancelled": func(ctx context.Context, _ *dq.Client, q *dq.Taker[string]) {
			ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			defer cancel()
			_, _ = q.Take(ctx)
		},
		"in its second turn": func(ctx context.Context, _ *dq.Client, q *dq.Taker[string]) {
			ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
			defer cancel()
			_, _ = q.Take(ctx)
		},
		"closed": func(ctx context.Context, c *dq.Client, q *dq.Taker[string]) {
			taken := make(chan struct{})
			go func() { _, _ = q.Take(ctx); close(taken) }()
			<-time.After(200 * time.Millisecond) // of blocking
			_ = c.Close()
			<-taken
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Process(t)
			b := setupOn(t, s, "orders")
			client := clientOf(t, connect(t, s.URL()), quick())
			q := dq.NewTaker(client, "orders", codec.String{})
			ctx := deadline(t)
			for range 2 { // the second time, with connections that are there already
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "PAUSE", 3000, "WRITE").Err())
				take(ctx, client, q)
				require.NoError(t, b.redis.Do(ctx, "CLIENT", "UNPAUSE").Err())
				require.NoError(t, b.redis.RPush(ctx, "orders", "v").Err(), "the server lives")
				require.Eventually(t, func() bool { return b.redis.LLen(ctx, "orders").Val() == 1 }, testDeadline, time.Millisecond,
					"and a taker that is gone took nothing")
				require.NoError(t, b.redis.Del(ctx, "orders").Err())
			}
		})
	}
}

// answering is a server that answers each command by a function, until the test ends.
func answering(t *testing.T, answer func(command []string) string) (address string) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			go func() {
				defer c.Close()
				r := resp.NewReader(bufio.NewReader(c), 1<<16)
				for command, err := r.ReadCommand(); err == nil; command, err = r.ReadCommand() {
					_, _ = io.WriteString(c, answer(command))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// A Cluster that is back at the last attempt knows no scripts: it is given the offer's.
func TestFaultAClusterIsBackWithoutScripts(t *testing.T) {
	t.Parallel()
	for _, down := range []int64{0, 11} { // of the attempts there are 12
		var offers atomic.Int64
		var loaded atomic.Bool
		address := answering(t, func(command []string) string {
			switch name := strings.ToUpper(command[0]); {
			case name == "HELLO":
				return "-ERR unknown command 'HELLO'\r\n"
			case name == "SCRIPT" && strings.EqualFold(command[1], "load"):
				loaded.Store(true)
				return "$40\r\n" + strings.Repeat("0", 40) + "\r\n"
			case name == "CLIENT" && strings.EqualFold(command[1], "id"):
				return ":1\r\n"
			case name != "EVALSHA":
				return "+OK\r\n"
			case offers.Add(1) <= down:
				return "-CLUSTERDOWN The cluster is down\r\n"
			case !loaded.Load():
				return "-NOSCRIPT No matching script. Please use EVAL.\r\n"
			}
			return "$-1\r\n"
		})
		rdb := goredis.NewClient(&goredis.Options{Addr: address})
		client := clientOf(t, rdb, dq.WithClockStepDetection(false))
		d := dq.NewSender(dq.NewTaker(client, "orders", codec.String{}))
		require.NoError(t, d.Offer(deadline(t), "m", 1e12), "down for %d", down)
		require.NoError(t, client.Close())
		require.NoError(t, rdb.Close())
	}
}
