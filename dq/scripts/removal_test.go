package scripts_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

func (b *bundle) takeOut(members ...any) []bool {
	b.t.Helper()
	reply, err := b.run(scripts.TakeOut(), []string{b.names.Pending, b.names.TimeoutSet}, members...)
	require.NoError(b.t, err)
	taken, err := scripts.ReadTaken(reply)
	require.NoError(b.t, err)
	return taken
}

func TestTakeOut(t *testing.T) {
	b := setup(t)
	a, c, stays := b.pack(d, "a"), b.pack(bc, "c"), b.pack(d, "a")
	ghost, orphan, binary := b.pack(d, "ghost"), b.pack(bc, "orphan"), "\x00\xff no member at all"
	for _, m := range []string{a, stays, c, binary} {
		b.put(m, now)
	}
	b.do("RPUSH", b.names.Pending, ghost)
	b.do("ZADD", b.names.TimeoutSet, now, orphan)

	require.Equal(t, []bool{true, false, true, true, false, true, false}, b.takeOut(c, "unknown", a, ghost, orphan, binary, c))
	require.Equal(t, []string{stays}, b.pending())
	require.ElementsMatch(t, []string{stays, orphan}, b.timed(), "what is in T alone may be unlisted, and comes")
	require.Empty(t, b.takeOut())
}

// A member twice in Q gives one copy for each time it is named, from the head.
func TestTakeOutOfAResentOffer(t *testing.T) {
	b := setup(t)
	again, between := b.pack(d, "again"), b.pack(d, "between")
	b.put(again, now)
	b.put(between, now)
	b.put(again, now)
	require.Equal(t, []bool{true}, b.takeOut(again))
	require.Equal(t, []string{between, again}, b.pending())
	require.Equal(t, []string{between}, b.timed())
	require.Equal(t, []bool{true, false}, b.takeOut(again, again))
}

// A value that a failing transfer has pushed is not the caller's.
func TestTakeOutAfterAFailedTransfer(t *testing.T) {
	b := setup(t)
	pushed, foreign := b.pack(d, "pushed"), b.pack(bc, "x")
	b.put(pushed, now-1)
	b.put(foreign, now)
	require.Error(t, b.redissonTransfer(d, now))
	require.Equal(t, []bool{false}, b.takeOut(pushed))
	require.Equal(t, []string{pushed, foreign}, b.timed())
}

func (b *bundle) moveOut(other, member, value string) any {
	b.t.Helper()
	reply, err := b.run(scripts.MoveOut(), []string{b.names.Pending, b.names.TimeoutSet, other}, member, value)
	require.NoError(b.t, err)
	return reply
}

func TestMoveOut(t *testing.T) {
	b := setup(t)
	a, c, orphan := b.pack(d, "a"), b.pack(bc, "c"), b.pack(d, "orphan")
	b.put(a, now)
	b.put(c, now)
	b.put(a, now) // sent again
	b.do("ZADD", b.names.TimeoutSet, now, orphan)
	b.do("RPUSH", "{orders}:other", "was there")

	require.Equal(t, int64(0), b.moveOut("{orders}:other", orphan, "orphan"))
	require.Equal(t, int64(0), b.moveOut("{orders}:other", "unknown", "unknown"))
	require.Equal(t, int64(1), b.moveOut("{orders}:other", a, "a"))
	require.Equal(t, []string{a, c}, b.pending(), "the copy at the tail goes")
	require.ElementsMatch(t, []string{c, orphan}, b.timed())
	require.Equal(t, int64(1), b.moveOut("{orders}:other", c, "\x00c"))
	require.Equal(t, []string{"\x00c", "a", "was there"}, b.list("{orders}:other"))
	require.Equal(t, []string{orphan}, b.timed())
}

// Of one layout alone, the scripts do as Redisson's do.
func TestRemovalsAgreeWithRedisson(t *testing.T) {
	b := setup(t)
	for _, own := range layouts {
		ours, theirs := b.queue("ours"+own.String()), b.queue("theirs"+own.String())
		for i := range 4 {
			m := b.pack(own, fmt.Sprint(i))
			for _, q := range []*bundle{ours, theirs} {
				q.put(m, now-i)
			}
		}
		_, err := theirs.redisson(own, wire.ScriptPoll, []string{theirs.names.Pending, theirs.names.TimeoutSet})
		require.NoError(t, err)
		ours.takeOut(ours.pending()[0])
		_, err = theirs.redisson(own, wire.ScriptRemove, []string{theirs.names.Pending, theirs.names.TimeoutSet}, "2")
		require.NoError(t, err)
		ours.takeOut(ours.pending()[1])
		_, err = theirs.redisson(own, wire.ScriptPollLastAndOfferFirstTo,
			[]string{theirs.names.Pending, theirs.names.TimeoutSet, "to" + theirs.names.Destination})
		require.NoError(t, err)
		ours.moveOut("to"+ours.names.Destination, ours.pending()[1], "3")

		require.Len(t, ours.pending(), 1)
		require.Equal(t, theirs.pending(), ours.pending())
		require.Equal(t, theirs.timed(), ours.timed())
		require.Equal(t, theirs.list("to"+theirs.names.Destination), ours.list("to"+ours.names.Destination))
	}
}

func TestRemovalsWriteNothingOnAWrongType(t *testing.T) {
	b := setup(t)
	other := "{orders}:other"
	for _, row := range []struct {
		script scripts.Script
		keys   []string
	}{
		{scripts.TakeOut(), []string{b.names.Pending, b.names.TimeoutSet}},
		{scripts.MoveOut(), []string{b.names.Pending, b.names.TimeoutSet, other}},
	} {
		for _, key := range row.keys {
			b.do("FLUSHALL")
			a := b.pack(d, "a")
			b.put(a, now)
			b.do("SET", key, "a string")
			before := b.dump()
			_, err := b.run(row.script, row.keys, a, "a")
			require.True(t, redis.HasErrorPrefix(err, "WRONGTYPE"), "%v", err)
			require.Equal(t, before, b.dump())
		}
	}
}
