package dq_test

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// firstDelivery is within what a value that is due is delivered by a server that is
// back: a second, by the contract.
const firstDelivery = time.Second + slack/2

// announced offers a value as another process does, one that transfers nothing.
func (b *bundle) announced(t *testing.T, ctx context.Context, value string, due time.Time) {
	t.Helper()
	member := wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte(value))
	_, err := b.redis.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		p.ZAdd(ctx, b.names.TimeoutSet, goredis.Z{Score: float64(due.UnixMilli()), Member: member})
		p.RPush(ctx, b.names.Pending, member)
		p.Publish(ctx, b.names.Channel, due.UnixMilli())
		return nil
	})
	require.NoError(t, err)
}

// taken takes values in the background, over failures as a caller would.
func (b *bundle) taken(ctx context.Context) <-chan string {
	got := make(chan string, 100)
	go func() {
		for {
			v, err := takeLoop(ctx, b.queue)
			if err != nil {
				return
			}
			got <- v
		}
	}()
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
	dead.Set(proxy.Fault{Drop: proxy.Both})
	for _, delay := range []time.Duration{0, 200 * time.Millisecond} {
		within(t, delay+time.Second, fmt.Sprintf("an own offer due after %s", delay), func() {
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
	b := setupOn(t, s, "orders")
	ctx := deadline(t)
	d := b.delayed(t)
	node := s.Nodes()[0]
	require.NoError(t, node.Kill())
	offered := make(chan error, 1)
	go func() { offered <- d.Offer(ctx, "while nobody listens", time.Hour) }()
	require.NoError(t, node.Restart(ctx))
	require.NoError(t, <-offered)

	ended := b.busy(t, ctx, 1)
	require.NoError(t, d.Offer(ctx, "while a script runs", time.Hour))
	require.NoError(t, <-ended)
	require.NoError(t, b.redis.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	go func() { offered <- d.Offer(ctx, "while it is a replica", time.Hour) }()
	require.NoError(t, b.redis.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
	require.NoError(t, <-offered)
	values, err := d.ReadAll(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"while nobody listens", "while a script runs", "while it is a replica"}, values)
}

// How long it waits can be said, and its context ends it.
func TestFaultHowLongAnOfferWaits(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	patient, hasty := setupOn(t, s, "orders"), setupOn(t, s, "orders", dq.WithOfferRetryTimeout(0))
	ctx := deadline(t)
	waits, fails := patient.delayed(t), hasty.delayed(t)
	require.NoError(t, s.Nodes()[0].Kill())
	err := fails.Offer(ctx, "v", time.Hour)
	require.ErrorContains(t, err, "refused")
	require.NotErrorIs(t, err, dq.ErrUncertain)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	err = waits.Offer(short, "v", time.Hour)
	require.Error(t, err)
	require.NotErrorIs(t, err, dq.ErrUncertain)
	require.Error(t, short.Err())
	require.Less(t, time.Since(began), time.Second+slack)
	_, err = dq.NewClient(patient.redis, dq.WithOfferRetryTimeout(-1))
	require.ErrorContains(t, err, "expected 0 or more, got -1ns")
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

// A network in an outage swallows the first packet of a dial, and the kernel repeats it
// seconds later.
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
	client, err := dq.NewClient(rdb)
	require.NoError(t, err)
	defer client.Close()
	b := &bundle{redis: connect(t, s.URL()), names: wire.NamesOf("orders"), queue: dq.NewTaker(client, "orders", codec.String{})}
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
		// Each command of the file takes the server 300 µs, so that it loads for over a second.
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
					for i := range 5000 {
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

// busy has the server run a script for that long, and returns when it answers BUSY.
func (b *bundle) busy(t *testing.T, ctx context.Context, seconds int) (ended <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	patient := goredis.NewClient(&goredis.Options{Addr: b.server.Addr, ReadTimeout: -1, MaxRetries: -1})
	t.Cleanup(func() { _ = patient.Close() })
	go func() {
		done <- patient.Eval(ctx, `local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local till = now() + ARGV[1] * 1000
while now() < till do end
return 1`, nil, seconds).Err()
	}()
	require.Eventually(t, func() bool {
		err := b.redis.Ping(ctx).Err()
		return goredis.HasErrorPrefix(err, "BUSY")
	}, testDeadline, 5*time.Millisecond)
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
	require.NoError(t, d.Offer(ctx, "v", 500*time.Millisecond))
	ended := b.busy(t, ctx, 3)
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
	v, err := fresh.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "other's", v)
	b.announced(t, ctx, "other's", time.Now())
	within(t, firstDelivery, "an offer of others", func() { require.Equal(t, "other's", next(t, ctx, got)) })
}

// A take that begins while the server is busy can be cancelled afterwards.
func TestFaultATakeBegunUnderALongScriptCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t, "--lua-time-limit", "50")
	b := setupOn(t, s, "orders")
	ended := b.busy(t, deadline(t), 1)
	ctx, cancel := context.WithCancel(deadline(t))
	taken := make(chan error, 1)
	go func() { _, err := takeLoop(ctx, b.queue); taken <- err }()
	require.NoError(t, <-ended)
	waitBlocked(t, b.redis)
	cancel()
	require.ErrorIs(t, <-taken, context.Canceled)
	require.Eventually(t, func() bool {
		list, err := b.redis.Do(t.Context(), "CLIENT", "LIST").Text()
		return err == nil && !containsBlocked(list)
	}, testDeadline, time.Millisecond, "the server was told")
}
