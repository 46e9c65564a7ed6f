package inspect_test

import (
	"context"
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	dLc0   = wire.LayoutDLc0
	bc0Lc0 = wire.LayoutBc0Lc0
)

var layouts = []wire.Layout{dLc0, bc0Lc0}

// bundle is one queue on a server.
type bundle struct {
	t      testing.TB
	ctx    context.Context
	client goredis.UniversalClient
	names  wire.Names
	ids    uint64
	now    int64 // Unix ms, by the server's clock
}

func setup(t testing.TB) *bundle {
	t.Helper()
	client := redistest.Client(redistest.Redis(t))
	t.Cleanup(func() { client.Close() })
	return with(t, client, "orders")
}

func with(t testing.TB, client goredis.UniversalClient, queue string) *bundle {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	now, err := client.Time(ctx).Result()
	require.NoError(t, err)
	return &bundle{t: t, ctx: ctx, client: client, names: wire.NamesOf(queue), now: now.UnixMilli()}
}

// id returns an id that no member had, and that only its own layout can be read from.
func (b *bundle) id() [8]byte {
	b.ids++
	id := [8]byte{0x40, 0, 0, 0, 0x40, 0x40, 0x40, 0x40}
	binary.LittleEndian.PutUint16(id[1:], uint16(b.ids))
	return id
}

func (b *bundle) pack(l wire.Layout, value string) string {
	return string(l.Pack(b.id(), []byte(value)))
}

func (b *bundle) windows(l wire.Layout, value string) string {
	return string(wire.Member{Layout: l, ID: b.id(), Value: []byte(value), LengthSize: wire.WindowsLengthSize}.Bytes())
}

// offer puts a member into both keys, due after in ms.
func (b *bundle) offer(member string, after float64) string {
	b.t.Helper()
	b.timed(member, after)
	b.listed(member)
	return member
}

func (b *bundle) timed(member string, after float64) {
	b.t.Helper()
	score := strconv.FormatFloat(float64(b.now)+after, 'f', -1, 64)
	require.NoError(b.t, b.client.Do(b.ctx, "ZADD", b.names.TimeoutSet, score, member).Err())
}

func (b *bundle) listed(member string) {
	b.t.Helper()
	require.NoError(b.t, b.client.RPush(b.ctx, b.names.Pending, member).Err())
}

// subscribe listens as a client with a delayed queue does.
func (b *bundle) subscribe() {
	b.t.Helper()
	s := b.client.Subscribe(b.ctx, b.names.Channel)
	_, err := s.Receive(b.ctx)
	require.NoError(b.t, err)
	b.t.Cleanup(func() { s.Close() })
}

func (b *bundle) look(options inspect.Options) inspect.Queue {
	b.t.Helper()
	if options.Samples == 0 {
		options.Samples = 2
	}
	q, err := inspect.LookAt(b.ctx, redis.On(b.client), b.names.Destination, options)
	require.NoError(b.t, err)
	return q
}

// anomalies are the kinds of those that were found.
func anomalies(q inspect.Queue) []string {
	kinds := []string{}
	for _, f := range q.Findings {
		if f.Anomaly {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}

func finding(t testing.TB, q inspect.Queue, kind string) inspect.Finding {
	t.Helper()
	for _, f := range q.Findings {
		if f.Kind == kind {
			return f
		}
	}
	t.Fatalf("no finding %q among %v", kind, q.Findings)
	return inspect.Finding{}
}

// transfer runs Redisson's transfer script of a layout's newest release.
func (b *bundle) transfer(l wire.Layout) error {
	release := wire.Newest()
	if l == dLc0 {
		release = wire.Release{Major: 3, Minor: 21, Patch: 0}
	}
	script, ok := release.Script("transfer")
	require.True(b.t, ok)
	keys := []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending}
	err := b.client.Eval(b.ctx, script.Body, keys, b.now, 100).Err()
	if err == goredis.Nil { //nolint:errorlint // this very value
		return nil
	}
	return err
}

func (b *bundle) delivered() []string {
	b.t.Helper()
	values, err := b.client.LRange(b.ctx, b.names.Destination, 0, -1).Result()
	require.NoError(b.t, err)
	return values
}

func (b *bundle) clear() {
	b.t.Helper()
	n := b.names
	for _, key := range []string{n.TimeoutSet, n.Pending, n.Destination, scripts.Quarantine(n.Destination), forensics.HeldKey(n.Destination)} {
		require.NoError(b.t, b.client.Del(b.ctx, key).Err())
	}
}
