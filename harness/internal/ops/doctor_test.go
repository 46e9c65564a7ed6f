package ops_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

const dLc0, bc0Lc0 = wire.LayoutDLc0, wire.LayoutBc0Lc0

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

func (b *bench) transfer(version string) error {
	s, _ := release(version).Script(wire.ScriptTransfer)
	err := b.conn.Run(b.ctx, redis.NewScript(s.Body), []string{b.names.Destination, b.names.TimeoutSet, b.names.Pending}, time.Now().UnixMilli(), 100).Err()
	if err == redis.Nil { //nolint:errorlint // this very value
		return nil
	}
	return err
}

func release(version string) wire.Release { return must(wire.LookupRelease(version)) }

func (b *bench) order(conn redis.Conn, o *ops.Order) (p *ops.Plan, err error) {
	b.t.Helper()
	require.NoError(b.t, o.Check())
	if p, err = o.Plan(b.ctx, ops.NewEditor(conn, o.Queue)); err == nil {
		err = p.Apply(b.ctx, conn)
	}
	return p, err
}

// done is the plan of an order that is carried out.
func (b *bench) done(conn redis.Conn, o *ops.Order) *ops.Plan {
	b.t.Helper()
	p, err := b.order(conn, o)
	require.NoError(b.t, err)
	return p
}

// network sends scripts in a way of its own.
type network struct {
	redis.Conn
	send func(call func() *goredis.Cmd) *goredis.Cmd
}

func (n network) Run(ctx context.Context, s *redis.Script, keys []string, args ...any) *goredis.Cmd {
	if i := slices.IndexFunc(keys, func(key string) bool { return wire.Slot(key) != wire.Slot(keys[0]) }); i >= 0 {
		panic("a Cluster refuses " + keys[i])
	}
	return n.send(func() *goredis.Cmd { return n.Conn.Run(context.WithoutCancel(ctx), s, keys, args...) })
}

// before7 sends scripts as if the server were older than Redis 7: it cannot be asked for a right.
type before7 struct{ redis.Conn }

func (c before7) Run(ctx context.Context, s *redis.Script, keys []string, args ...any) *goredis.Cmd {
	for _, known := range ops.Scripts() {
		if known.SHA1 == s.Hash() {
			s = redis.NewScript(strings.ReplaceAll(known.Body, "redis.acl_check_cmd", "nil"))
		}
	}
	return c.Conn.Run(ctx, s, keys, args...)
}

// twice sends a call again, as a client does when the reply is lost.
func twice(call func() *goredis.Cmd) *goredis.Cmd { _ = call(); return call() }

// apply makes changes, and returns how many were made and the undo file.
func (b *bench) apply(changes []ops.Change) (made int, undo string) {
	b.t.Helper()
	p := &ops.Plan{Order: &ops.Order{Queue: "orders", Site: ops.Site{Folder: b.t.TempDir()}}, Changes: changes}
	require.NoError(b.t, p.Apply(b.ctx, network{b.conn, twice}))
	return p.Made, p.Undo
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
	names := slices.Collect(maps.Keys(actions))
	for command := range strings.FieldsSeq(`time info config slowlog pubsub scan zcard llen zcount zrange zrangebyscore zscan zscore lrange lindex lpos
		exists evalsha zadd zrem lset lrem rpush lpush sadd srem smembers sismember scard del hget hset hdel publish client memory`) {
		for try := range 2 * len(names) {
			name := names[try/2]
			if try%2 == 1 && (strings.HasPrefix(name, "doctor") || !slices.Contains(strings.Fields("zadd zrem lset lrem rpush lpush sadd srem set hset hdel publish"), command)) {
				continue
			}
			b.do("FLUSHDB")
			b.offer(dLc0, -time.Minute, "a")
			b.offer(dLc0, time.Hour, "b")
			b.offer(dLc0, time.Hour, "c")
			b.do("ZADD", leases.Leases, time.Now().Add(-time.Hour).UnixMilli(), "id")
			b.do("HSET", leases.Bodies, "id", "held")
			b.do("HSET", leases.Counts, "id", "1")
			b.do("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", "-"+command)
			conn := must(redis.Connect("redis://limited:x@" + b.srv.Addr))
			if try%2 == 1 {
				conn = before7{conn}
			}
			b.do("ACL", "LOG", "RESET")
			before := b.content()
			err := actions[name](conn)
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

func (b *bench) look(o ops.LookOptions) *ops.Look {
	b.t.Helper()
	l, err := ops.NewDoctor(b.conn, o).Look(b.ctx)
	require.NoError(b.t, err)
	return l
}

// kinds are the findings of a queue, without notes.
func kinds(q *ops.Queue) (all []string) {
	for _, f := range q.Findings {
		if f.State != ops.Note {
			all = append(all, string(f.State)+":"+f.Kind)
		}
	}
	return all
}

// Each state of a queue has its finding, in the short form and in the long one.
func TestFindings(t *testing.T) {
	t.Parallel()
	leases := scripts.LeaseNamesOf("orders")
	now := time.Now().UnixMilli()
	for name, c := range map[string]struct {
		make        func(*bench)
		short, long []string
		release     string
		next        string
		then        string
	}{
		"healthy":    {make: func(b *bench) { b.offer(bc0Lc0, time.Hour, "a") }, short: []string{"yellow:no-subscriber"}, next: "dq-bench guard orders"},
		"overdue":    {make: func(b *bench) { b.offer(bc0Lc0, -time.Minute, "a") }, short: []string{"red:overdue"}, next: "dq-bench guard orders"},
		"both":       {make: func(b *bench) { b.offer(bc0Lc0, time.Hour, "a"); b.offer(dLc0, time.Hour, "b") }, short: []string{"red:foreign-member", "yellow:no-subscriber"}, next: "dq-bench guard orders"},
		"foreign":    {make: func(b *bench) { b.offer(dLc0, time.Hour, "b") }, release: "4.7.0", short: []string{"red:foreign-member", "yellow:no-subscriber"}, next: "dq-bench migrate orders --to 4.7.0"},
		"unreadable": {make: func(b *bench) { b.do("ZADD", b.names.TimeoutSet, now+3600e3, "x"); b.do("RPUSH", b.names.Pending, "x") }, short: []string{"red:unreadable-member", "yellow:no-subscriber"}, next: "dq-bench queue repair orders"},
		"never": {make: func(b *bench) { b.do("ZADD", b.names.TimeoutSet, "-inf", b.member(bc0Lc0, "x")) }, short: []string{"red:stuck-head", "yellow:no-subscriber"},
			long: []string{"red:stuck-head", "yellow:no-subscriber", "yellow:orphan"}, next: "dq-bench queue deliver orders --where due=never"},
		"wrong type": {make: func(b *bench) { b.do("SET", b.names.Pending, "x") }, short: []string{"red:wrong-type"}, next: "redis-cli -s /s -n 3 RENAMENX"},
		"of a guard": {make: func(b *bench) { b.do("HSET", ops.AheadKey("orders"), "x", "y") }, short: []string{"red:wrong-type"}, next: "redis-cli -s /s -n 3 RENAMENX redisson_delay_queue_guard:{orders} misplaced:redisson_delay_queue_guard:{orders}"},
		"alike":      {make: func(b *bench) { b.do("RPUSH", "orders", "a", "a"); b.offer(bc0Lc0, time.Hour, "a") }, short: []string{"yellow:not-taken", "yellow:no-subscriber"}, next: "dq-bench doctor orders --watch"},
		"not taken":  {make: func(b *bench) { b.do("RPUSH", "orders", "a", "b"); b.offer(bc0Lc0, time.Hour, "a") }, short: []string{"yellow:not-taken", "yellow:no-subscriber"}, next: "dq-bench doctor orders --watch"},
		"ghost":      {make: func(b *bench) { b.offer(bc0Lc0, time.Hour, "a"); b.do("RPUSH", b.names.Pending, b.member(dLc0, "g")) }, short: []string{"yellow:no-subscriber", "yellow:ghost"}, long: []string{"yellow:no-subscriber", "yellow:ghost"}},
		"orphan":     {make: func(b *bench) { b.do("LREM", b.names.Pending, 1, b.offer(bc0Lc0, time.Hour, "a")) }, short: []string{"yellow:no-subscriber"}, long: []string{"yellow:no-subscriber", "yellow:orphan"}},
		"twice":      {make: func(b *bench) { b.do("RPUSH", b.names.Pending, b.offer(bc0Lc0, time.Hour, "a")) }, short: []string{"yellow:no-subscriber", "yellow:ghost"}, long: []string{"yellow:no-subscriber", "yellow:listed-again"}},
		"ahead":      {make: func(b *bench) { b.do("ZADD", ops.AheadKey("orders"), now-60e3, b.member(bc0Lc0, "a")) }, short: []string{"red:ahead"}, next: "dq-bench guard orders"},
		"abandoned":  {make: func(b *bench) { b.do("ZADD", leases.Leases, now-60e3, "id") }, short: []string{"red:abandoned"}, next: "dq-bench queue deliver orders --of held,retry --all"},
		"busy":       {make: func(b *bench) { b.do("ZADD", leases.Leases, now-30e3, "id", now+60e3, "leased") }, short: []string{"yellow:abandoned"}},
		"dead":       {make: func(b *bench) { b.do("ZADD", leases.Dead, now, "id"); b.offer(bc0Lc0, time.Hour, "a") }, short: []string{"yellow:no-subscriber", "yellow:dead-letters"}},
		"aside":      {make: func(b *bench) { b.do("ZADD", scripts.Quarantine("orders"), now, "x") }, short: []string{"yellow:set-aside"}},
		"windows": {make: func(b *bench) {
			m := append([]byte("abcdefgh\x01\x00\x00\x00"), 'a')
			b.do("ZADD", b.names.TimeoutSet, now+3600e3, m)
			b.do("RPUSH", b.names.Pending, m)
		}, short: []string{"yellow:no-subscriber"}, long: []string{"yellow:no-subscriber", "yellow:windows-member"}},
		"no codec":   {make: func(b *bench) { b.offer(bc0Lc0, time.Hour, "\x04>\x05hello") }, release: "4.7.0", short: []string{"yellow:no-subscriber"}, long: []string{"red:other-codec", "yellow:no-subscriber"}},
		"two codecs": {make: func(b *bench) { b.offer(bc0Lc0, time.Hour, "\x04>\x01a"); b.offer(bc0Lc0, time.Hour, "\x03a\xe2") }, release: "3.45.1", short: []string{"yellow:no-subscriber"}, long: []string{"red:other-codec", "yellow:no-subscriber"}},
		"neither": {make: func(b *bench) { b.offer(dLc0, time.Hour, "\x04>\x05hello") }, release: "4.7.0", short: []string{"red:foreign-member", "yellow:no-subscriber"},
			long: []string{"red:foreign-member", "red:other-codec", "yellow:no-subscriber"}, then: "dq-bench migrate orders --codec marshalling:kryo5 --release 3.18.1:4.7.0 --to 4.7.0"},
		"fraction": {make: func(b *bench) {
			b.do("ZADD", b.names.TimeoutSet, fmt.Sprintf("%d.5", now+3600e3), b.member(bc0Lc0, "x"))
		}, short: []string{"yellow:no-subscriber", "yellow:fractional-score"}, long: []string{"yellow:no-subscriber", "yellow:orphan", "yellow:fractional-score"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			c.make(b)
			o := ops.LookOptions{Wait: 10 * time.Millisecond, Address: "unix:///s?db=3"}
			if c.release != "" {
				o.Release = new(release(c.release))
			}
			l := b.look(o)
			require.Len(t, l.Queues, 1)
			require.Equal(t, c.short, kinds(l.Queues[0]))
			if c.next != "" {
				require.True(t, strings.HasPrefix(l.Queues[0].Findings[0].Next, c.next), "%q", l.Queues[0].Findings[0].Next)
			}
			o.Queues = []string{"orders"}
			long := b.look(o)
			if c.long == nil {
				c.long = c.short
			}
			require.Equal(t, c.long, kinds(long.Queues[0]))
			if c.then != "" {
				require.Equal(t, c.then, long.Queues[0].Findings[0].Next)
			}
			require.Contains(t, long.Text()+string(must(json.Marshal(long))), "orders")
			require.Equal(t, slices.ContainsFunc(c.long, func(k string) bool { return strings.HasPrefix(k, "red") }), long.Red > 0)
		})
	}
	require.Contains(t, ops.Command("guard", "nul\x00l"), "no shell can name this queue") // it ends a word at a NUL byte
}

// Values that stand still for 30 s between looks are red; a consumer that takes a value now and then is fine.
func TestNotTakenBetweenLooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, time.Hour, "later") // a queue that is known
	b.do("RPUSH", "orders", "a", "b", "c")
	d := ops.NewDoctor(b.conn, ops.LookOptions{Wait: 10 * time.Millisecond})
	look := func() string {
		l, err := d.Look(b.ctx)
		require.NoError(t, err)
		return strings.Join(kinds(l.Queues[0]), " ")
	}
	require.Contains(t, look(), "yellow:not-taken")
	b.do("LPOP", "orders")
	b.do("RPUSH", "orders", "d")
	b.do("DEL", b.names.TimeoutSet, b.names.Pending) // the last message that waits is delivered
	look()                                           // the consumer has taken one
	ops.Age(d, 20*time.Second)
	require.Contains(t, look(), "yellow:not-taken", "a consumer may take 20 s a message")
	ops.Age(d, 11*time.Second)
	require.Contains(t, look(), "red:not-taken")
	b.do("LPOP", "orders")
	require.NotContains(t, look(), "not-taken")
}

// A queue whose only key is its destination is found by its name, and while a client has it open.
func TestOpenQueueIsFound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.do("RPUSH", "orders", "a")
	require.Empty(t, b.look(ops.LookOptions{}).Queues)
	named := b.look(ops.LookOptions{Queues: []string{"orders"}, Wait: 10 * time.Millisecond})
	require.Equal(t, []string{"yellow:not-taken"}, kinds(named.Queues[0]), "a list that was named needs no other key")
	b.listen()
	l := b.look(ops.LookOptions{Wait: 10 * time.Millisecond})
	require.Len(t, l.Queues, 1)
	require.Equal(t, []string{"yellow:not-taken"}, kinds(l.Queues[0]))
}

func TestServerFindings(t *testing.T) {
	t.Parallel()
	b := on(t, redistest.Process(t, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru", "--slowlog-log-slower-than", "0"))
	b.offer(bc0Lc0, -time.Minute, "a")
	require.NoError(t, b.transfer("4.7.0"))
	mends := func(left int, kinds ...string) {
		l := b.look(ops.LookOptions{Address: b.srv.URL()})
		require.Equal(t, "master", l.Server.Role)
		var found []string
		for _, f := range l.Findings {
			found = append(found, string(f.State)+":"+f.Kind)
			require.NoError(t, exec.CommandContext(b.ctx, "sh", "-c", f.Next).Run(), f.Next)
		}
		require.Equal(t, kinds, found)
		b.eventually(func() bool { return len(b.look(ops.LookOptions{Address: b.srv.URL()}).Findings) == left }, "each command cures")
	}
	dump := filepath.Join(b.srv.Nodes()[0].Dir, "dump.rdb")
	require.NoError(t, os.MkdirAll(filepath.Join(dump, "x"), 0o700))
	b.do("CONFIG", "SET", "save", "3600 1", "min-replicas-to-write", "2")
	b.do("BGSAVE")
	b.eventually(func() bool { return redis.HasErrorPrefix(b.conn.Do(b.ctx, "PING").Err(), "MISCONF") }, "a snapshot failed")
	_, err := redis.Start(b.ctx, b.srv.URL(), nil)
	require.NoError(t, err, "a server that takes no writes can be looked at")
	mends(1, "red:cannot-save", "red:no-replicas", "yellow:evicting")
	require.NoError(t, os.RemoveAll(dump))
	mends(0, "yellow:cannot-save")
	b.do("CONFIG", "SET", "save", "", "maxmemory", "1")
	mends(0, "red:out-of-memory", "yellow:no-persistence")
}

// A transfer that walks a long list is predicted by where its due members are, and found in the slow log afterwards.
func TestSlowTransfer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entries := append([]any{"RPUSH", b.names.Pending}, slices.Repeat([]any{b.member(bc0Lc0, "later")}, 5_000)...)
	for range 40 {
		b.do(entries...)
	}
	for range 50 {
		b.offer(bc0Lc0, -time.Minute, "a")
	}
	slow := func(o ops.LookOptions) string {
		for _, f := range b.look(o).Queues[0].Findings {
			if f.Kind == "slow-transfer" {
				require.Equal(t, ops.Yellow, f.State)
				return f.Why
			}
		}
		return ""
	}
	require.Empty(t, slow(ops.LookOptions{}))
	require.Contains(t, slow(ops.LookOptions{Queues: []string{"orders"}}), "far from the head of a list of 200050")
	for _, release := range []string{"3.21.1", "4.7.0"} { // by text, and by digest
		b.do("SLOWLOG", "RESET")
		for range 20 {
			b.offer(bc0Lc0, -time.Minute, "b")
		}
		require.NoError(t, b.transfer(release))
		require.Contains(t, slow(ops.LookOptions{}), "by its slow log", release)
	}
	b.do("SLOWLOG", "RESET")
	b.do("RENAME", b.names.Pending, "orders")
	b.offer(bc0Lc0, time.Hour, "c")
	absent := ops.Change{Of: "ready", Action: "cancel", Key: []byte("absent")}
	b.apply(slices.Repeat([]ops.Change{absent}, 20))
	require.Empty(t, slow(ops.LookOptions{}), "a cancellation is no transfer")
}

// A server that refuses everything but reads of keys gets a look all the same, and each refused command is named.
func TestRefusedCommands(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, -time.Minute, "a")
	b.do("ACL", "SETUSER", "reader", "on", "nopass", "~*", "+@read", "+ping", "+select", "+hello", "+scan")
	conn := must(redis.Connect("redis://reader:x@" + b.srv.Addr))
	defer conn.Close()
	l, err := ops.NewDoctor(conn, ops.LookOptions{}).Look(b.ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"red:overdue"}, kinds(l.Queues[0]))
	for _, command := range []string{"TIME", "INFO", "SLOWLOG GET", "PUBSUB NUMSUB"} {
		require.Contains(t, strings.Join(l.Unseen, "\n"), command+" is refused")
	}
}

func TestManyQueues(t *testing.T) {
	t.Parallel()
	queues := 1000
	if redistest.Thorough() {
		queues = 50_000
	}
	b := setup(t)
	for first := 0; first < queues; first += 1000 {
		var calls [][]any
		for i := range 1000 {
			i += first
			n := wire.NamesOf("queue-" + strconv.Itoa(i))
			m := b.member(dLc0, "value")
			due := time.Now().Add(time.Hour).UnixMilli()
			if i%100 == 0 {
				due = 1
			}
			calls = append(calls, []any{"ZADD", n.TimeoutSet, due, m}, []any{"RPUSH", n.Pending, m})
		}
		_, err := b.conn.Pipe(b.ctx, calls...)
		require.NoError(t, err)
	}
	l := b.look(ops.LookOptions{})
	require.Empty(t, l.Partial)
	require.Len(t, l.Queues, queues)
	require.Equal(t, queues/100, l.Red)
	require.Equal(t, ops.Red, l.Queues[0].State)
	require.NotEmpty(t, l.Text())
}

// A cluster: queues of all masters are found, guarded and migrated.
func TestCluster(t *testing.T) {
	t.Parallel()
	srv := redistest.Cluster(t, 3, 0)
	b := on(t, srv.Server)
	for i := range 9 {
		n := wire.NamesOf("orders" + strconv.Itoa(i))
		m := b.member(dLc0, "a")
		due := time.Now().Add([]time.Duration{-time.Minute, time.Hour}[i/5]).UnixMilli()
		b.do("ZADD", n.TimeoutSet, due, m)
		b.do("RPUSH", n.Pending, m)
	}
	l := b.look(ops.LookOptions{Address: srv.URL()})
	require.Len(t, l.Queues, 9)
	require.Equal(t, 5, l.Red)
	require.NotEqual(t, l.Findings[0].Next, l.Findings[1].Next, "each names its node")
	long := b.look(ops.LookOptions{Queues: []string{"orders7"}})
	require.EqualValues(t, map[string]int64{"dLc0": 1}, long.Queues[0].Layouts)
	_, _, end := b.guard(ops.GuardOptions{})
	b.eventually(func() bool { return b.look(ops.LookOptions{}).Red == 0 }, "all overdue messages are delivered")
	end()
	m, err := ops.Migrate(b.ctx, b.conn, "orders8", ops.MigrateOptions{To: new(bc0Lc0), Yes: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, m.Rewritten["waiting"])
	b.do("SET", "orders8", "x")
	next := b.look(ops.LookOptions{Queues: []string{"orders8"}, Address: srv.URL()}).Queues[0].Findings[0].Next
	require.NoError(t, exec.CommandContext(b.ctx, "sh", "-c", next).Run(), next)
	require.Equal(t, "x", b.do("GET", "misplaced:{orders8}"), next)
}

// measured notes the size of the largest reply, and of the largest pipeline of replies.
type measured struct {
	redis.Conn
	reply, replies int
}

func (m *measured) Do(ctx context.Context, args ...any) *goredis.Cmd {
	r := m.Conn.Do(ctx, args...)
	m.reply = max(m.reply, len(fmt.Sprint(r.Val())))
	return r
}

func (m *measured) Pipe(ctx context.Context, calls ...[]any) ([]*goredis.Cmd, error) {
	all, err := m.Conn.Pipe(ctx, calls...)
	size := 0
	for _, r := range all {
		size += len(fmt.Sprint(r.Val()))
	}
	m.replies = max(m.replies, size)
	return all, err
}

func TestLargeMembersComeInSmallParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	value := strings.Repeat("x", 2<<20)
	for _, queue := range []string{"bills", "orders"} {
		b.names = wire.NamesOf(queue)
		for range 12 {
			b.offer(bc0Lc0, time.Hour, value)
		}
	}
	conn := &measured{Conn: b.conn}
	seen, err := ops.NewDoctor(conn, ops.LookOptions{Queues: []string{"bills", "orders"}}).Look(b.ctx)
	require.NoError(t, err)
	require.Empty(t, seen.Partial)
	for _, q := range seen.Queues {
		require.EqualValues(t, 12, q.Layouts["Bc0Lc0"])
		require.Zero(t, q.Census.Ghosts+q.Census.Orphans)
	}
	require.Less(t, conn.reply, 12<<20) // a step of ZSCAN may give some more
	require.Less(t, conn.replies, 40<<20)
}

// must is for what fails only in a broken tree, such as reading one of its files.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
