package redistest_test

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
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
	"github.com/dq-bench/dq-bench/internal/server/proxy"
)

// quiet is how long a test listens before it believes that nothing comes.
const quiet = 100 * time.Millisecond

// line is a client that speaks inline commands.
type line struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, p *redistest.Proxy) *line {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr)
	require.NoError(t, err)
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

func proxied(t *testing.T) (*redistest.Proxy, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return redistest.NewProxy(t, redistest.Redis(t).Addr), ctx
}

func sent(words ...string) func(*redistest.ProxyConn) bool {
	return func(c *redistest.ProxyConn) bool { return c.Sent(words...) }
}

func TestProxyFindsTheBlockedConnection(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	c := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1})
	defer c.Close()
	sub := c.Subscribe(ctx, "news")
	defer sub.Close()
	_, err := sub.Receive(ctx)
	require.NoError(t, err)
	popped := make(chan error, 1)
	go func() { popped <- c.BLPop(ctx, 0, "q").Err() }()

	blocked, err := p.Wait(ctx, func(c *redistest.ProxyConn) bool { return c.Waiting("BLPOP") })
	require.NoError(t, err)
	require.True(t, blocked.Sent("blpop", "q"))
	require.False(t, blocked.Sent("BLPOP", "other"))
	require.Equal(t, []string{"blpop", "q", "0"}, blocked.Commands()[len(blocked.Commands())-1])
	subscribed := p.Conns(sent("SUBSCRIBE"))
	require.Len(t, subscribed, 1)
	require.NotSame(t, blocked, subscribed[0])
	require.False(t, subscribed[0].Waiting("SUBSCRIBE"), "it was answered")

	blocked.Reset()
	require.Error(t, <-popped)
	<-blocked.Done()
	require.Empty(t, p.Conns(sent("BLPOP")))
	require.NoError(t, c.Publish(ctx, "news", "x").Err(), "others go on")
	m, err := sub.ReceiveMessage(ctx)
	require.NoError(t, err)
	require.Equal(t, "x", m.Payload)
}

func TestProxyBlackholes(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a, b := dial(t, p), dial(t, p)
	a.send("CLIENT SETNAME a")
	a.reads("+OK\r\n")
	b.ping()

	one := p.Conns(sent("CLIENT", "SETNAME", "a"))[0]
	one.Blackhole(redistest.Replies)
	a.send("INCR n")
	require.NoError(t, p.Until(ctx, func() bool { return one.Sent("INCR") && !one.Waiting("INCR") }))
	a.readsNothing()
	b.send("INCR n")
	b.reads(":2\r\n") // the request came through, its reply was dropped
	one.Heal()
	a.send("INCR n")
	a.reads(":3\r\n")

	p.Blackhole(redistest.Requests)
	a.send("INCR n")
	late := dial(t, p)
	late.send("INCR n") // connections to come, too
	require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(sent("INCR"))) == 3 && len(one.Commands()) == 4 }))
	a.readsNothing()
	late.readsNothing()
	p.Heal()
	late.send("GET n")
	late.reads("$1\r\n")
	late.reads("3\r\n")
}

func TestProxyStall(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	a := dial(t, p)
	a.ping()
	p.Stall()
	a.send("INCR n")
	a.readsNothing()
	p.Heal()
	a.reads(":1\r\n") // nothing was lost

	p.Stall(redistest.Replies)
	a.send("INCR n")
	a.readsNothing()
	p.Conns(nil)[0].Heal()
	a.reads(":2\r\n")
}

func TestProxyCuts(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a, b := dial(t, p), dial(t, p)
	a.ping()
	b.ping()
	conns := p.Conns(nil)
	require.Len(t, conns, 2)
	a.send("PING") // the reply may come or not: then comes the end
	conns[0].HangUp()
	require.Len(t, p.Conns(nil), 1)
	_, err := io.ReadAll(a.in)
	require.NoError(t, err, "a FIN, and nothing harsher")
	a.send("PING") // into the void
	require.NoError(t, a.conn.Close())
	<-conns[0].Done()

	p.Reset()
	_, err = b.read(5 * time.Second)
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(nil)) == 0 }))
	dial(t, p).ping()
	p.HangUp()
	require.Empty(t, p.Conns(nil))
	require.Equal(t, 3, p.Accepted())
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
	p.Heal()
	dial(t, p).ping()
	p.Refuse()
	p.Refuse()
	p.Heal()
	p.Heal()
	dial(t, p).ping()
}

func TestProxyHoldsNewConnections(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a := dial(t, p)
	a.ping()
	p.Hold()
	b := dial(t, p)
	b.send("PING")
	require.NoError(t, p.Until(ctx, func() bool { return p.Accepted() == 2 }))
	b.readsNothing()
	a.ping()
	p.Heal()
	b.reads("+PONG\r\n")
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a := dial(t, p)
	a.ping()
	conn := p.Conns(nil)[0]
	const d, n = 200 * time.Millisecond, 50
	p.Delay(d)
	begun := time.Now()
	for i := range n { // one by one, so that each reply is a chunk of its own
		a.send("PING")
		require.NoError(t, p.Until(ctx, func() bool { return len(conn.Commands()) == i+2 && !conn.Waiting() }))
	}
	for range n {
		a.reads("+PONG\r\n")
	}
	took := time.Since(begun)
	require.GreaterOrEqual(t, took, d)
	require.Less(t, took, n*d/2, "delays do not add up")
	p.Delay(time.Hour)
	p.Delay(0)
	a.ping()
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
	hole.Blackhole()
	require.NoError(t, s.Nodes()[0].Kill())
	_, err := a.read(5 * time.Second)
	require.True(t, errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET), "%v", err)
	deaf.readsNothing() // and no end either
	hole.Heal()
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

func TestProxyWaitSaysWhatItSaw(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	a := dial(t, p)
	a.ping()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err := p.Wait(ctx, sent("BLPOP"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, `"PING"`)
}

func TestProxyUnderLoadAndFaultsFromManySides(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	var work sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		work.Go(func() {
			c := redis.NewClient(&redis.Options{Addr: p.Addr, MaxRetries: -1, ReadTimeout: quiet, DialerRetries: 1})
			defer c.Close()
			for {
				select {
				case <-stop:
					return
				default:
					c.Incr(ctx, "n") // may fail
				}
			}
		})
	}
	for _, fault := range []func(){
		func() { p.Delay(time.Millisecond) }, func() { p.Stall() }, p.Reset, func() { p.Blackhole() }, p.HangUp, p.Hold, p.Refuse, p.Reset,
	} {
		before := p.Accepted()
		fault()
		p.Heal()
		p.Reset()
		require.NoError(t, p.Until(ctx, func() bool { return p.Accepted() > before && len(p.Conns(sent("INCR"))) > 0 }))
	}
	close(stop)
	work.Wait()
}

// A command whose request is cut was not carried out; one whose reply is cut was.
func TestProxyRules(t *testing.T) {
	t.Parallel()
	p, ctx := proxied(t)
	for verdict, want := range map[proxy.Verdict]string{proxy.CutRequest: "$-1\r\n", proxy.CutReply: "$1\r\n"} {
		key := "n" + strconv.Itoa(int(verdict))
		p.Rule(func(c *proxy.Conn, command []string) proxy.Verdict {
			if command[0] == "INCR" {
				return verdict
			}
			return proxy.Pass
		})
		cut, other := dial(t, p), dial(t, p)
		cut.ping()
		other.ping()
		cut.send("INCR " + key)
		_, err := cut.read(5 * time.Second)
		require.ErrorIs(t, err, syscall.ECONNRESET)
		require.NoError(t, p.Until(ctx, func() bool { return len(p.Conns(sent("INCR"))) == 0 }))
		other.send("GET " + key)
		other.reads(want)
	}
	p.Heal()
	healed := dial(t, p)
	healed.send("INCR n9")
	healed.reads(":1\r\n")
}

func TestProxyBandwidth(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	p.Bandwidth(10_000)
	l := dial(t, p)
	began := time.Now()
	l.send("ECHO " + strings.Repeat("x", 2000))
	l.reads("$2000\r\n")
	require.GreaterOrEqual(t, time.Since(began), 400*time.Millisecond, "2000 bytes each way")
}
