package dq_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
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

// firstDelivery is within what a value that is due is delivered by a server that is back: a second, by the contract.
const firstDelivery = time.Second + slack/2

// announced offers a value as another process does, one that transfers nothing.
func (b *bundle) announced(t *testing.T, ctx context.Context, value string, due time.Time) {
	t.Helper()
	b.seedMember(t, due.UnixMilli(), wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte(value)))
	require.NoError(t, b.redis.Publish(ctx, b.names.Channel, due.UnixMilli()).Err())
}

// taken takes values in the background, over failures as a caller would.
func (b *bundle) taken(ctx context.Context) <-chan string {
	got := make(chan string, 100)
	go func() { _ = consume(ctx, b.queue.Take, 1, func(v string) { got <- v }) }()
	return got
}

func next(t *testing.T, ctx context.Context, got <-chan string) string {
	t.Helper()
	select {
	case v := <-got:
		return v
	case <-ctx.Done():
		require.Fail(t, "no value came")
		return ""
	}
}

func TestFaultADeadSubscriptionDelaysNoOwnOffer(t *testing.T) {
	t.Parallel()
	subscribed := make(chan string, 10)
	b, p := through(t, redistest.Redis(t), quick(), on(func(e dq.Subscribed) { subscribed <- e.Queue }))
	ctx := deadline(t)
	d := b.delayed(t)
	<-subscribed
	got := b.taken(ctx)
	dead, err := p.Wait(ctx, sent("SUBSCRIBE"))
	require.NoError(t, err)
	dead.Set(redis.Fault{Stall: true})
	for _, delay := range []time.Duration{0, 200 * time.Millisecond} {
		within(t, delay+firstDelivery, fmt.Sprintf("an own offer due after %s", delay), func() {
			require.NoError(t, d.Offer(ctx, "own", delay))
			require.Equal(t, "own", next(t, ctx, got))
		})
	}
	b.announced(t, ctx, "other's", time.Now())
	within(t, 5*time.Second+slack, "an offer of others", func() { require.Equal(t, "other's", next(t, ctx, got)) })
	require.Equal(t, "orders", <-subscribed, "there is a new connection")
}

// An offer that certainly is not queued waits for a server that is away or busy, as it does in Redisson.
func TestFaultAnOfferWaitsForTheServer(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--lua-time-limit", "50", "--appendonly", "yes", "--appendfsync", "always")
	rdb, ctx := connect(t, s.URL()), deadline(t)
	events := 0
	b := setupOn(t, s, "orders", on(func(dq.Offered) {
		if events++; events != 3 {
			return
		}
		_ = rdb.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err()
		go func() {
			for errorStats(t, s.Nodes()[0], "READONLY") == 0 && ctx.Err() == nil {
			}
			_ = rdb.Do(ctx, "REPLICAOF", "NO", "ONE").Err()
		}()
	}))
	d, node := b.delayed(t), s.Nodes()[0]
	require.NoError(t, node.Kill())
	offered := async(func() error { return d.Offer(ctx, "while nobody listens", time.Hour) })
	require.NoError(t, node.Restart(ctx))
	require.NoError(t, <-offered)

	ended := b.busy(t, ctx, 300*time.Millisecond)
	require.NoError(t, d.Offer(ctx, "while a script runs", time.Hour))
	require.NoError(t, <-ended)
	_, err := d.OfferAll(ctx, time.Hour, "before it is a replica", "while it is one")
	require.NoError(t, err)
	values, err := d.ReadAll(ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"while nobody listens", "while a script runs", "before it is a replica", "while it is one"}, values)
}

// failures notes the errors of transfers, and whether one had a code.
type failures struct{ code atomic.Pointer[string] }

func (f *failures) observer() dq.Option {
	return on(func(e dq.Transferred) {
		if e.Err != nil {
			text := e.Err.Error()
			f.code.Store(&text)
		}
	})
}

func (f *failures) saw(code string) bool {
	text := f.code.Load()
	return code == "" || text != nil && strings.Contains(*text, code)
}

// A network in an outage swallows the first packet of a dial, and the kernel repeats it seconds later.
func TestFaultADialThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	var dead atomic.Bool
	dead.Store(true)
	rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dead.Load() {
			<-ctx.Done() // as a dial that nobody answers
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	defer rdb.Close()
	b := bundleOf(t, s, clientOf(t, rdb), "orders")
	ctx := deadline(t)
	b.announced(t, ctx, "due", time.Now())
	d := dq.NewSender(b.queue)
	got := b.taken(ctx)
	<-time.After(200 * time.Millisecond)
	dead.Store(false)
	within(t, firstDelivery, "what is due", func() { require.Equal(t, "due", next(t, ctx, got)) })
	within(t, firstDelivery, "Ready", func() { require.NoError(t, d.Ready(ctx)) })
}

// What comes due while the server is away is delivered soon after it is back, and so is an offer of others. A pause is longer than
// the time-outs of a read and of a dial.
func TestFaultDeliveryAfterAnOutage(t *testing.T) {
	t.Parallel()
	durable := []string{"--appendonly", "yes", "--appendfsync", "always"}
	killed := func(ctx context.Context, n *redis.Node) error {
		err := n.Kill()
		<-time.After(400 * time.Millisecond)
		return errors.Join(err, n.Restart(ctx))
	}
	paused := func(pause time.Duration) func(context.Context, *redis.Node) error {
		return func(_ context.Context, n *redis.Node) error {
			err := n.Pause()
			<-time.After(pause)
			return errors.Join(err, n.Resume())
		}
	}
	for name, c := range map[string]struct {
		args   []string
		outage func(context.Context, *redis.Node) error
		code   string // a transfer meets it
		query  string // of the address
	}{
		"killed": {durable, killed, "", ""},
		"paused": {nil, paused(time.Second), "", "?read_timeout=300ms&dial_timeout=500ms"},
		// Each command of the file takes the server 300 µs, so that it loads for three seconds.
		"loading": {append(durable, "--key-load-delay", "300"), killed, "LOADING", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Process(t, c.args...)
			var f failures
			b := at(t, s, s.URL()+c.query, f.observer())
			ctx := deadline(t)
			d := b.delayed(t)
			got := b.taken(ctx)
			if c.code != "" {
				_, err := b.redis.Pipelined(ctx, func(p goredis.Pipeliner) error {
					for i := range 10_000 {
						p.Set(ctx, "k", i, 0)
					}
					return nil
				})
				require.NoError(t, err)
			}
			require.NoError(t, d.Offer(ctx, "v", 300*time.Millisecond))
			require.NoError(t, c.outage(ctx, s.Nodes()[0]))
			within(t, firstDelivery, "what came due", func() { require.Equal(t, "v", next(t, ctx, got)) })
			require.True(t, f.saw(c.code), "a transfer met the server's %s", c.code)
			b.announced(t, ctx, "other's", time.Now())
			within(t, firstDelivery, "an offer of others", func() { require.Equal(t, "other's", next(t, ctx, got)) })
			require.NoError(t, d.Offer(ctx, "later", 0))
			require.Equal(t, "later", next(t, ctx, got))
		})
	}
}

// busy has the server run a script, and returns when it answers BUSY. The script is ended so much later.
func (b *bundle) busy(t *testing.T, ctx context.Context, later time.Duration) (ended <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	patient := goredis.NewClient(&goredis.Options{Addr: b.server.Addr, ReadTimeout: -1, MaxRetries: -1})
	t.Cleanup(func() { _ = patient.Close() })
	go func() {
		if err := patient.Eval(ctx, "while true do end", nil).Err(); !strings.Contains(fmt.Sprint(err), "killed") {
			done <- err
		}
		close(done)
	}()
	require.Eventually(t, func() bool {
		return goredis.HasErrorPrefix(b.redis.Ping(ctx).Err(), "BUSY")
	}, testDeadline, 5*time.Millisecond)
	time.AfterFunc(later, func() { _ = b.redis.ScriptKill(ctx).Err() })
	return done
}

// While the server is busy, neither a PING nor a SUBSCRIBE that it refuses counts as
// the loss of a right, and no connection is made that could never be unblocked.
func TestFaultDeliveryAfterALongScript(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--lua-time-limit", "50")
	var f failures
	b := setupOn(t, s, "orders", f.observer(), dq.WithOfferRetryTimeout(0))
	ctx := deadline(t)
	d := b.delayed(t)
	got := b.taken(ctx)
	require.NoError(t, d.Offer(ctx, "v", time.Second))
	ended := b.busy(t, ctx, 2*time.Second)
	late := dq.NewSender(dq.NewTaker(b.client, "late", codec.String{}))
	err := late.Offer(ctx, "x", 0)
	require.ErrorContains(t, err, "BUSY")
	require.NotErrorIs(t, err, dq.ErrUncertain)

	fresh := setupOn(t, s, "fresh")
	opened := dq.NewSender(fresh.queue)
	ready := make(chan error, 2)
	go func() { ready <- opened.Ready(ctx) }()
	go func() { ready <- late.Ready(ctx) }()
	require.NoError(t, <-ended)
	within(t, firstDelivery, "what came due", func() { require.Equal(t, "v", next(t, ctx, got)) })
	require.True(t, f.saw("BUSY"), "a transfer met the server while it was busy")
	within(t, firstDelivery, "queues opened meanwhile", func() {
		require.NoError(t, <-ready)
		require.NoError(t, <-ready)
	})
	fresh.announced(t, ctx, "other's", time.Now())
	takes(t, ctx, fresh.queue, "other's")
	b.announced(t, ctx, "other's", time.Now())
	within(t, firstDelivery, "an offer of others", func() { require.Equal(t, "other's", next(t, ctx, got)) })
}

func TestFaultATakeBegunUnderALongScriptCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--lua-time-limit", "50")
	b := setupOn(t, s, "orders")
	ended := b.busy(t, deadline(t), 300*time.Millisecond)
	ctx, cancel := context.WithCancel(deadline(t))
	taken := async(func() error { _, err := takeLoop(ctx, b.queue); return err })
	require.NoError(t, <-ended)
	waitBlocked(t, b.redis)
	cancel()
	require.ErrorIs(t, <-taken, context.Canceled)
	blocked(t, s.Nodes()[0], 0) // the server was told
}

func master(t *testing.T, s *redistest.SentinelSet) *redis.Node {
	t.Helper()
	n, err := s.Master(deadline(t))
	require.NoError(t, err)
	return n
}

// sentinelSet starts a set. With a dialer, its addresses are known to nobody else.
func sentinelSet(t *testing.T, dialer bool) (*redistest.SentinelSet, *goredis.Client) {
	t.Helper()
	s := redistest.Sentinel(t, "--requirepass", "owner")
	onAll(t, s.Nodes(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
	o := &goredis.FailoverOptions{MasterName: "mymaster", Username: "app", Password: "secret"}
	for _, n := range s.Sentinels() {
		o.SentinelAddrs = append(o.SentinelAddrs, n.Addr)
	}
	if dialer {
		b := &behind{}
		for _, n := range append(s.Sentinels(), s.Nodes()...) {
			b.add(t, n.Addr, n)
		}
		o.Dialer, o.Protocol = b.dial, 2
	}
	rdb := goredis.NewFailoverClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return s, rdb
}

// sentinelFails returns a client, and a function that has a replica take the master's place: by end, or while both live.
func sentinelFails(end func(*redis.Node) error, dialer bool) func(*testing.T) (goredis.UniversalClient, func()) {
	return func(t *testing.T) (goredis.UniversalClient, func()) {
		s, rdb := sentinelSet(t, dialer)
		return rdb, func() {
			if end == nil {
				_, err := s.Failover(deadline(t))
				require.NoError(t, err)
				return
			}
			// A take that only the killed master knows is undone by the fail-over, and the value is delivered again.
			conn := rdb.Conn()
			defer conn.Close()
			require.NoError(t, conn.Set(t.Context(), "replicated", 1, 0).Err())
			require.Positive(t, conn.Wait(t.Context(), 1, 5*time.Second).Val())
			old := master(t, s)
			require.NoError(t, end(old))
			_, err := s.WaitFailover(deadline(t), old)
			require.NoError(t, err)
		}
	}
}

func clusterFails(end func(*redis.Node) error) func(*testing.T) (goredis.UniversalClient, func()) {
	return func(t *testing.T) (goredis.UniversalClient, func()) {
		c := redistest.Cluster(t, 3, 1)
		return clusterClient(t, c), func() {
			old := ownerOf(t, c, "orders")
			require.NoError(t, end(old))
			_, err := c.WaitFailover(deadline(t), wire.Slot("orders"), old)
			require.NoError(t, err)
		}
	}
}

// Takes, offers and the subscription follow to a new master, and no value comes twice.
func TestFaultMasterGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(*testing.T) (goredis.UniversalClient, func())
		bound time.Duration
	}{
		"Sentinel, handed over":                 {sentinelFails(nil, false), time.Second},
		"Sentinel behind a dialer, handed over": {sentinelFails(nil, true), time.Second},
		"Sentinel, killed":                      {sentinelFails((*redis.Node).Kill, false), 3 * time.Second},
		"Sentinel, paused":                      {sentinelFails((*redis.Node).Pause, false), 3 * time.Second},
		"Cluster, killed":                       {clusterFails((*redis.Node).Kill), 2 * time.Second},
		// A server that hangs is known to be silent after a second at the earliest.
		"Cluster, paused": {clusterFails((*redis.Node).Pause), 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, fail := c.set(t)
			f := follow(t, rdb, "orders")
			k := f.consume(t, 3)
			f.works(t, k, "before")
			fail()
			_, taken := f.works(t, k, "after")
			require.Less(t, taken, c.bound+slack)
			select {
			case <-f.subscribed:
			case <-time.After(5 * time.Second):
				require.Fail(t, "not subscribed to the new master")
			}
			k.requireOnce(t)
		})
	}
}

// Under Sentinel the Client hears of a new master through the redis.Client, and cannot go on without it.
func TestFaultSentinelRedisClosedFirst(t *testing.T) {
	t.Parallel()
	_, rdb := sentinelSet(t, false)
	f := follow(t, rdb, "orders")
	taking := async(func() error { _, err := f.queue.Take(context.Background()); return err })
	waitBlocked(t, rdb)

	const says = "the redis.Client given to dq.NewClient was closed"
	require.NoError(t, rdb.Close())
	select {
	case err := <-taking:
		require.ErrorContains(t, err, says)
	case <-time.After(5 * time.Second):
		require.Fail(t, "a blocked Take was not told")
	}
	began := time.Now()
	require.ErrorContains(t, f.delayed.Offer(t.Context(), "v", 0), says)
	_, err := f.queue.Take(t.Context())
	require.ErrorContains(t, err, says)
	_, err = f.delayed.OfferAll(t.Context(), 0, "a", "b")
	require.ErrorContains(t, err, says)
	require.Less(t, time.Since(began), time.Second+slack)

	// The scheduler and the subscription go on trying, at their pace.
	before := f.lost.Load()
	time.Sleep(500 * time.Millisecond)
	require.LessOrEqual(t, f.lost.Load()-before, int64(20), "a busy loop")
	require.NoError(t, f.client.Close())
	require.ErrorIs(t, f.delayed.Offer(t.Context(), "v", 0), dq.ErrClosed)
}

// Clients of other servers have connections of their own.
func TestFaultRedisClosedFirstElsewhere(t *testing.T) {
	t.Parallel()
	single := redistest.Redis(t)
	for name, rdb := range map[string]goredis.UniversalClient{
		"single":  goredis.NewClient(&goredis.Options{Addr: single.Addr}),
		"cluster": clusterClient(t, redistest.Cluster(t, 3, 0)),
	} {
		f := follow(t, rdb, "orders")
		require.NoError(t, rdb.Close())
		other := dq.NewSender(dq.NewTaker(f.client, "other", codec.String{}))
		require.NoError(t, other.Offer(t.Context(), "v", 0), name)
		require.NoError(t, other.Ready(deadline(t)), name)
		f.works(t, f.consume(t, 1), name)
	}
}

// follower is a Client of several servers, and what its observer saw.
type follower struct {
	client     *dq.Client
	rdb        goredis.UniversalClient
	queue      *dq.Taker[string]
	delayed    *dq.Sender[string]
	subscribed chan string
	lost       atomic.Int64 // how often the subscription was, or a transfer failed
}

func follow(t *testing.T, rdb goredis.UniversalClient, queue string) *follower {
	t.Helper()
	f := &follower{rdb: rdb, subscribed: make(chan string, 10_000)}
	t.Cleanup(func() { _ = rdb.Close() })
	f.client = clientOf(t, rdb,
		on(func(e dq.Subscribed) { f.subscribed <- e.Queue }),
		on(func(dq.Disconnected) { f.lost.Add(1) }),
		on(func(e dq.Transferred) {
			if e.Err != nil {
				f.lost.Add(1)
			}
		}))
	f.queue = dq.NewTaker(f.client, queue, codec.String{})
	f.delayed = dq.NewSender(f.queue)
	require.NoError(t, f.delayed.Ready(deadline(t)))
	<-f.subscribed
	return f
}

// taken has the messages that consumers took. One goroutine looks at it.
type taken struct {
	came chan string
	seen map[string]int
}

func newTaken() *taken { return &taken{make(chan string, 10_000), map[string]int{}} }

// consume takes until the test ends.
func (f *follower) consume(t *testing.T, workers int) *taken {
	t.Helper()
	k := newTaken()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = consume(ctx, f.queue.Take, workers, func(v string) { k.came <- v })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return k
}

// oneOf returns whether one of the values was taken within d.
func (k *taken) oneOf(values []string, d time.Duration) bool {
	end := time.After(d)
	for !slices.ContainsFunc(values, func(v string) bool { return k.seen[v] > 0 }) {
		select {
		case v := <-k.came:
			k.seen[v]++
		case <-end:
			return false
		}
	}
	return true
}

func (k *taken) requireOnce(t *testing.T) {
	t.Helper()
	for len(k.came) > 0 {
		k.seen[<-k.came]++
	}
	for v, n := range k.seen {
		require.Equal(t, 1, n, v)
	}
}

// works offers until a value is taken, and returns how long the first offer that succeeded and the first value took. It offers again when
// a value does not come, for what a master acknowledges after its successor was chosen is lost.
func (f *follower) works(t *testing.T, k *taken, name string) (offered, taken time.Duration) {
	t.Helper()
	began := time.Now()
	var acked []string
	for i := 0; ; i++ {
		v := fmt.Sprintf("%s %d", name, i)
		again := 5 * time.Millisecond
		err := f.delayed.Offer(deadline(t), v, 0)
		if err == nil {
			acked = append(acked, v)
			if len(acked) == 1 {
				offered = time.Since(began)
			}
			again = 200 * time.Millisecond
		}
		if k.oneOf(acked, again) {
			return offered, time.Since(began)
		}
		require.Less(t, time.Since(began), testDeadline, "not taken: %q, last error %v", acked, err)
	}
}
