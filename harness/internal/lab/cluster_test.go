package lab

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestClusterPromotesAReplicaOfAKilledMaster(t *testing.T) {
	t.Parallel()
	set := redistest.Cluster(t, 3, 1, "--cluster-node-timeout", "500")
	require.Len(t, set.Nodes(), 6)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c := redistest.Client(set)
	defer c.Close()
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())
	require.NoError(t, c.Do(ctx, "wait", 1, 5000).Err())
	slot := wire.Slot("k")
	master, err := set.NodeOfSlot(ctx, slot)
	require.NoError(t, err)
	replicas, err := set.ReplicasOf(ctx, master)
	require.NoError(t, err)
	require.Len(t, replicas, 1)

	require.NoError(t, master.Kill())
	promoted, err := set.WaitFailover(ctx, slot, master)
	require.NoError(t, err)
	require.Same(t, replicas[0], promoted)
	require.NoError(t, master.Restart(ctx))
	require.NoError(t, set.Settle(ctx))
	replicas, err = set.ReplicasOf(ctx, promoted)
	require.NoError(t, err)
	require.Equal(t, []*redis.Node{master}, replicas, "the old master is a replica")
	require.Equal(t, "v", c.Get(ctx, "k").Val())

	require.NoError(t, set.Failover(ctx, master), "and may take its place back")
	require.NoError(t, set.Settle(ctx))
	owner, err := set.NodeOfSlot(ctx, slot)
	require.NoError(t, err)
	require.Same(t, master, owner)
}
