package ops_test

import (
	"context"
	"encoding/binary"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

const (
	dLc0   = wire.LayoutDLc0
	bc0Lc0 = wire.LayoutBc0Lc0
)

// bench is a server with one queue, "orders".
type bench struct {
	t      *testing.T
	ctx    context.Context
	srv    *redis.Server
	conn   redis.Conn
	names  wire.Names
	lastID uint64
}

func setup(t *testing.T) *bench { return on(t, redistest.Redis(t)) }

func on(t *testing.T, srv *redis.Server) *bench {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	conn := srv.Conn()
	t.Cleanup(func() { _ = conn.Close() })
	return &bench{t: t, ctx: ctx, srv: srv, conn: conn, names: wire.NamesOf("orders")}
}

// listen subscribes to the queue's channel until the test ends, as an open Redisson does.
func (b *bench) listen() *goredis.PubSub {
	b.t.Helper()
	client := redistest.Client(b.srv)
	s := client.Subscribe(b.ctx, b.names.Channel)
	b.t.Cleanup(func() { _ = s.Close(); _ = client.Close() })
	_, err := s.Receive(b.ctx)
	require.NoError(b.t, err)
	return s
}

func (b *bench) do(args ...any) any {
	b.t.Helper()
	reply, err := b.conn.Do(b.ctx, args...).Result()
	if err != redis.Nil { //nolint:errorlint // this very value
		require.NoError(b.t, err, "%v", args)
	}
	return reply
}

func (b *bench) count(args ...any) int64 {
	b.t.Helper()
	n, err := b.conn.Do(b.ctx, args...).Int64()
	require.NoError(b.t, err, "%v", args)
	return n
}

func (b *bench) list(key string) []string {
	b.t.Helper()
	all, err := b.conn.Do(b.ctx, "LRANGE", key, 0, -1).StringSlice()
	require.NoError(b.t, err)
	return all
}

// member packs a value; a Redisson of the other side fails at what it returns.
func (b *bench) member(l wire.Layout, value string) string {
	b.lastID++
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], b.lastID<<8|0x10_00_00_00_00_00_00_10)
	return string(l.Pack(id, []byte(value)))
}

// offer puts a message into the queue, due in so long.
func (b *bench) offer(l wire.Layout, in time.Duration, value string) string {
	b.t.Helper()
	member := b.member(l, value)
	_, err := b.conn.Multi(b.ctx, []any{"ZADD", b.names.TimeoutSet, strconv.FormatInt(time.Now().Add(in).UnixMilli(), 10), member}, []any{"RPUSH", b.names.Pending, member})
	require.NoError(b.t, err)
	return member
}

// transfer is that of a Redisson.
func (b *bench) transfer(release string) error {
	r, err := wire.LookupRelease(release)
	require.NoError(b.t, err)
	s, _ := r.Script(wire.ScriptTransfer)
	err = b.conn.Run(b.ctx, redis.NewScript(s.Body), []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending}, time.Now().UnixMilli(), 100).Err()
	if err == redis.Nil { //nolint:errorlint // this very value
		return nil
	}
	return err
}

func (b *bench) eventually(met func() bool, what string) {
	b.t.Helper()
	require.Eventually(b.t, met, 20*time.Second, 5*time.Millisecond, what)
}
