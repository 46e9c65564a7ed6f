package redistest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestClusterPromotesAReplicaOfAKilledMaster(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	set := redistest.Cluster(t, 3, 1)
	t.Logf("3+3 formed in %s", time.Since(begun))
	require.Len(t, set.Nodes(), 6)
	ctx := within(t, 30*time.Second)
	c := redistest.Client(set)
	defer c.Close()
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	require.NoError(t, c.Do(ctx, "wait", 1, 5000).Err())
	slot := wire.Slot("k")
	master, err := set.NodeOfKey(ctx, "k")
	require.NoError(t, err)
	replicas, err := set.ReplicasOf(ctx, master)
	require.NoError(t, err)
	require.Len(t, replicas, 1)

	killed := time.Now()
	require.NoError(t, master.Kill())
	promoted, err := set.WaitFailover(ctx, slot, master)
	require.NoError(t, err)
	t.Logf("promoted %s after the kill", time.Since(killed))
	require.Same(t, replicas[0], promoted)

	require.NoError(t, master.Restart(ctx))
	require.NoError(t, set.Settle(ctx))
	t.Logf("whole again %s after the kill", time.Since(killed))
	replicas, err = set.ReplicasOf(ctx, promoted)
	require.NoError(t, err)
	require.Equal(t, []*redis.Node{master}, replicas, "it comes back as a replica")
	require.Equal(t, "v", c.Get(ctx, "k").Val())

	require.NoError(t, set.Failover(ctx, master), "and may take its place back")
	require.NoError(t, set.Settle(ctx))
	owner, err := set.NodeOfSlot(ctx, slot)
	require.NoError(t, err)
	require.Same(t, master, owner)
}

func TestClusterMovesASlotInSteps(t *testing.T) {
	t.Parallel()
	set := redistest.Cluster(t, 2, 0, "--requirepass", "secret")
	ctx := within(t, 15*time.Second)
	c := redistest.Client(set)
	defer c.Close()
	for i := range 250 { // more than one batch
		require.NoError(t, c.Set(ctx, fmt.Sprintf("{q}%d", i), i, 0).Err())
	}
	slot := wire.Slot("{q}")
	from, err := set.NodeOfSlot(ctx, slot)
	require.NoError(t, err)
	to := set.Nodes()[0]
	if to == from {
		to = set.Nodes()[1]
	}

	_, err = set.BeginMove(ctx, slot, to, from)
	require.Error(t, err, "the slot is not there")
	move, err := set.BeginMove(ctx, slot, from, to)
	require.NoError(t, err)
	require.NoError(t, move.MigrateKeys(ctx, "{q}1", "{q}none"))
	require.Equal(t, "1", c.Get(ctx, "{q}1").Val(), "the client follows ASK")
	old := redistest.Client(from)
	defer old.Close()
	require.ErrorContains(t, old.Get(ctx, "{q}1").Err(), "ASK ")
	require.ErrorContains(t, old.MGet(ctx, "{q}1", "{q}2").Err(), "TRYAGAIN")
	owner, err := set.NodeOfSlot(ctx, slot)
	require.NoError(t, err)
	require.Same(t, from, owner, "the old master until the end")

	require.NoError(t, move.MigrateKeys(ctx))
	require.NoError(t, move.Finish(ctx))
	require.ErrorContains(t, old.Get(ctx, "{q}1").Err(), "MOVED ")
	owner, err = set.NodeOfSlot(ctx, slot)
	require.NoError(t, err)
	require.Same(t, to, owner)
	require.Equal(t, "249", c.Get(ctx, "{q}249").Val())

	require.NoError(t, set.MoveSlot(ctx, slot, to, from))
	require.Equal(t, "1", old.Get(ctx, "{q}1").Val())
	move, err = set.BeginMove(ctx, slot, from, to)
	require.NoError(t, err)
	require.NoError(t, move.Abort(ctx))
	require.NoError(t, set.Settle(ctx))
}

// within is the context of a test that ends by then.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
