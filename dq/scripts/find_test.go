package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func (b *bundle) find(at scripts.Place, own wire.Layout, value string) (scripts.Place, []string, bool) {
	b.t.Helper()
	next, found, more, err := scripts.ReadFound(b.run(scripts.Find(), []string{b.names.TimeoutSet}, own.String(), at.Score, at.Seen, value))
	require.NoError(b.t, err)
	return next, found, more
}

// A value is found in whatever layout it is packed, and no value that only ends like it.
func TestFindAValue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, m := range []string{
		b.pack(d, "1"), b.pack(bc, "21"), b.windows(d, "3"), b.windows(bc, "4"), b.pack(bc, ""), "no member", b.pack(d, strings.Repeat("x", 300)),
	} {
		b.put(m, now+i)
	}
	for value, at := range map[string]int{"1": 0, "21": 1, "3": 2, "4": 3, "": 4, strings.Repeat("x", 300): 6} {
		for _, own := range layouts {
			_, found, more := b.find(scripts.Place{}, own, value)
			require.True(t, more)
			require.Len(t, found, 2, value)
			require.Equal(t, fmt.Sprint(now+at), found[1])
			require.Equal(t, value, string(must(own.UnpackAny([]byte(found[0]))).Value))
		}
	}
	next, found, more := b.find(scripts.Place{}, d, "absent")
	require.True(t, more)
	require.Empty(t, found)
	_, _, more = b.find(next, d, "absent")
	require.False(t, more)
}

// A long queue takes many calls, which pass each member once, also where many come due in one millisecond and while those
// in front are transferred.
func TestFindGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = 5000
	for i := range n {
		b.do("ZADD", b.names.TimeoutSet, now+i/3000, b.pack(bc, "v"))
	}
	seen, calls, at := map[string]bool{}, 0, scripts.Place{}
	for {
		next, found, more := b.find(at, bc, "v")
		if !more {
			break
		}
		for i := 0; i < len(found); i += 2 {
			require.False(t, seen[found[i]])
			seen[found[i]] = true
		}
		at, calls = next, calls+1
	}
	require.Len(t, seen, n)
	require.LessOrEqual(t, calls, 4)

	at, _, _ = b.find(scripts.Place{}, bc, "v")
	next, _, _ := b.find(at, bc, "v")
	b.do("ZREMRANGEBYRANK", b.names.TimeoutSet, 0, 2999)
	again, _, _ := b.find(scripts.Place{Score: fmt.Sprint(now + 1), Seen: 0}, bc, "v")
	require.Equal(t, next.Score, again.Score)
}

func (b *bundle) cancel(at int64, due, id any, more ...any) any {
	b.t.Helper()
	u := scripts.UnlistingOf(b.names.Destination)
	return b.run(scripts.Cancel(), []string{b.names.TimeoutSet, b.names.Pending, u.Unlisted[0], u.Unlisted[1], u.Leaving, u.Next},
		append([]any{due, id, at}, more...)...)
}

// A message that is offered anew keeps its value, has the new id, comes last in the list, is packed in the own layout, and is
// announced where it comes first.
func TestCancelOffersAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, own := range layouts {
		for name, member := range map[string]string{
			"own": b.pack(own, "v"), "other": b.pack(own.Other(), "v"), "windows": b.windows(own, "v"), "unlisted": b.pack(own, "v"),
		} {
			b.do("FLUSHALL")
			first := b.pack(own, "first")
			b.put(member, now+9, first, now+5)
			if name == "unlisted" {
				b.do("LREM", b.names.Pending, 1, member)
				b.do("SADD", scripts.UnlistingOf(b.names.Destination).Unlisted[1], member)
			}
			heard := b.redis.Subscribe(b.ctx, b.names.Channel)
			_, err := heard.Receive(b.ctx)
			require.NoError(t, err)
			m := must(own.UnpackAny([]byte(member)))
			packed := must(own.UnpackAny([]byte(b.pack(own, "v"))))
			id, anew := string(m.ID[:]), string(packed.ID[:])
			require.Equal(t, int64(1), b.cancel(now, now+9, id, now+7, own.String(), b.names.Channel, anew), name)
			want := string(own.Pack(packed.ID, []byte("v")))
			require.Equal(t, []string{first, want}, b.pending())
			require.Equal(t, []string{first, want}, b.timed())
			require.Equal(t, int64(1), b.cancel(now, now+7, anew, now+1, own.String(), b.names.Channel, id))
			require.Equal(t, []string{string(own.Pack(m.ID, []byte("v"))), first}, b.timed())
			message, err := heard.ReceiveMessage(b.ctx)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(now+1), message.Payload, "what does not come first is not announced")
			require.Equal(t, int64(0), b.cancel(now, now+9, id, now+2, own.String(), b.names.Channel, anew), "it has gone")
			require.Equal(t, int64(0), b.redis.Exists(b.ctx, scripts.UnlistingOf(b.names.Destination).Unlisted[1]).Val())
			require.NoError(t, heard.Close())
		}
	}
}

// A due member that is out of the list may have come, or is out for a transfer, which every user leaves it to.
func TestCancelLeavesWhatItCannotSee(t *testing.T) {
	t.Parallel()
	b := setup(t)
	member := b.pack(wire.LayoutBc0Lc0, "v")
	b.do("ZADD", b.names.TimeoutSet, now, member)
	require.EqualValues(t, 0, b.redis.Eval(b.ctx, scripts.Cancel().Body, []string{b.names.TimeoutSet, b.names.Pending}, now, member[1:9], now).Val())
	require.EqualValues(t, 0, b.cancel(now, now, member[1:9]))
	require.Equal(t, []string{member}, b.timed())
}

// restricted connects as a user who lacks the right to one command.
func (b *bundle) restricted(command string) *bundle {
	b.t.Helper()
	err := b.redis.Do(b.ctx, "ACL", "SETUSER", "user", "reset", "on", "nopass", "~*", "+@all", "-"+command).Err()
	if err != nil && strings.HasPrefix(err.Error(), "ERR unknown command") {
		redistest.Missing(b.t, "redis", fmt.Errorf("ACLs, which came with Redis 6.0: %w", err))
	}
	require.NoError(b.t, err)
	opt := *b.redis.Options()
	opt.Username, opt.Password = "user", "any"
	other := *b
	other.redis = redis.NewClient(&opt)
	b.t.Cleanup(func() { _ = other.redis.Close() })
	return &other
}

// A script that is refused for one of its commands, keys or arguments, or for want of memory, has written nothing that counts. Some
// commands are optional, and what they lack is seen later.
func TestRefusals(t *testing.T) {
	t.Parallel()
	l := leases(t)
	u, n, plain := scripts.UnlistingOf("orders"), l.bundle.names, l.queue("plain")
	var held, dead scripts.HandedOut
	var first string
	given := func() {
		l.do("FLUSHALL")
		l.do("RPUSH", l.d, "held", "dead", "waits")
		one, _, _ := l.take(1, 60_000)
		two, _, _ := l.take(1, 60_000)
		l.settle("bury", "why", two...)
		held, dead = one[0], two[0]
		first = l.pack(d, "a")
		l.put(first, now-9, "none", now-8, l.pack(bc, "b"), now)
		plain.put(plain.pack(d, "c"), now)
	}
	given()
	find, settle, ofDead := []string{n.TimeoutSet}, []string{l.names.Leases, l.names.Bodies, l.names.Counts, l.names.Dead, l.d}, []string{l.names.Dead, l.names.Bodies, l.names.Counts, l.d}
	unlist := []string{n.TimeoutSet, n.Pending, u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1]}
	transfer := []any{now, 100, "dLc0"}
	type refusal struct {
		script  scripts.Script
		keys    []string
		args    []any
		without string // the right to a command
		text    string // the key that is one
		says    string
	}
	var all []refusal
	for _, c := range []struct {
		script scripts.Script
		keys   []string
		args   []any
		writes string
	}{
		{scripts.Transfer(), l.transferKeys(), transfer, "zadd rpush llen zcard lrem zrem srem"},
		{scripts.Transfer(), l.transferKeys()[:4], transfer, "zadd rpush llen zcard lrem zrem"},
		{scripts.Transfer(), plain.transferKeys()[:4], transfer, "rpush llen lrem zrem"},
		{scripts.Unlist(), unlist, []any{"a", now, 100, 60_000, 60_000}, "rename sadd rpush persist pexpire unlink hset hmget"},
		{scripts.Unlist(), unlist, []any{"a", "", 100, 60_000, 60_000}, "rename persist pexpire unlink hset"},
		{scripts.Take(), l.keys(), []any{1, 1000, "x", 0, 0}, "hincrby zadd hset hdel zrem ltrim"},
		{scripts.Settle(), settle, []any{"ack", "", held.ID, 1}, "hdel zrem"},
		{scripts.Settle(), settle, []any{"retry", "1", held.ID, 1}, "zrem hset zadd"},
		{scripts.Settle(), settle, []any{"extend", "1", held.ID, 1}, "zrem zadd"},
		{scripts.Settle(), settle, []any{"bury", "", held.ID, 1}, "zrem hset zadd"},
		{scripts.Settle(), settle, []any{"release", "", held.ID, 1}, "zrem hdel lpush"},
		{scripts.Dead(), ofDead, []any{"replay", dead.ID}, "zrem hdel rpush"},
		{scripts.Cancel(), []string{n.TimeoutSet, n.Pending, u.Unlisted[0], u.Unlisted[1], u.Leaving, u.Next}, nil, "zrem lrem srem zadd rpush"},
	} {
		for command := range strings.FieldsSeq(c.writes) {
			all = append(all, refusal{c.script, c.keys, c.args, command, "", ""})
		}
	}
	for _, key := range l.transferKeys()[:4] {
		all = append(all, refusal{scripts.Transfer(), l.transferKeys(), transfer, "", key, "WRONGTYPE"})
	}
	all = append(all, refusal{scripts.Take(), l.keys(), []any{1, 1000, "x", 0, 1}, "", l.names.Counts, "WRONGTYPE"},
		refusal{scripts.Find(), find, []any{"dLc0", "", 0, "v"}, "", n.TimeoutSet, "WRONGTYPE"},
		refusal{scripts.Find(), find, []any{"none", "", 0, "v"}, "", "", "expected dLc0 or Bc0Lc0"},
		refusal{scripts.Settle(), settle, []any{"keep", "", held.ID, 1}, "", "", "expected ack, extend, retry, bury or release"},
		refusal{scripts.Transfer(), l.transferKeys(), []any{now, 100, "dLc1"}, "", "", "expected dLc0 or Bc0Lc0"},
		refusal{scripts.Transfer(), l.transferKeys(), []any{now, "1.5", "dLc0"}, "", "", "not an integer"},
		refusal{scripts.Transfer(), l.transferKeys(), []any{"soon", 100, "dLc0"}, "", "", "not a float"})
	for _, limit := range []any{0, -1, 10_001, "x"} {
		all = append(all, refusal{scripts.Transfer(), l.transferKeys(), []any{now, limit, "dLc0"}, "", "", "expected a limit"})
	}
	for _, r := range all {
		given()
		switch r.script.Name { // the ids are new
		case "settle":
			r.args = []any{r.args[0], r.args[1], held.ID, 1}
		case "dead":
			r.args = []any{r.args[0], dead.ID}
		case "unlist": // before a second step the first, else nothing by a count of 0
			_, _ = l.try(r.script, r.keys, "a", now, map[any]int{"": 1}[r.args[1]], 60_000, 60_000)
		case "transfer": // needs SREM for what is unlisted
			l.do("SADD", u.Unlisted[0], "none")
		case "cancel":
			r.args = []any{now - 9, first[:8], now, now, "dLc0", n.Channel, first[:8]}
		}
		by := l.bundle
		if r.text != "" {
			l.do("SET", r.text, "a string")
		}
		if r.without != "" {
			by = l.restricted(r.without)
		}
		before := l.dump()
		_, err := by.try(r.script, r.keys, r.args...)
		require.ErrorContains(t, err, r.says, "%+v", r)
		require.NotEqual(t, int64(-1), l.do("PTTL", u.Pass), "%+v", r)
		after := l.dump()
		for _, key := range []string{l.quarantine, u.Pass, u.Next, u.Leaving} {
			if r.without != "" {
				delete(after, key)
				delete(before, key)
			}
		}
		require.Equal(t, before, after, "%+v", r)
		if old := strings.ReplaceAll(r.script.Body, "redis.acl_check_cmd", "nil"); r.without != "" && r.script.Name != "unlist" { // before Redis 7 it may end half-way
			_, _ = by.try(scripts.Script{Body: old}, r.keys, r.args...)
			require.True(t, !map[string]bool{"transfer": true, "cancel": true, "take": true}[r.script.Name] || fmt.Sprint(before) == fmt.Sprint(l.dump()), "changed: %+v", r)
			require.GreaterOrEqual(t, l.do("ZCARD", l.names.Leases).(int64)+l.do("ZCARD", l.names.Dead).(int64)+l.do("LLEN", l.d).(int64), int64(3), "lost: %+v", r)
		}
	}
	l.do("CONFIG", "SET", "maxmemory", 1)
	before := l.dump()
	_, err := l.try(scripts.Transfer(), l.transferKeys(), transfer...)
	require.ErrorContains(t, err, "OOM")
	require.Equal(t, before, l.dump())
}
