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

// A server that is short of memory refuses the first write, and nothing after it.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(b.pack(bc, "other"), now-8)
	b.put("none", now-7)
	b.do("CONFIG", "SET", "maxmemory", 1)
	before := b.dump()

	_, err := b.run(scripts.Transfer(), b.transferKeys(), now, 100, d.String())
	require.ErrorContains(t, err, "OOM")
	require.Equal(t, before, b.dump())
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

// A user without the right to quarantine or to push is refused before anything
// that counts is written.
func TestWithoutTheRight(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"zadd", "rpush", "llen", "zcard"} {
		t.Run(command, func(t *testing.T) {
			b := setup(t)
			b.put(b.pack(d, "a"), now-9)
			b.put("none", now-8)
			before := b.dump()
			_, err := b.restricted(command).run(scripts.Transfer(), b.transferKeys(), now, 100, d.String())
			require.Error(t, err)
			after := b.dump()
			delete(after, b.quarantine)
			require.Equal(t, before, after)
			require.Equal(t, scripts.Transferred{Delivered: 1, Quarantined: 1}, b.transfer(now, 100, d))
			require.Len(t, b.set(b.quarantine), 1)
		})
	}
}
