package scripts_test

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
)

// lease runs the scripts of leases on the bundle's queue.
type lease struct {
	*bundle
	names scripts.LeaseNames
	d     string
	stem  int
}

func leases(t *testing.T) *lease {
	t.Helper()
	b := setup(t)
	return &lease{bundle: b, names: scripts.LeaseNamesOf(b.names.Destination), d: b.names.Destination}
}

// attempts is how many a message has.
const attempts = 4

func (l *lease) keys() []string {
	return []string{l.d, l.names.Staged, l.names.Leases, l.names.Bodies, l.names.Counts, l.names.Dead}
}

func (l *lease) take(count, ms int) (all []scripts.HandedOut, next int64, more bool) {
	l.t.Helper()
	l.stem++
	all, next, more, err := scripts.ReadHandedOut(l.run(scripts.Take(), l.keys(), count, ms, strconv.Itoa(l.stem)+"-", attempts, 1))
	require.NoError(l.t, err)
	return all, next, more
}

func (l *lease) settle(how, arg string, held ...scripts.HandedOut) (answers []any) {
	l.t.Helper()
	args := []any{how, arg}
	for _, h := range held {
		args = append(args, h.ID, h.Delivery)
	}
	return l.run(scripts.Settle(), []string{l.names.Leases, l.names.Bodies, l.names.Counts, l.names.Dead, l.d}, args...).([]any)
}

func valuesOf(all []scripts.HandedOut) (values []string) {
	for _, h := range all {
		values = append(values, string(h.Value))
	}
	return values
}

func TestTakeHandsOutInOrder(t *testing.T) {
	t.Parallel()
	l := leases(t)
	l.do("RPUSH", l.names.Staged, "staged")
	l.do("RPUSH", l.d, "a", "b", "c")
	got, next, more := l.take(3, 60_000)
	require.Equal(t, []string{"staged", "a", "b"}, valuesOf(got))
	require.True(t, more)
	require.EqualValues(t, -1, next, "as many as asked for: the next take comes at once")
	rest, next, more := l.take(10, 60_000)
	require.Equal(t, []string{"c"}, valuesOf(rest))
	require.InDelta(t, 60_000, next, 5_000)
	require.False(t, more)
	require.Equal(t, []any{int64(1), int64(1), int64(1), int64(1)}, l.settle("ack", "", append(got, rest...)...))
	require.Equal(t, []any{int64(0)}, l.settle("ack", "", rest...), "twice does no harm")
	got, next, more = l.take(10, 60_000)
	require.Empty(t, got)
	require.EqualValues(t, -1, next)
	require.False(t, more)
	require.Empty(t, must(l.redis.Keys(l.ctx, "*").Result()))
}

// A server that is out of memory lets messages end, go on and come.
func TestLeasesOutOfMemory(t *testing.T) {
	t.Parallel()
	l := leases(t)
	l.do("RPUSH", l.d, "ack", "retry", "bury", "release", "extend")
	l.do("CONFIG", "SET", "maxmemory", 1)
	got, _, _ := l.take(10, 60_000)
	require.Len(t, got, 5)
	for i, how := range []string{"ack", "retry", "bury", "release", "extend"} {
		require.Equal(t, []any{int64(1)}, l.settle(how, "0", got[i]))
	}
	require.EqualValues(t, 1, l.run(scripts.Dead(), []string{l.names.Dead, l.names.Bodies, l.names.Counts, l.d}, "replay", got[2].ID))
	require.Equal(t, []string{"release", "bury"}, l.redis.LRange(l.ctx, l.d, 0, -1).Val())
}

// A lease lasts as long as was asked for, though the server's clock is read in whole milliseconds.
func TestALeaseIsNotShorter(t *testing.T) {
	t.Parallel()
	l := leases(t)
	const ms = 5
	for i := range 20 {
		l.do("RPUSH", l.d, "v")
		from := l.redis.Time(l.ctx).Val()
		held, _, _ := l.take(1, ms)
		require.Len(t, held, 1)
		if i%2 == 1 {
			from = l.redis.Time(l.ctx).Val()
			require.Equal(t, []any{int64(1)}, l.settle("extend", strconv.Itoa(ms), held...))
		}
		again, _, _ := l.take(1, 60_000)
		for len(again) == 0 {
			again, _, _ = l.take(1, 60_000)
		}
		require.GreaterOrEqual(t, l.redis.Time(l.ctx).Val().Sub(from), ms*time.Millisecond)
		require.Equal(t, []any{int64(1)}, l.settle("ack", "", again...))
	}
}

// A user who may run Redisson's scripts should need few rights more, and a server of 5.0 know every command.
func TestScriptsUseFewCommands(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`(?:call|pcall|call_with_all|error_of)\('(\w+)'`)
	known := []string{"llen", "lpush", "lrem", "rpush", "zadd", "zcard", "zrange", "zrangebyscore", "zrem", "zscore"}
	leases := []string{"hdel", "hget", "hincrby", "hlen", "hmget", "hset", "lrange", "ltrim", "time"}
	besides := map[string][]string{
		"transfer": {"exists", "hget", "hlen", "lpos", "scard", "srem", "unlink"}, // of these lpos may be unknown, or forbidden
		"cancel":   {"lpos", "publish", "scard", "srem", "zcount"},                // here too
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
	moved := must(scripts.ReadTransferred([]any{nil, two, int64(3), one}))
	require.Equal(t, scripts.Transferred{OtherLayout: 2, Quarantined: 3, Stuck: true}, moved)
	require.Equal(t, scripts.Transferred{Next: "1.5"}, must(scripts.ReadTransferred("1.5")))
	at, found, more, err := scripts.ReadFound([]any{"7", one, "8", "id"})
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, scripts.Place{Score: "7", Seen: 1}, at)
	require.Equal(t, []string{"8", "id"}, found)
	_, _, more, err = scripts.ReadFound([]any{})
	require.NoError(t, err)
	require.False(t, more)
	surveyed := must(scripts.ReadSurveyed([]any{int64(9), int64(7), int64(0), two, int64(1000), int64(3), two, one}))
	require.Equal(t, scripts.Surveyed{Length: 9, Covered: 7, Unlisted: true, Window: 1000, Due: 3, Seen: 2, Far: 1}, surveyed)
	stage, n, err := scripts.ReadUnlisted([]any{"done", int64(3)})
	require.NoError(t, err)
	require.Equal(t, scripts.UnlistDone, stage)
	require.Equal(t, 3, n)
	for name, replies := range map[string][]any{
		"transfer": {one, []any{}, []any{1.5, one, one, one}, []any{nil, one, "1", one}, []any{nil, one, one}},
		"find":     {nil, []any{"7"}, []any{"7", "1"}, []any{"7", one, "8", two}},
		"survey":   {nil, []any{}, []any{one, "7", one, one, one, one, one, one}, []any{one, one, one, "2", one, one, two, one}},
		"unlist":   {nil, []any{}, []any{"else", one}, []any{"more"}, []any{"done", "3"}, []any{one, one}},
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
