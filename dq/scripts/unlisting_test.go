package scripts_test

import (
	"fmt"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func (b *bundle) survey(now int64, cost float64, least int) scripts.Surveyed {
	b.t.Helper()
	n, u := b.names, scripts.UnlistingOf(b.names.Destination)
	reply, err := b.run(scripts.Survey(), []string{n.TimeoutSet, n.Pending, u.State, u.Pass, u.Unlisted[0], u.Unlisted[1]}, now, cost, least)
	require.NoError(b.t, err)
	found, err := scripts.ReadSurveyed(reply)
	require.NoError(b.t, err)
	return found
}

// unlistAll makes one pass.
func (b *bundle) unlistAll(horizon int64) {
	b.t.Helper()
	for stage := scripts.UnlistMore; stage != scripts.UnlistDone; {
		var err error
		stage, _, err = scripts.ReadUnlisted(b.unlist("one", fmt.Sprint(horizon), 10_000))
		require.NoError(b.t, err)
		require.Contains(b.t, []scripts.Stage{scripts.UnlistMore, scripts.UnlistDone}, stage)
	}
}

func (b *bundle) unlist(token, horizon string, count int) any {
	b.t.Helper()
	n, u := b.names, scripts.UnlistingOf(b.names.Destination)
	reply, err := b.run(scripts.Unlist(), []string{
		n.TimeoutSet, n.Pending, u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1],
	}, token, horizon, count, 60_000, 3_600_000)
	require.NoError(b.t, err)
	return reply
}

func TestSurvey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, scripts.Surveyed{Window: 1000}, b.survey(now, 3, 1000), "nothing there")
	const n = 40_000
	_, err := b.redis.Pipelined(b.ctx, func(p goredis.Pipeliner) error {
		for i := range n { // the first half is due last
			member := b.pack(bc, fmt.Sprint(i))
			p.Do(b.ctx, "ZADD", b.names.TimeoutSet, now+(i+n/2)%n, member)
			p.Do(b.ctx, "RPUSH", b.names.Pending, member)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, scripts.Surveyed{Length: n, Window: 1200, Due: 1201, Seen: 32, Far: 32}, b.survey(now, 3, 1000))
	b.do("ZREMRANGEBYSCORE", b.names.TimeoutSet, now, now+n/2-1)
	require.Zero(t, b.survey(now+n/2, 3, 1000).Far, "those at the head of the list")

	require.Equal(t, scripts.Surveyed{Length: n, Window: 30_000}, b.survey(now, 300, n+1), "no more than its length")

	b.unlistAll(now + n/2 + 99)
	require.Equal(t,
		scripts.Surveyed{Length: n - 100, Covered: now + n/2 + 99, Unlisted: true, Window: 1197, Due: 1098, Seen: 32},
		b.survey(now+n/2, 3, 1000))
	b.unlist("other", fmt.Sprint(now+n), 10)
	require.True(t, b.survey(now, 3, 1000).Passing)
}

// A pass keeps the time to live of the list, and what it made has one.
func TestUnlistKeepsTimesToLive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := scripts.UnlistingOf("orders")
	b.put(b.pack(bc, "soon"), now)
	b.put(b.pack(bc, "later"), now+1000)
	b.do("PEXPIRE", b.names.Pending, 500_000)
	b.do("PEXPIRE", b.names.TimeoutSet, 500_000)
	b.unlist("a", fmt.Sprint(now), 1)
	for _, key := range []string{u.Pass, u.Leaving} {
		require.InDelta(t, 60_000, b.do("PTTL", key), 5000, key)
	}
	b.unlist("a", "", 10)
	require.Equal(t, []string{"later"}, values(b.pending()))
	require.InDelta(t, 500_000, b.do("PTTL", b.names.Pending), 5000)
	for _, key := range []string{u.State, u.Unlisted[0]} {
		require.InDelta(t, 3_600_000, b.do("PTTL", key), 5000, key)
	}
	require.Zero(t, b.redis.Exists(b.ctx, u.Pass, u.Next, u.Leaving).Val())
}

// A repair finds what was unlisted, and does not take it for delivered.
func TestARepairKnowsWhatWasUnlisted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := scripts.UnlistingOf("orders")
	b.put(b.pack(bc, "1"), now)
	b.put(b.pack(bc, "2"), now+1)
	b.unlistAll(now + 1)
	b.put(b.pack(d, "foreign"), now)
	require.ErrorContains(t, b.redissonTransfer(bc, now), "unpack")
	keys := append(b.transferKeys(), u.State, u.Unlisted[0], u.Unlisted[1], u.Leaving)
	_, err := b.run(scripts.Transfer(), keys, now+1, 100, bc.String(), now)
	require.NoError(t, err)
	require.Subset(t, b.delivered(), []string{"1", "2", "foreign"})
	require.Empty(t, b.timed())
	require.Empty(t, b.pending())
}

// A user who may not do all that a pass does is told before anything was done.
func TestUnlistWithoutTheRight(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"rename", "sadd", "rpush", "persist", "pexpire", "unlink", "hset"} {
		t.Run(command, func(t *testing.T) {
			b := setup(t)
			b.put(b.pack(d, "a"), now)
			before := b.dump()
			n, u := b.names, scripts.UnlistingOf("orders")
			_, err := b.restricted(command).run(scripts.Unlist(), []string{
				n.TimeoutSet, n.Pending, u.State, u.Pass, u.Next, u.Leaving, u.Unlisted[0], u.Unlisted[1],
			}, "a", now, 100, 60_000, 60_000)
			require.Error(t, err)
			after := b.dump()
			for _, key := range []string{u.Pass, u.Next, u.Leaving} {
				delete(after, key)
			}
			require.Equal(t, before, after)
		})
	}
}

func TestUnlistingOf(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"orders", "q{a}b", "{orders}"} {
		for _, key := range scripts.UnlistingOf(queue).All() {
			require.Equal(t, wire.Slot(wire.NamesOf(queue).Pending), wire.Slot(key))
			_, ok := wire.DestinationOf(key)
			require.False(t, ok, "%s is no queue of its own", key)
		}
	}
}

func TestReadUnlistingReplies(t *testing.T) {
	t.Parallel()
	found, err := scripts.ReadSurveyed([]any{int64(9), "7", int64(0), int64(2), int64(1000), int64(3), int64(2), int64(1)})
	require.NoError(t, err)
	require.Equal(t, scripts.Surveyed{Length: 9, Covered: 7, Unlisted: true, Window: 1000, Due: 3, Seen: 2, Far: 1}, found)
	for _, reply := range []any{
		nil, []any{}, []any{int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1)},
		[]any{int64(9), "7.5", int64(0), int64(2), int64(1000), int64(3), int64(2), int64(1)},
		[]any{int64(9), nil, int64(0), "2", int64(1000), int64(3), int64(2), int64(1)},
	} {
		_, err := scripts.ReadSurveyed(reply)
		require.ErrorContains(t, err, "script survey: expected")
	}
	stage, n, err := scripts.ReadUnlisted([]any{"done", int64(3), int64(9)})
	require.NoError(t, err)
	require.Equal(t, scripts.UnlistDone, stage)
	require.Equal(t, 3, n)
	for _, reply := range []any{nil, []any{}, []any{"else"}, []any{"more"}, []any{"done", "3", int64(9)}, []any{int64(3)}} {
		_, _, err := scripts.ReadUnlisted(reply)
		require.ErrorContains(t, err, "script unlist: expected")
	}
}
