package dq_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/codec/java"
	"github.com/dq-bench/dq-bench/dq/internal/conn"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A handshake takes longer than the dial time-out, and a value arrives after its taker is gone. The bounds are a fifth of the usual ones.
func TestFaultAFarServerGetsBackWhatComesTooLate(t *testing.T) {
	t.Parallel()
	const takes = 20
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	p.Set(redis.Fault{Delay: 480 * time.Millisecond})
	rdb := connect(t, "redis://"+p.Addr+"?dial_timeout=1s")
	observe, returned := observeReturned()
	client := clientOf(t, rdb, observe, dq.WithConn(func(o *conn.Options) { o.Cancel = 200 * time.Millisecond }))
	direct, ctx := connect(t, s.URL()), deadline(t)
	short, cancel := context.WithCancel(ctx)
	taken := make(chan error, takes)
	for i := range takes {
		go func() {
			_, err := takeLoop(short, dq.NewTaker(client, fmt.Sprint("orders", i), codec.String{}))
			taken <- err
		}()
	}
	require.Eventually(t, func() bool { return strings.Count(direct.ClientList(ctx).Val(), "flags=b ") == takes }, testDeadline, time.Millisecond)
	_, err := direct.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for i := range takes {
			p.RPush(ctx, fmt.Sprint("orders", i), "v")
		}
		return nil
	})
	cancel()
	require.NoError(t, err)
	late := 0
	for range takes {
		if err := <-taken; err != nil { // on a busy machine some may have come in time
			require.ErrorIs(t, err, context.Canceled)
			late++
		}
	}
	require.Positive(t, late)
	for range late {
		select {
		case e := <-returned:
			require.NoError(t, e.Err)
		case <-ctx.Done():
			require.Fail(t, "not returned")
		}
	}
	back := 0
	for i := range takes {
		back += int(direct.LLen(ctx, fmt.Sprint("orders", i)).Val())
	}
	require.Equal(t, late, back, "each once")
}

// A server that never ends its reply, as after a fault of its memory, takes none of the process's.
func TestFaultAReplyWithoutEnd(t *testing.T) {
	t.Parallel()
	endless := "*1000000\r\n" + strings.Repeat("$5000\r\n"+strings.Repeat("v", 5000)+"\r\n", 400) // 2 MB of 5,000
	address := answering(t, func(command []string) string {
		switch {
		case command[0] == "EVALSHA_RO" || command[0] == "BLPOP":
			return endless
		case strings.EqualFold(command[0], "hello"):
			return "-ERR unknown command 'HELLO'\r\n"
		}
		return ":1\r\n"
	})
	client := clientOf(t, connect(t, "redis://"+address), dq.WithConn(func(o *conn.Options) { o.MostReply = 1 << 20 }))
	q := dq.NewTaker(client, "orders", codec.String{})
	_, err := client.Redisson(deadline(t), wire.ScriptReadAll, []string{"T"})
	require.ErrorContains(t, err, "without end")
	_, err = q.Take(deadline(t))
	require.ErrorContains(t, err, "without end")
	_, err = q.Clear(deadline(t))
	require.NoError(t, err, "the next call has another connection")
}

// Whoever imports dq keeps the logger of go-redis, and every other thing that a process has once.
func TestImportingChangesNothing(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{".", "internal/conn", "clock", "scripts", "wire"} {
		files := must(filepath.Glob(folder + "/*.go"))
		require.NotEmpty(t, files)
		for _, file := range files {
			text := must(os.ReadFile(file))
			if !strings.HasSuffix(file, "_test.go") {
				require.NotContains(t, string(text), "\nfunc init()", file)
				require.NotContains(t, string(text), "redis.SetLog", file)
			}
		}
	}
}

// behind is the only way to some servers: addresses that only a dialer knows.
type behind struct {
	proxies map[string]*redis.Proxy
}

func (b *behind) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p, ok := b.proxies[address]
	if !ok {
		return nil, fmt.Errorf("dialled past the proxies: %s", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, p.Addr)
}

func (b *behind) add(t *testing.T, address string, n *redis.Node) {
	t.Helper()
	if b.proxies == nil {
		b.proxies = make(map[string]*redis.Proxy)
	}
	b.proxies[address] = redistest.NewProxy(t, n.Addr)
}

func onAll(t *testing.T, nodes []*redis.Node, args ...any) {
	t.Helper()
	for _, n := range nodes {
		rdb := redistest.Client(n)
		require.NoError(t, rdb.Do(t.Context(), args...).Err())
		_ = rdb.Close()
	}
}

// announce has each node name itself by a host name, as behind an address translation, or by its port alone.
func announce(t *testing.T, c *redistest.ClusterSet, kind string) (*behind, []string) {
	t.Helper()
	b := &behind{}
	var seeds []string
	for i, n := range c.Nodes() {
		_, port, err := net.SplitHostPort(n.Addr)
		require.NoError(t, err)
		host := "cluster.test"
		if kind == "hostname" {
			host = fmt.Sprintf("node-%d.test", i)
			onAll(t, []*redis.Node{n}, "CONFIG", "SET", "cluster-announce-hostname", host)
		}
		b.add(t, host+":"+port, n)
		seeds = append(seeds, host+":"+port)
	}
	onAll(t, c.Nodes(), "CONFIG", "SET", "cluster-preferred-endpoint-type", kind)
	if kind == "hostname" {
		for _, n := range c.Nodes() {
			rdb := redistest.Client(n)
			defer rdb.Close()
			require.Eventually(t, func() bool {
				return strings.Count(fmt.Sprint(rdb.Do(t.Context(), "CLUSTER", "SLOTS").Val()), ".test") >= len(c.Nodes())
			}, testDeadline, 20*time.Millisecond, "the nodes hear of each other's names")
		}
	}
	return b, seeds[:1]
}

func TestFaultClusterBehindADialer(t *testing.T) {
	t.Parallel()
	for kind, protocol := range map[string]int{"hostname": 3, "unknown-endpoint": 2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := redistest.Cluster(t, 3, 0, "--requirepass", "owner")
			onAll(t, c.Nodes(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
			b, seeds := announce(t, c, kind)
			f := follow(t, goredis.NewClusterClient(&goredis.ClusterOptions{
				Addrs: seeds, Dialer: b.dial, Username: "app", Password: "secret", Protocol: protocol,
			}), "orders")
			k := f.consume(t, 2)
			f.works(t, k, "before")
			from := ownerOf(t, c, "orders")
			to := c.Nodes()[0]
			if to == from {
				to = c.Nodes()[1]
			}
			require.NoError(t, c.MoveSlot(deadline(t), wire.Slot("orders"), from, to))
			f.works(t, k, "after")
			for _, p := range b.proxies {
				p.Reset()
			}
			_, taken := f.works(t, k, "reset")
			require.Less(t, taken, 2*time.Second+slack)
			k.requireOnce(t)
		})
	}
}

func clusterClient(t testing.TB, c *redistest.ClusterSet) *goredis.ClusterClient {
	t.Helper()
	o := &goredis.ClusterOptions{}
	for _, n := range c.Nodes() {
		o.Addrs = append(o.Addrs, n.Addr)
	}
	rdb := goredis.NewClusterClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func ownerOf(t *testing.T, c *redistest.ClusterSet, queue string) *redis.Node {
	t.Helper()
	n, err := c.NodeOfSlot(deadline(t), wire.Slot(queue))
	require.NoError(t, err)
	return n
}

// named counts the connections of clients of that name.
func named(t *testing.T, nodes []*redis.Node, name string) (n int) {
	t.Helper()
	for _, node := range nodes {
		if node.Running() {
			rdb := redistest.Client(node)
			n += strings.Count(rdb.ClientList(deadline(t)).Val(), " name="+name+" ")
			_ = rdb.Close()
		}
	}
	return n
}

// Close in the middle of a fail-over returns in time and leaves nothing behind.
func TestFaultCloseDuringAFailover(t *testing.T) {
	t.Parallel()
	sentinel := func(t *testing.T) ([]*redis.Node, func() *redis.Node, goredis.UniversalClient) {
		s := redistest.Sentinel(t)
		rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: "mymaster", SentinelAddrs: []string{s.Sentinels()[0].Addr}, ClientName: "leak",
		})
		return s.Nodes(), func() *redis.Node { return master(t, s) }, rdb
	}
	cluster := func(t *testing.T) ([]*redis.Node, func() *redis.Node, goredis.UniversalClient) {
		c := redistest.Cluster(t, 3, 1)
		rdb := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{c.Nodes()[0].Addr, c.Nodes()[1].Addr}, ClientName: "leak"})
		return c.Nodes(), func() *redis.Node { return ownerOf(t, c, "orders") }, rdb
	}
	for name, set := range map[string]func(*testing.T) ([]*redis.Node, func() *redis.Node, goredis.UniversalClient){"sentinel": sentinel, "cluster": cluster} {
		for fault, end := range map[string]func(*redis.Node) error{
			"killed": (*redis.Node).Kill,
			"paused": (*redis.Node).Pause,
			"none":   func(*redis.Node) error { return nil },
		} {
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				nodes, owner, rdb := set(t)
				defer rdb.Close()
				client := clientOf(t, rdb)
				queue := dq.NewTaker(client, "orders", codec.String{})
				delayed := dq.NewSender(queue)
				require.NoError(t, delayed.Ready(deadline(t)))
				const takers = 4
				consumed := async(func() error { return consume(context.Background(), queue.Take, takers, func(string) {}) })
				old := owner()
				blocked(t, old, takers)
				require.NoError(t, end(old))
				short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				_ = delayed.Offer(short, "during", 100*time.Millisecond)
				closeWithin(t, client, 3*time.Second+slack)
				require.ErrorIs(t, <-consumed, dq.ErrClosed)
				kept := map[string]int{"sentinel": 1}[name] // in the pool of rdb, from which the Client had borrowed it
				require.Eventually(t, func() bool { return named(t, nodes, "leak") <= kept }, 3*time.Second, 20*time.Millisecond)
			})
		}
	}
}

// Close comes at a random moment, with takes, offers and transfers under way.
func TestFaultCloseAtAnyMoment(t *testing.T) {
	rdb := connect(t, redistest.Redis(t).URL())
	require.NoError(t, rdb.Ping(t.Context()).Err())
	for range 30 {
		closeAtSomeMoment(t, rdb)
	}
}

func closeAtSomeMoment(t *testing.T, rdb *goredis.Client) {
	t.Helper()
	client := clientOf(t, rdb)
	queue := dq.NewTaker(client, "orders", codec.String{})
	d := dq.NewSender(queue)
	var calls sync.WaitGroup
	for i := range 6 {
		calls.Go(func() { untilClosed(t, func() error { _, err := queue.Take(t.Context()); return err }) })
		calls.Go(func() {
			untilClosed(t, func() error {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*500*time.Microsecond)
				defer cancel()
				_, err := queue.Take(ctx)
				return err
			})
		})
		offer := func() error { return d.Offer(t.Context(), "v", time.Duration(i)*time.Millisecond) }
		calls.Go(func() { untilClosed(t, offer) })
	}
	calls.Go(func() {
		untilClosed(t, func() error {
			other, err := dq.NewQueue(client, "other", codec.String{})
			if err == nil {
				err = errors.Join(other.Ready(t.Context()), other.Close())
			}
			return err
		})
	})
	_ = conn.Pause(t.Context(), time.Duration(rand.Int64N(int64(20*time.Millisecond))))
	closeWithin(t, client, slack)
	calls.Wait()
}

func untilClosed(t *testing.T, call func() error) {
	for until := time.Now().Add(testDeadline); ; {
		err := call()
		if errors.Is(err, dq.ErrClosed) {
			return
		}
		if time.Now().After(until) {
			t.Errorf("expected ErrClosed, got %v", err)
			return
		}
	}
}

func TestFaultWrongArgumentsAreErrors(t *testing.T) {
	t.Parallel()
	rdb := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	for i, none := range []goredis.UniversalClient{nil, (*goredis.Client)(nil), (*goredis.ClusterClient)(nil), &goredis.Client{}, &goredis.ClusterClient{}} {
		_, err := dq.NewClient(none)
		require.ErrorContains(t, err, []string{"nil", "nil", "nil", "zero value", "zero value"}[i])
	}
	_, err := dq.NewClient(rdb, nil)
	require.ErrorContains(t, err, "option 1 of 1 is nil")
	_, err = dq.NewClient(rdb, dq.WithRelease("3.16.9"))
	var unknown *wire.ReleaseError
	require.ErrorAs(t, err, &unknown)
	require.Equal(t, "3.16.8", unknown.Nearest.String())
	ring := goredis.NewRing(&goredis.RingOptions{})
	defer ring.Close()
	_, err = dq.NewClient(ring)
	require.ErrorContains(t, err, "*redis.Ring")
	client := clientOf(t, rdb)
	requireRefused := func(want string, c *dq.Client, name string, values codec.Codec[string]) {
		t.Helper()
		q, err := dq.NewQueue(c, name, values)
		require.ErrorContains(t, err, want)
		require.Nil(t, q)
	}
	q := must(dq.NewQueue(client, "q", codec.String{}, dq.WithoutTransfer()))
	_, err = q.Offer(t.Context(), "x", -1)
	require.ErrorIs(t, err, dq.ErrNegativeDelay)
	_, err = q.Poll(t.Context(), 0)
	require.ErrorContains(t, err, "1 or more")
	requireRefused("got nil or a zero value", nil, "q", codec.String{})
	requireRefused("zero value", &dq.Client{}, "q", codec.String{})
	requireRefused("expected a codec, got nil", client, "q", nil)
	requireRefused("expected a name", client, "", codec.String{})
	for _, none := range []codec.Codec[string]{mapCodec(nil), (*codec.String)(nil)} {
		requireRefused(fmt.Sprintf("expected a codec, got a nil %T", none), client, "q", none)
	}
	away := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	defer away.Close()
	cluster := clientOf(t, away)
	for _, name := range []string{"{}", "}{", "a{b"} {
		requireRefused("must share a slot", cluster, name, codec.String{})
	}
	for _, zero := range []codec.Codec[string]{java.Jackson[string]{}, &java.Kryo5[string]{}, java.Marshalling[string]{}, java.Serialization[string]{}, wrapped{}} {
		requireRefused("zero value: make it with its constructor", client, "q", zero)
	}
}

// A codec of a kind that may be nil, and one with a codec in it that is a zero value.
type (
	mapCodec map[string]codec.String
	wrapped  struct{ java.Kryo5[string] }
)

func (c mapCodec) Encode(v string) ([]byte, error)    { return c[""].Encode(v) }
func (c mapCodec) Decode(data []byte) (string, error) { return c[""].Decode(data) }

// A server that is away is no reason to write to stderr, which is what go-redis does with lines of its log.
func TestFaultNothingIsWrittenToStderr(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Redis(t).Addr)
	var stderr bytes.Buffer
	program := process(t, "redis://"+p.Addr, &stderr)
	_, err := p.Wait(deadline(t), waiting("BLMOVE"))
	require.NoError(t, err)
	p.Refuse()
	p.Reset()
	<-time.After(500 * time.Millisecond)
	require.NoError(t, p.Heal())
	p.Set(redis.Fault{Stall: true})
	p.Reset()
	<-time.After(500 * time.Millisecond)
	require.NoError(t, p.Heal())
	p.Reset()
	<-time.After(500 * time.Millisecond)
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	require.Empty(t, stderr.String())
}
