package scripts_test

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func TestScripts(t *testing.T) {
	t.Parallel()
	var names []string
	for _, s := range scripts.All() {
		names = append(names, s.Name)
		sum := sha1.Sum([]byte(s.Body))
		require.Equal(t, hex.EncodeToString(sum[:]), s.SHA1)
		_, redisson := wire.ScriptBySHA1(s.SHA1)
		require.False(t, redisson)
	}
	require.Equal(t, []string{
		"transfer", "survey", "unlist", "find", "cancel", "guard", "take", "settle", "dead",
	}, names)
}

// A user who may run Redisson's scripts should need few rights more, and a server
// of 5.0 know every command.
func TestScriptsUseFewCommands(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?:call|pcall|call_with_all|error_of)\('(\w+)'`)
	known := []string{"llen", "lpush", "lrem", "rpush", "zadd", "zcard", "zrange", "zrangebyscore", "zrem", "zscore"}
	leases := []string{"hdel", "hget", "hincrby", "hlen", "hmget", "hset", "lrange", "ltrim", "time"}
	besides := map[string][]string{
		"transfer": {"exists", "hget", "hlen", "lpos", "scard", "srem"}, // of these lpos may be unknown, or forbidden
		"cancel":   {"lpos", "publish", "scard", "srem", "zcount"},      // here too
		"find":     {"zcount"},
		"survey":   {"exists", "hget", "hlen", "lrange", "zcount"},
		"unlist": {
			"exists", "hdel", "hget", "hlen", "hmget", "hset", "lindex", "lrange", "persist", "pexpire", "pttl", "rename",
			"sadd", "scard", "srem", "sscan", "unlink", "zcount",
		},
		"take": leases, "settle": leases, "dead": leases,
	}
	for _, s := range scripts.All() {
		for _, m := range call.FindAllStringSubmatch(s.Body, -1) {
			require.Contains(t, append(slices.Clone(known), besides[s.Name]...), m[1], s.Name)
		}
	}
}

func TestReadReplies(t *testing.T) {
	t.Parallel()
	one, two := int64(1), int64(2)
	moved, err := scripts.ReadTransferred([]any{nil, one, two, int64(3)})
	require.NoError(t, err)
	require.Equal(t, scripts.Transferred{Delivered: 1, OtherLayout: 2, Quarantined: 3}, moved)
	moved, err = scripts.ReadTransferred([]any{"-1.5", int64(0), int64(0), int64(0)})
	require.NoError(t, err)
	require.Equal(t, scripts.Transferred{Next: "-1.5"}, moved)
	at, found, more, err := scripts.ReadFound([]any{"7", one, "8", "id"})
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, scripts.Place{Score: "7", Seen: 1}, at)
	require.Equal(t, []string{"8", "id"}, found)
	_, _, more, err = scripts.ReadFound([]any{})
	require.NoError(t, err)
	require.False(t, more)
	surveyed, err := scripts.ReadSurveyed([]any{int64(9), "7", int64(0), two, int64(1000), int64(3), two, one})
	require.NoError(t, err)
	require.Equal(t, scripts.Surveyed{Length: 9, Covered: 7, Unlisted: true, Window: 1000, Due: 3, Seen: 2, Far: 1}, surveyed)
	stage, n, err := scripts.ReadUnlisted([]any{"done", int64(3), int64(9)})
	require.NoError(t, err)
	require.Equal(t, scripts.UnlistDone, stage)
	require.Equal(t, 3, n)
	for name, replies := range map[string][]any{
		"transfer": {nil, "OK", []any{}, []any{1.5, one, one, one}, []any{nil, one, "1", one}},
		"find":     {nil, []any{"7"}, []any{"7", "1"}, []any{"7", one, "8", two}},
		"survey":   {nil, []any{}, []any{one, one, one, one, one, one, one, one}, []any{one, "7.5", one, two, one, one, two, one}, []any{one, nil, one, "2", one, one, two, one}},
		"unlist":   {nil, []any{}, []any{"else"}, []any{"more"}, []any{"done", "3", int64(9)}, []any{int64(3)}},
		"take":     {nil, []any{}, []any{[]any{}, "1", one}, []any{[]any{[]any{"id"}}, one, one}, []any{[]any{[]any{"id", "1", one, "v"}}, one, one}},
	} {
		for _, reply := range replies {
			errs := map[string]error{}
			_, errs["transfer"] = scripts.ReadTransferred(reply)
			_, _, _, errs["find"] = scripts.ReadFound(reply)
			_, errs["survey"] = scripts.ReadSurveyed(reply)
			_, _, errs["unlist"] = scripts.ReadUnlisted(reply)
			_, _, _, errs["take"] = scripts.ReadHandedOut(reply)
			require.ErrorContains(t, errs[name], "script "+name+": expected", "%v", reply)
		}
	}
}
