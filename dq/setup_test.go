package dq_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/server"
)

// testDeadline bounds every wait for something that must happen.
const testDeadline = 20 * time.Second

// TestMain has more tests at a time than processors: they wait for servers, pauses and due times.
// A test that needs another process runs this binary with transfersAt.
func TestMain(m *testing.M) {
	if url := os.Getenv(transfersAt); url != "" {
		if err := transferInProcess(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	redistest.MainWithoutLeaks(m)
}

// bundle is a real Redis with a client of it under test and one to look with.
type bundle struct {
	server *server.Server
	redis  *redis.Client
	client *dq.Client
	queue  *dq.BlockingQueue[string]
	names  wire.Names
}

func setup(t *testing.T, options ...dq.Option) *bundle {
	t.Helper()
	return setupOn(t, redistest.Redis(t), "orders", options...)
}

func setupOn(t *testing.T, s *server.Server, queue string, options ...dq.Option) *bundle {
	t.Helper()
	rdb := connect(t, s.URL())
	client, err := dq.NewClient(rdb, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return &bundle{
		server: s,
		redis:  rdb,
		client: client,
		queue:  dq.NewBlockingQueue(client, queue, codec.String{}),
		names:  wire.NamesOf(queue),
	}
}

func connect(t *testing.T, url string) *redis.Client {
	t.Helper()
	opt, err := redis.ParseURL(url)
	require.NoError(t, err)
	rdb := redis.NewClient(opt)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func (b *bundle) delayed(t *testing.T) *dq.DelayedQueue[string] {
	t.Helper()
	d := dq.NewDelayedQueue(b.queue)
	require.NoError(t, d.Ready(deadline(t)))
	return d
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testDeadline)
	t.Cleanup(cancel)
	return ctx
}

// proxy forwards connections to a server until told to drop replies.
type proxy struct {
	listener net.Listener
	target   string
	// swallow makes it read replies and drop them.
	swallow atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, target: target}
	go p.accept()
	t.Cleanup(func() { _ = l.Close(); p.cut() })
	return p
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		go func() { _, _ = io.Copy(far, near); _ = far.Close() }()
		go func() { _, _ = io.Copy(replyFilter{near, p}, far); _ = near.Close() }()
	}
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

type replyFilter struct {
	net.Conn
	proxy *proxy
}

func (f replyFilter) Write(b []byte) (int, error) {
	if f.proxy.swallow.Load() {
		return len(b), nil
	}
	return f.Conn.Write(b)
}
