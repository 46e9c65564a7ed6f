package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

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
	u, n := scripts.UnlistingOf("orders"), l.bundle.names
	var held, dead scripts.HandedOut
	given := func() {
		l.do("FLUSHALL")
		l.do("RPUSH", l.d, "held", "dead", "waits")
		one, _, _ := l.take(1, 60_000)
		two, _, _ := l.take(1, 60_000)
		l.settle("bury", "why", two...)
		held, dead = one[0], two[0]
		l.put(l.pack(d, "a"), now-9)
		l.put("none", now-8)
		l.put(l.pack(bc, "b"), now)
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
		{scripts.Unlist(), unlist, []any{"a", now, 100, 60_000, 60_000}, "rename sadd rpush persist pexpire unlink hset"},
		{scripts.Take(), l.keys(), []any{1, 1000, "x", 0, 0}, "hincrby zadd hset hdel zrem ltrim"},
		{scripts.Settle(), settle, []any{"ack", "", held.ID, 1}, "hdel zrem"},
		{scripts.Settle(), settle, []any{"retry", "1", held.ID, 1}, "zrem hset zadd"},
		{scripts.Settle(), settle, []any{"extend", "1", held.ID, 1}, "zrem zadd"},
		{scripts.Settle(), settle, []any{"bury", "", held.ID, 1}, "zrem hset zadd"},
		{scripts.Settle(), settle, []any{"release", "", held.ID, 1}, "zrem hdel lpush"},
		{scripts.Dead(), ofDead, []any{"replay", dead.ID}, "zrem hdel rpush"},
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
		}
		by := l.bundle
		if r.text != "" {
			l.do("SET", r.text, "a string")
		}
		if r.without != "" {
			by = l.restricted(r.without)
		}
		before := l.dump()
		_, err := by.run(r.script, r.keys, r.args...)
		require.ErrorContains(t, err, r.says, "%+v", r)
		after := l.dump()
		for _, key := range []string{l.quarantine, u.Pass, u.Next, u.Leaving} {
			if r.without != "" {
				delete(after, key)
			}
		}
		require.Equal(t, before, after, "%+v", r)
	}
	l.do("CONFIG", "SET", "maxmemory", 1)
	before := l.dump()
	_, err := l.run(scripts.Transfer(), l.transferKeys(), transfer...)
	require.ErrorContains(t, err, "OOM")
	require.Equal(t, before, l.dump())
}
