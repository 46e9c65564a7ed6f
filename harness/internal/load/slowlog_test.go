package load

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestSlowCommandsSince(t *testing.T) {
	log := func(next, kept int64) usage { return usage{slow: next, kept: kept} }
	for name, tc := range map[string]struct {
		before, after usages
		want          int64
	}{
		"two more":                        {usages{"": log(7, 3)}, usages{"": log(9, 5)}, 2},
		"two more in a full log":          {usages{"": log(500, 128)}, usages{"": log(502, 128)}, 2},
		"the first two":                   {usages{"": log(0, 0)}, usages{"": log(2, 2)}, 2},
		"two more after it was emptied":   {usages{"": log(0, 0)}, usages{"": log(90, 2)}, 2},
		"one on each of two masters":      {usages{"a": log(3, 3), "b": log(5, 5)}, usages{"a": log(4, 4), "b": log(6, 6)}, 2},
		"a server that does not tell":     {usages{"": log(unread, 0)}, usages{"": log(unread, 0)}, unread},
		"a server that told at first":     {usages{"": log(0, 0)}, usages{"": log(unread, 0)}, unread},
		"a user whose rights came midway": {usages{"": log(unread, 0), "b": log(3, 3)}, usages{"": log(0, 0), "b": log(9, 9)}, unread},
	} {
		done, err := tc.after.since(tc.before)
		require.NoError(t, err)
		require.Equal(t, tc.want, max(done.total().slow, unread), name)
	}
}

func TestSlowlogOfAServer(t *testing.T) {
	client := redistest.Client(redistest.Redis(t))
	defer client.Close()
	conn, ctx := redis.On(client), t.Context()
	before, _ := slowlog(ctx, conn)
	require.NoError(t, client.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err()) // notes itself too
	require.NoError(t, client.Echo(ctx, "slow").Err())
	require.NoError(t, client.ConfigSet(ctx, "slowlog-log-slower-than", "-1").Err())
	after, _ := slowlog(ctx, conn)
	require.EqualValues(t, 2, after-before)

	// A run goes on without it where the user may not look.
	require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "-slowlog").Err())
	after, _ = slowlog(ctx, conn)
	require.EqualValues(t, unread, after)
}
