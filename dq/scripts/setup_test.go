package scripts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.MainWithoutLeaks(m) }

const d, bc = wire.LayoutDLc0, wire.LayoutBc0Lc0

var layouts = []wire.Layout{d, bc}

// bundle is one queue on a server, looked at without any client of ours.
type bundle struct {
	t          testing.TB
	ctx        context.Context
	redis      *goredis.Client
	names      wire.Names
	quarantine string
	ids        uint64 // of the members made so far
}

func setup(t testing.TB) *bundle {
	t.Helper()
	rdb := goredis.NewClient(must(goredis.ParseURL(redistest.Redis(t).URL())))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(func() { cancel(); _ = rdb.Close() })
	return (&bundle{t: t, ctx: ctx, redis: rdb}).queue("orders")
}

// queue returns a bundle of another queue on the same server.
func (b *bundle) queue(name string) *bundle {
	other := *b
	other.names, other.quarantine = wire.NamesOf(name), scripts.Quarantine(name)
	return &other
}

// id returns an id that no member had, and that no layout but its own can be read from.
func (b *bundle) id() [8]byte {
	b.ids++
	return [8]byte{0x40, byte(b.ids), byte(b.ids >> 8), byte(b.ids >> 16), 0x40, 0x40, 0x40, 0x40}
}

func (b *bundle) pack(l wire.Layout, value string) string {
	return string(l.Pack(b.id(), []byte(value)))
}

func (b *bundle) windows(l wire.Layout, value string) string {
	return string(wire.Member{Layout: l, ID: b.id(), Value: []byte(value), LengthSize: wire.WindowsLengthSize}.Bytes())
}

// put writes members as offers do, each with its score behind it.
func (b *bundle) put(membersAndScores ...any) {
	b.t.Helper()
	for i := 0; i < len(membersAndScores); i += 2 {
		b.do("ZADD", b.names.TimeoutSet, membersAndScores[i+1], membersAndScores[i])
		b.do("RPUSH", b.names.Pending, membersAndScores[i])
	}
}

func (b *bundle) do(args ...any) any {
	b.t.Helper()
	reply, err := b.redis.Do(b.ctx, args...).Result()
	if !errors.Is(err, goredis.Nil) {
		require.NoError(b.t, err)
	}
	return reply
}

func (b *bundle) run(s scripts.Script, keys []string, args ...any) any {
	b.t.Helper()
	reply, err := b.try(s, keys, args...)
	require.NoError(b.t, err)
	return reply
}

func (b *bundle) try(s scripts.Script, keys []string, args ...any) (any, error) {
	reply, err := b.redis.EvalSha(b.ctx, s.SHA1, keys, args...).Result()
	if goredis.HasErrorPrefix(err, "NOSCRIPT") {
		reply, err = b.redis.Eval(b.ctx, s.Body, keys, args...).Result()
	}
	if errors.Is(err, goredis.Nil) {
		err = nil
	}
	return reply, err
}

func (b *bundle) transferKeys() []string {
	u := scripts.UnlistingOf(b.names.Destination)
	return []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending, b.quarantine, u.State, u.Unlisted[0], u.Unlisted[1], u.Leaving}
}

func (b *bundle) transfer(keys []string, now int64, limit int, own wire.Layout) scripts.Transferred {
	b.t.Helper()
	return must(scripts.ReadTransferred(b.run(scripts.Transfer(), keys, now, limit, own.String())))
}

// redisson runs a script of Redisson's, of a release of that layout.
func (b *bundle) redisson(l wire.Layout, name wire.ScriptName, keys []string, args ...any) any {
	b.t.Helper()
	release := wire.Newest()
	if l == d {
		release = wire.Release{Major: 3, Minor: 16, Patch: 6}
	}
	s, ok := release.Script(name)
	require.True(b.t, ok)
	return b.run(scripts.Script{Body: s.Body, SHA1: s.SHA1}, keys, args...)
}

func (b *bundle) list(key string) []string { return must(b.redis.LRange(b.ctx, key, 0, -1).Result()) }
func (b *bundle) delivered() []string      { return b.list(b.names.Destination) }
func (b *bundle) pending() []string        { return b.list(b.names.Pending) }
func (b *bundle) timed() []string {
	return must(b.redis.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Result())
}

func (b *bundle) dump() map[string]string {
	b.t.Helper()
	content := make(map[string]string)
	for _, key := range b.redis.Keys(b.ctx, "*").Val() {
		content[key] = b.redis.Dump(b.ctx, key).Val()
	}
	return content
}

// must is for what fails only in a broken tree or without its server.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
