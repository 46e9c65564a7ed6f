package scripts_test

import (
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

func (l *lease) take(count, ms int) (all []scripts.HandedOut, next int64, more bool) {
	l.t.Helper()
	l.stem++
	reply, err := l.run(scripts.Take(), []string{l.d, l.names.Staged, l.names.Leases, l.names.Bodies, l.names.Counts}, count, ms, strconv.Itoa(l.stem)+"-")
	require.NoError(l.t, err)
	all, next, more, err = scripts.ReadHandedOut(reply)
	require.NoError(l.t, err)
	return all, next, more
}

func (l *lease) settle(how, arg string, held ...scripts.HandedOut) (answers []any) {
	l.t.Helper()
	args := []any{how, arg}
	for _, h := range held {
		args = append(args, h.ID, h.Delivery)
	}
	reply, err := l.run(scripts.Settle(), []string{l.names.Leases, l.names.Bodies, l.names.Counts, l.names.Dead, l.d}, args...)
	require.NoError(l.t, err)
	return reply.([]any)
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
	keys, err := l.redis.Keys(l.ctx, "*").Result()
	require.NoError(t, err)
	require.Empty(t, keys)
}

// What its holder did not settle is handed out alone, and an earlier holder can do nothing.
func TestTakeHandsOutAloneWhatWasLost(t *testing.T) {
	t.Parallel()
	l := leases(t)
	l.do("RPUSH", l.d, "a", "b")
	first, _, _ := l.take(2, 0)
	l.do("RPUSH", l.d, "c")
	lost, _, _ := l.take(10, 60_000)
	require.Equal(t, []string{"a"}, valuesOf(lost))
	require.True(t, lost[0].Lost)
	require.EqualValues(t, 2, lost[0].Delivery)
	require.Equal(t, []any{int64(-1)}, l.settle("extend", "1000", first[0]))
	require.Equal(t, []any{int64(-1)}, l.settle("ack", "", first[0]))

	require.Equal(t, []any{int64(1)}, l.settle("retry", "50", lost...))
	require.Equal(t, []any{int64(0)}, l.settle("extend", "1000", lost...), "it waits")
	again, _, _ := l.take(1, 60_000)
	require.Equal(t, []string{"b"}, valuesOf(again))
	require.Equal(t, []any{int64(1)}, l.settle("ack", "", again...))
	require.Eventually(t, func() bool {
		return l.redis.ZCount(l.ctx, l.names.Leases, "-inf", "("+strconv.FormatInt(l.redis.Time(l.ctx).Val().UnixMilli(), 10)).Val() == 1
	},
		5*time.Second, time.Millisecond)
	again, _, _ = l.take(10, 60_000)
	require.Equal(t, []string{"a", "c"}, valuesOf(again), "a retry is handed out with others")
	require.False(t, again[0].Lost)
	require.EqualValues(t, 3, again[0].Delivery)
}

func TestSettleBuriesAndGivesBack(t *testing.T) {
	t.Parallel()
	l := leases(t)
	l.do("RPUSH", l.d, "bad", "good", "worse")
	got, _, _ := l.take(3, 60_000)
	require.Equal(t, []any{int64(1), int64(1)}, l.settle("bury", "why", got[0], got[2]))
	require.Equal(t, []any{int64(1)}, l.settle("release", "", got[1]))
	require.Equal(t, []string{"good"}, l.redis.LRange(l.ctx, l.d, 0, -1).Val())
	require.Equal(t, "why", l.redis.HGet(l.ctx, l.names.Bodies, "r"+got[0].ID).Val())

	dead := []string{l.names.Dead, l.names.Bodies, l.names.Counts, l.d}
	n, err := l.run(scripts.Dead(), dead, "replay", got[0].ID, "unknown")
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	n, err = l.run(scripts.Dead(), dead, "drop", got[2].ID)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	require.Equal(t, []string{"good", "bad"}, l.redis.LRange(l.ctx, l.d, 0, -1).Val())
	require.Zero(t, l.redis.Exists(l.ctx, l.names.Dead, l.names.Bodies, l.names.Counts, l.names.Leases).Val())
}

// Nothing is written where a key is of another type.
func TestLeaseScriptsLookAtTheirKeysFirst(t *testing.T) {
	t.Parallel()
	l := leases(t)
	l.do("RPUSH", l.d, "v")
	l.do("SET", l.names.Counts, "text")
	_, err := l.run(scripts.Take(), []string{l.d, l.names.Staged, l.names.Leases, l.names.Bodies, l.names.Counts}, 1, 1000, "x")
	require.ErrorContains(t, err, "WRONGTYPE")
	require.EqualValues(t, 1, l.redis.LLen(l.ctx, l.d).Val())
}

func TestReadHandedOut(t *testing.T) {
	t.Parallel()
	for _, reply := range []any{
		nil, []any{}, []any{[]any{}, "1", int64(0)}, []any{[]any{[]any{"id"}}, int64(1), int64(0)},
		[]any{[]any{[]any{"id", "1", int64(0), "v"}}, int64(1), int64(0)},
	} {
		_, _, _, err := scripts.ReadHandedOut(reply)
		require.ErrorContains(t, err, "script take: expected")
	}
}
