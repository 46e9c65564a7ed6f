package migrate_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// mixed fills the queue with anything that a queue may hold.
func (b *bundle) mixed(n int) {
	scores := []string{"1", "1", "1900000000000", "-5", "0.1", "1900000000000.25", "-0.3333333333333333", "9007199254740993", "inf", "-inf"}
	for range n {
		value := make([]byte, b.random.IntN(40)*b.random.IntN(2))
		for i := range value {
			value[i] = byte(b.random.Uint32())
		}
		layout := []wire.Layout{dLc0, bc0Lc0}[b.random.IntN(2)]
		member := b.member(layout, []int{wire.LengthSize, wire.LengthSize, wire.WindowsLengthSize}[b.random.IntN(3)], value)
		if b.random.IntN(10) == 0 {
			member = fmt.Sprintf("unreadable %d", b.random.Uint64())
		}
		score := scores[b.random.IntN(len(scores))]
		if b.random.IntN(3) == 0 {
			score = strconv.FormatFloat(math.Float64frombits(b.random.Uint64()&^(1<<62)), 'g', -1, 64)
		}
		where := b.random.IntN(8)
		if where != 0 {
			b.timed(member, score)
		}
		if where != 1 {
			b.listed(member)
		}
		if where == 2 {
			b.listed(member) // as an old release does after a time-out
		}
	}
}

// Whatever a queue holds, it is there with its bytes after a migration, and after one back.
func TestEverythingSurvivesThereAndBack(t *testing.T) {
	b := setup(t, 1)
	for seed := range 30 {
		require.NoError(t, b.client.FlushAll(b.ctx).Err())
		b.mixed(20 + 20*seed)
		before := b.state()
		b.run(migrate.Options{To: bc0Lc0, DryRun: true})
		require.Equal(t, before, b.state(), "a dry run changes nothing")

		there := b.run(migrate.Options{To: bc0Lc0})
		require.Equal(t, before.in(bc0Lc0), b.state(), "round %d", seed)
		require.Zero(t, there.After.Members+there.After.Entries)
		require.Equal(t, there.Before.Ghosts, there.After.Ghosts)
		require.Equal(t, there.Before.Orphans, there.After.Orphans)
		require.Zero(t, b.run(migrate.Options{To: bc0Lc0}).Done.Rewritten, "a second run finds nothing")

		b.run(migrate.Options{To: dLc0})
		require.Equal(t, before.in(dLc0), b.state(), "round %d", seed)
	}
}

func TestMembersOfOneLayoutComeBackByteForByte(t *testing.T) {
	b := setup(t, 2)
	b.fill(1000, dLc0)
	before := b.state()
	done := b.run(migrate.Options{To: bc0Lc0})
	require.Equal(t, 1000, done.Done.Rewritten)
	require.Empty(t, done.After.Left())
	require.NotEqual(t, before, b.state())
	b.run(migrate.Options{To: dLc0})
	require.Equal(t, before, b.state())
}

// A repair leaves a queue without anything odd, and drops nothing.
func TestRepairKeepsAll(t *testing.T) {
	b := setup(t, 3)
	for seed := range 20 {
		require.NoError(t, b.client.FlushAll(b.ctx).Err())
		b.mixed(20 + 20*seed)
		before := b.state()
		done := b.run(migrate.Options{To: bc0Lc0, Repair: true})
		after := b.state()
		require.Empty(t, done.After.Left())

		kept := after.in(bc0Lc0).Set
		for member, score := range after.Quarantine {
			require.NotContains(t, kept, member)
			kept[member] = score
		}
		require.Equal(t, before.in(bc0Lc0).Set, kept, "each member of the set is there or set aside, with its due time")

		var listed, ghosts []string
		for _, entry := range before.List {
			_, timed := before.Set[entry]
			switch _, aside := after.Quarantine[entry]; {
			case !timed:
				ghosts = append(ghosts, entry)
			case !aside:
				listed = append(listed, in(entry, bc0Lc0))
			}
		}
		require.Equal(t, listed, after.List[:len(listed)], "the order of the list stays")
		orphans := after.List[len(listed):]
		require.Len(t, orphans, done.Done.Relisted)
		require.True(t, slices.IsSortedFunc(orphans, func(x, y string) int {
			return cmpScores(t, after.Set[x], after.Set[y])
		}), "orphans are listed in order of due time")
		for _, ghost := range ghosts {
			require.Contains(t, after.Ghosts, ghost)
		}
	}
}

func cmpScores(t *testing.T, x, y string) int {
	a, err := strconv.ParseFloat(x, 64)
	require.NoError(t, err)
	b, err := strconv.ParseFloat(y, 64)
	require.NoError(t, err)
	return cmp.Compare(a, b)
}

// Two members that would become one stay two.
func TestClashesAreLeft(t *testing.T) {
	b := setup(t, 4)
	old := b.member(dLc0, wire.LengthSize, []byte("x"))
	for _, member := range []string{old, in(old, bc0Lc0)} {
		b.timed(member, "7")
		b.listed(member)
	}
	unlisted := b.member(dLc0, wire.LengthSize, []byte("y"))
	b.timed(unlisted, "8")
	b.timed(in(unlisted, bc0Lc0), "9")
	before := b.state()
	done := b.run(migrate.Options{To: bc0Lc0})
	require.Equal(t, before, b.state())
	require.Equal(t, "2 members of the other layout, 2 orphans", done.After.Left())
}

// The expiry of the keys stays, also where a key has one member alone.
func TestExpiryStays(t *testing.T) {
	b := setup(t, 5)
	b.fill(1, dLc0)
	for _, key := range []string{b.names.TimeoutSet, b.names.Pending} {
		require.NoError(t, b.client.Expire(b.ctx, key, time.Hour).Err())
	}
	b.run(migrate.Options{To: bc0Lc0})
	for _, key := range []string{b.names.TimeoutSet, b.names.Pending} {
		require.Greater(t, b.client.TTL(b.ctx, key).Val(), 50*time.Minute)
	}
}

func TestRefusesWhileSomebodySubscribes(t *testing.T) {
	b := setup(t, 6)
	b.fill(10, dLc0)
	before := b.state()
	subscription := b.client.Subscribe(b.ctx, b.names.Channel)
	defer subscription.Close()
	_, err := subscription.Receive(b.ctx)
	require.NoError(t, err)

	_, err = migrate.Run(b.ctx, redis.On(b.client), "orders", migrate.Options{To: bc0Lc0})
	var subscribed *migrate.SubscribedError
	require.True(t, errors.As(err, &subscribed), "%v", err)
	require.Equal(t, 1, subscribed.Count)
	require.Equal(t, before, b.state())

	dry := b.run(migrate.Options{To: bc0Lc0, DryRun: true})
	require.Equal(t, 1, dry.Subscribers.Count)
	require.Contains(t, text(t, dry), "without --dry-run this would refuse: subscribers of "+b.names.Channel+": 1")
	require.Empty(t, b.run(migrate.Options{To: bc0Lc0, DryRun: true, Force: true}).Refusal)
	require.Equal(t, 10, b.run(migrate.Options{To: bc0Lc0, Force: true}).Done.Rewritten)
}

// A server out of memory refuses before anything is changed.
func TestNothingHappensHalfway(t *testing.T) {
	b := setup(t, 7)
	b.mixed(200)
	before := b.state()
	require.NoError(t, b.client.ConfigSet(b.ctx, "maxmemory", "1").Err())
	_, err := migrate.Run(b.ctx, redis.On(b.client), "orders", migrate.Options{To: bc0Lc0, Repair: true})
	require.ErrorContains(t, err, "OOM")
	require.NoError(t, b.client.ConfigSet(b.ctx, "maxmemory", "0").Err())
	require.Equal(t, before, b.state())

	for _, right := range []string{"zadd", "zrem", "lset", "lrem", "lpush"} {
		require.NoError(t, b.client.Do(b.ctx, "ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "&*", "+@all", "-"+right).Err())
		limited := b.as("limited")
		_, err := migrate.Run(b.ctx, redis.On(limited), "orders", migrate.Options{To: bc0Lc0, Repair: true})
		require.Error(t, err, "without %s", right)
		require.Equal(t, before, b.state(), "without %s", right)
	}
}

func TestCluster(t *testing.T) {
	cluster := redistest.Cluster(t, 2, 0)
	client := redistest.Client(cluster)
	t.Cleanup(func() { client.Close() })
	b := with(t, client, 8)
	b.fill(300, dLc0)
	before := b.state()
	done := b.run(migrate.Options{To: bc0Lc0, Cluster: true, Repair: true})
	require.Equal(t, 300, done.Done.Rewritten)
	require.Equal(t, before.in(bc0Lc0), b.state())

	_, err := migrate.Run(b.ctx, redis.On(client), "a{b", migrate.Options{To: bc0Lc0, Cluster: true})
	require.ErrorContains(t, err, "a cluster runs no script on both")
}

func TestNamesInOneSlot(t *testing.T) {
	for _, queue := range []string{"orders", "{orders}", "q{a}b"} {
		slot := wire.Slot(wire.NamesOf(queue).TimeoutSet)
		require.Equal(t, slot, wire.Slot(migrate.GhostsKey(queue)))
		require.Equal(t, slot, wire.Slot(scripts.Quarantine(queue)))
		_, queueKey := wire.DestinationOf(migrate.GhostsKey(queue))
		require.False(t, queueKey, "no other tool takes it for a queue")
	}
}
