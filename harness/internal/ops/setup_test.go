package ops_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

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
func (b *bench) transfer(version string) error {
	s, _ := release(b.t, version).Script(wire.ScriptTransfer)
	err := b.conn.Run(b.ctx, redis.NewScript(s.Body), []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending}, time.Now().UnixMilli(), 100).Err()
	if err == redis.Nil { //nolint:errorlint // this very value
		return nil
	}
	return err
}

func release(t *testing.T, version string) wire.Release {
	t.Helper()
	r, err := wire.LookupRelease(version)
	require.NoError(t, err)
	return r
}

// order carries out an order.
func (b *bench) order(conn redis.Conn, o *ops.Order) (p *ops.Plan, err error) {
	b.t.Helper()
	require.NoError(b.t, o.Check())
	if p, err = o.Plan(b.ctx, ops.NewEditor(conn, o.Queue)); err == nil {
		err = p.Apply(b.ctx, conn)
	}
	return p, err
}

// apply makes changes, and returns their results and the undo file.
func (b *bench) apply(changes []ops.Change) (results, undo string) {
	b.t.Helper()
	var file strings.Builder
	results, err := ops.NewEditor(b.conn, "orders").Apply(b.ctx, changes, -1, &file)
	require.NoError(b.t, err)
	return results, file.String()
}

func (b *bench) eventually(met func() bool, what string) {
	b.t.Helper()
	require.Eventually(b.t, met, 20*time.Second, 5*time.Millisecond, what)
}

// Each command is refused in turn. Then a look, a verb, a guard and a migration say so, and no message is changed by half. Scripts do without LPOS.
func TestEachCommandIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	leases := scripts.LeaseNamesOf("orders")
	order := func(verb, of, to string) func(redis.Conn) error {
		return func(conn redis.Conn) error {
			_, err := b.order(conn, &ops.Order{Verb: verb, Queue: "orders", Of: []string{of}, All: true, To: to, Site: ops.Site{Folder: t.TempDir()}})
			return err
		}
	}
	doctor := func(queues ...string) func(redis.Conn) error {
		return func(conn redis.Conn) error {
			l, err := ops.NewDoctor(conn, ops.LookOptions{Queues: queues, Wait: time.Millisecond}).Look(b.ctx)
			if err == nil && len(l.Unseen) > 0 {
				err = errors.New(strings.Join(l.Unseen, "; "))
			}
			return err
		}
	}
	actions := map[string]func(redis.Conn) error{
		"cancel": order("cancel", "waiting", ""), "deliver": order("deliver", "waiting", ""), "reschedule": order("reschedule", "waiting", "2h"), "deliver held": order("deliver", "held", ""),
		"doctor": doctor(), "doctor orders": doctor("orders"),
		"migrate": func(conn redis.Conn) error {
			m, err := ops.Migrate(b.ctx, conn, "orders", ops.MigrateOptions{To: new(bc0Lc0), Yes: true})
			if err == nil && m.Refusal != "" {
				err = errors.New(m.Refusal)
			}
			return err
		},
		"guard": func(conn redis.Conn) error {
			ctx, cancel := context.WithTimeout(b.ctx, 30*time.Millisecond)
			defer cancel()
			var lines log
			g := ops.NewGuard(conn, ops.GuardOptions{Queues: []string{"orders"}, Ahead: time.Second, Interval: 10 * time.Millisecond, Log: &lines})
			err := g.Run(ctx)
			if strings.Contains(lines.String(), `"error"`) {
				err = errors.New(lines.String())
			}
			return err
		},
	}
	for command := range strings.FieldsSeq(`time info config slowlog pubsub scan zcard llen zcount zrange zrangebyscore zscan zscore lrange lindex lpos
		exists evalsha zadd zrem lset lrem rpush lpush sadd srem smembers sismember scard del hget hset hdel publish client memory`) {
		for name, act := range actions {
			b.do("FLUSHDB")
			b.offer(dLc0, -time.Minute, "a")
			b.offer(dLc0, time.Hour, "b")
			b.offer(dLc0, time.Hour, "c")
			b.do("ZADD", leases.Leases, time.Now().Add(time.Hour).UnixMilli(), "id")
			b.do("HSET", leases.Bodies, "id", "held")
			b.do("HSET", leases.Counts, "id", "1")
			b.do("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", "-"+command)
			conn, err := redis.Connect("redis://limited:x@" + b.srv.Addr)
			require.NoError(t, err)
			b.do("ACL", "LOG", "RESET")
			before := b.content()
			err = act(conn)
			refused := b.do("ACL", "LOG").([]any)
			require.NoError(t, conn.Close())
			where := fmt.Sprintf("%s without %s: %v", name, command, err)
			require.False(t, err == nil && len(refused) > 0 && command != "lpos", "%s: the refusal is not said: %v", where, refused)
			require.True(t, err == nil || name == "guard" || before == b.content(), "%s: changed, and no undo file tells of it", where)
			set, err := b.conn.Do(b.ctx, "ZRANGE", b.names.TimeoutSet, 0, -1).StringSlice()
			require.NoError(t, err)
			require.ElementsMatch(t, set, b.list(b.names.Pending), where)
			leased := b.count("ZCARD", leases.Leases)
			require.Equal(t, leased, b.count("HLEN", leases.Bodies), where)
			if left := len(set) + len(b.list("orders")) + int(leased); name != "cancel" || left != 1 {
				require.Equal(t, 4, left, where)
			}
		}
	}
}
