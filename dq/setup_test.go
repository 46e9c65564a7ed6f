package dq_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
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

// testDeadline bounds every wait for something that must happen.
const testDeadline = 20 * time.Second

// TestMain has more tests at a time than processors: they wait for servers, pauses and due times.
// A test that needs another process runs this binary with transfersAt or ledgerAt.
func TestMain(m *testing.M) {
	if url := os.Getenv(transfersAt); url != "" {
		if err := transferInProcess(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if url := os.Getenv(ledgerAt); url != "" {
		if err := workInProcess(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if parallel := flag.Lookup("test.parallel").Value; parallel.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) {
		_ = parallel.Set(fmt.Sprint(testsPerProcessor * runtime.GOMAXPROCS(0)))
	}
	redistest.MainWithoutLeaks(m)
}

// testsPerProcessor is more than other packages have: most of the tests wait for seconds.
const testsPerProcessor = 9

// bundle is a real Redis with a client of it under test and one to look with.
type bundle struct {
	server *redis.Server
	redis  *goredis.Client
	client *dq.Client
	queue  *dq.Taker[string]
	names  wire.Names
}

func setup(t *testing.T, options ...dq.Option) *bundle {
	t.Helper()
	return setupOn(t, redistest.Redis(t), "orders", options...)
}

func setupOn(t *testing.T, s *redis.Server, queue string, options ...dq.Option) *bundle {
	t.Helper()
	rdb := connect(t, s.URL())
	client, err := dq.NewClient(rdb, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return &bundle{
		server: s,
		redis:  rdb,
		client: client,
		queue:  dq.NewTaker(client, queue, codec.String{}),
		names:  wire.NamesOf(queue),
	}
}

func connect(t testing.TB, url string) *goredis.Client {
	t.Helper()
	opt, err := goredis.ParseURL(url)
	require.NoError(t, err)
	rdb := goredis.NewClient(opt)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (b *bundle) delayed(t *testing.T) *dq.Sender[string] {
	t.Helper()
	d := dq.NewSender(b.queue)
	require.NoError(t, d.Ready(deadline(t)))
	return d
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	t.Cleanup(cancel)
	return ctx
}

// on has f called with the events of its type.
func on[E dq.Event](f func(E)) dq.Option {
	return dq.WithObserver(func(e dq.Event) {
		if e, ok := e.(E); ok {
			f(e)
		}
	})
}

// consume takes values by so many workers until ctx or the Client ends, over failures as a caller would.
func consume(ctx context.Context, q interface {
	Take(ctx context.Context) (string, error)
}, workers int, f func(string)) error {
	failed := make(chan error, workers)
	for range workers {
		go func() {
			for {
				v, err := q.Take(ctx)
				switch {
				case err == nil:
					f(v)
				case ctx.Err() != nil || errors.Is(err, dq.ErrClosed):
					failed <- err
					return
				default:
					time.Sleep(20 * time.Millisecond)
				}
			}
		}()
	}
	for range workers - 1 {
		<-failed
	}
	return <-failed
}
