package ops_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// Each command is refused in turn. Then a look, a verb, a guard and a migration say so, and no message is changed by half. Scripts do without LPOS.
func TestEachCommandIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	leases := scripts.LeaseNamesOf("orders")
	order := func(verb, of, to string) func(redis.Conn) error {
		return func(conn redis.Conn) error {
			o := &ops.Order{Verb: verb, Queue: "orders", Of: []string{of}, All: true, To: to, Site: ops.Site{Folder: t.TempDir()}}
			require.NoError(t, o.Check())
			plan, err := o.Plan(b.ctx, ops.NewEditor(conn, "orders"))
			if err == nil {
				err = plan.Apply(b.ctx, conn)
			}
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
			to := bc0Lc0
			m, err := ops.Migrate(b.ctx, conn, "orders", ops.MigrateOptions{To: &to, Yes: true})
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
