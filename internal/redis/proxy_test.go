package redis_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// quiet is how long a test waits to see that no reply arrives.
const quiet = 100 * time.Millisecond

// line is a client that speaks inline commands.
type line struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, p *redis.Proxy) *line {
	t.Helper()
	conn := must(net.Dial("tcp", p.Addr))
	t.Cleanup(func() { _ = conn.Close() })
	return &line{t, conn, bufio.NewReader(conn)}
}

func (l *line) send(command string) {
	l.t.Helper()
	_, err := io.WriteString(l.conn, command+"\r\n")
	require.NoError(l.t, err)
}

func (l *line) read(within time.Duration) (string, error) {
	require.NoError(l.t, l.conn.SetReadDeadline(time.Now().Add(within)))
	return l.in.ReadString('\n')
}

func (l *line) ping() {
	l.t.Helper()
	l.send("PING")
	l.reads("+PONG\r\n")
}

func (l *line) reads(want string) {
	l.t.Helper()
	got, err := l.read(5 * time.Second)
	require.NoError(l.t, err)
	require.Equal(l.t, want, got)
}

func (l *line) readsNothing() {
	l.t.Helper()
	got, err := l.read(quiet)
	require.ErrorIs(l.t, err, os.ErrDeadlineExceeded, "%q", got)
}

func proxied(t *testing.T) (*redis.Proxy, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return redistest.NewProxy(t, redistest.Redis(t).Addr), ctx
}

func sent(name string) func(*redis.ProxyConn) bool {
	return func(c *redis.ProxyConn) bool { return c.Sent(name) }
}

func TestProxyFindsTheBlockedConnection(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	c := goredis.NewClient(&goredis.Options{Addr: p.Addr, MaxRetries: -1})
	defer c.Close()
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	popped := make(chan error, 1)
	go func() { popped <- c.BLPop(ctx, 0, "q").Err() }()

	blocked := must(p.Wait(ctx, func(c *redis.ProxyConn) bool { return c.Waiting("BLPOP") }))
	require.True(t, blocked.Sent("BLPOP"))
	require.False(t, blocked.Sent("SUBSCRIBE"))
	subscribed := p.Conns(sent("SUBSCRIBE"))
	require.Len(t, subscribed, 1)
	require.NotSame(t, blocked, subscribed[0])
	require.False(t, subscribed[0].Waiting("SUBSCRIBE"), "it was answered")

	blocked.Reset()
	require.Error(t, <-popped)
	require.Empty(t, p.Conns(sent("BLPOP")))
	require.NoError(t, c.Publish(ctx, "news", "x").Err(), "others go on")
	require.Equal(t, "x", must(sub.ReceiveMessage(ctx)).Payload)
}

// A stalled connection loses nothing, and others go on.
func TestProxyStalls(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a, b := dial(t, p), dial(t, p)
	a.send("CLIENT SETNAME a")
	a.reads("+OK\r\n")
	b.ping()
	one := p.Conns(sent("CLIENT"))[0]
	one.Set(redis.Fault{Stall: true})
	a.send("INCR n")
	a.readsNothing()
	b.send("INCR n")
	b.reads(":1\r\n")
	p.Set(redis.Fault{Stall: true})
	later := dial(t, p)
	later.send("PING")
	require.NoError(t, p.Until(ctx, func() bool { return p.Accepted.Load() == 3 }))
	one.Set(redis.Fault{})
	a.reads(":2\r\n")
	later.readsNothing() // a later connection, too
	require.NoError(t, p.Heal())
	later.reads("+PONG\r\n")
}

func TestProxyResets(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a := dial(t, p)
	a.ping()
	p.Reset()
	_, err := a.read(5 * time.Second)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.NoError(t, p.Until(ctx, func() bool { return p.Open() == 0 }))
	b := dial(t, p)
	b.ping()
	require.EqualValues(t, 2, p.Accepted.Load())
	p.Close()
	_, err = b.read(5 * time.Second)
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestProxyRefusesAndComesBack(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	a := dial(t, p)
	a.ping()
	p.Refuse()
	_, err := net.Dial("tcp", p.Addr)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	a.ping()
	require.NoError(t, p.Heal())
	dial(t, p).ping()
	p.Refuse()
	p.Refuse()
	require.NoError(t, p.Heal())
	require.NoError(t, p.Heal())
	dial(t, p).ping()
}

func TestProxyDelays(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a := dial(t, p)
	a.ping()
	conn := p.Conns(nil)[0]
	const d, n = 200 * time.Millisecond, 50
	p.Set(redis.Fault{Delay: d})
	begun := time.Now()
	var pings atomic.Int64
	p.OnCommand(func(*redis.ProxyConn, []string) redis.Verdict { pings.Add(1); return redis.Pass })
	for i := range n { // one by one, so that each reply is a chunk of its own
		a.send("PING")
		require.NoError(t, p.Until(ctx, func() bool { return pings.Load() == int64(i+1) && !conn.Waiting("PING") }))
	}
	for range n {
		a.reads("+PONG\r\n")
	}
	took := time.Since(begun)
	require.GreaterOrEqual(t, took, d)
	require.Less(t, took, n*d/2, "delays do not add up")
	p.Set(redis.Fault{Delay: time.Hour})
	a.send("PING")
	a.readsNothing()
	require.NoError(t, p.Heal())
	a.reads("+PONG\r\n")
}

func TestProxyPassesOnWhatBecomesOfTheServer(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	p := redistest.NewProxy(t, s.Addr)
	a, deaf := dial(t, p), dial(t, p)
	deaf.send("CLIENT SETNAME deaf")
	deaf.reads("+OK\r\n")
	a.ping()
	hole := p.Conns(sent("CLIENT"))[0]
	hole.Set(redis.Fault{Stall: true})
	require.NoError(t, s.Nodes()[0].Kill())
	_, err := a.read(5 * time.Second)
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)
	deaf.readsNothing() // and no end either
	hole.Set(redis.Fault{})
	_, err = deaf.read(5 * time.Second)
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)

	conn, err := net.Dial("tcp", p.Addr)
	if err == nil { // the cut may come before the dial has returned
		_, err = conn.Read(make([]byte, 1))
		conn.Close()
	}
	require.ErrorIs(t, err, syscall.ECONNRESET, "nobody there")
	require.NoError(t, s.Nodes()[0].Restart(t.Context()))
	dial(t, p).ping()
}

// The server carries out a command whose reply is cut, and no command whose request is cut.
func TestProxyCutsCommandsAndReplies(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	cutting := func(verdict redis.Verdict) func(*redis.ProxyConn, []string) redis.Verdict {
		return func(_ *redis.ProxyConn, command []string) redis.Verdict {
			if command[0] == "INCR" {
				return verdict
			}
			return redis.Pass
		}
	}
	for i, c := range []struct {
		set  func()
		want string
	}{
		{func() { p.OnCommand(cutting(redis.CutRequest)) }, "$-1\r\n"},
		{func() { p.OnCommand(cutting(redis.CutReply)) }, "$1\r\n"},
	} {
		c.set()
		cut, other := dial(t, p), dial(t, p)
		cut.ping()
		other.ping()
		key := "n" + strconv.Itoa(i)
		cut.send("INCR " + key)
		_, err := cut.read(5 * time.Second)
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(sent("INCR"))) == 0 }))
		other.send("GET " + key)
		other.reads(c.want)
		p.OnCommand(nil)
	}
}

// All bytes pass both ways in order, RESP or not. The end of the client's stream ends the connection on both sides.
func TestProxyPassesBytesUnchanged(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]string{
		"commands":   strings.Repeat("*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nPING\r\n\r\n*0\r\n", 5000),
		"a big one":  "*2\r\n$3\r\nGET\r\n$3000000\r\n" + strings.Repeat("0123456789", 300_000) + "\r\nPING\r\n",
		"cut off":    "PING\r\n*2\r\n$3\r\nGET\r\n$10\r\nab",
		"no RESP":    "\x16\x03\x01\r\n*x\r\n" + strings.Repeat("\x00\xff", 200_000),
		"wrong ends": "*1\r\n$100000\r\n" + strings.Repeat("x", 100_010) + "PING\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := redistest.NewProxy(t, redis.Serving(t, func(c net.Conn) { _, _ = io.Copy(c, c) }))
			conn := must(net.Dial("tcp", p.Addr))
			defer conn.Close()
			var work sync.WaitGroup
			work.Go(func() {
				for rest := sent; len(rest) > 0; {
					n := min(len(rest), 1+len(rest)/3)
					_, _ = io.WriteString(conn, rest[:n])
					rest = rest[n:]
				}
				_ = conn.(*net.TCPConn).CloseWrite()
			})
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
			got := must(io.ReadAll(conn))
			work.Wait()
			require.True(t, string(got) == sent, "%d bytes of %d", len(got), len(sent))
			require.NoError(t, p.Until(t.Context(), func() bool { return p.Open() == 0 }))
		})
	}
}

// must is for what fails only in a broken tree or without its server.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
