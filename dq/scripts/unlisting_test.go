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
