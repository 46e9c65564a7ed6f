package redistest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	set := redistest.Sentinel(t, 1)
	t.Logf("formed in %s", time.Since(begun))
	require.Len(t, set.Nodes(), 2)
	require.Len(t, set.Sentinels(), 1)
	ctx := within(t, 40*time.Second)
	first, err := set.Master(ctx)
	require.NoError(t, err)
	require.Equal(t, set.Addr, first.Addr)
	c := redistest.Client(set)
	defer c.Close()
	require.NoError(t, c.Set(ctx, "k", "v", 0).Err())

	begun = time.Now()
	second, err := set.Failover(ctx)
	require.NoError(t, err)
	t.Logf("failed over in %s", time.Since(begun))
	require.NotSame(t, first, second)
	now, err := set.Master(ctx)
	require.NoError(t, err)
	require.Same(t, second, now)
	direct := redistest.Client(second)
	defer direct.Close()
	require.NoError(t, direct.Set(ctx, "k", "w", 0).Err(), "it takes writes")
	require.NoError(t, set.Settle(ctx))
	t.Logf("whole again after %s", time.Since(begun))
	old := redistest.Client(first)
	defer old.Close()
	require.Equal(t, "w", old.Get(ctx, "k").Val(), "the old master is its replica")
}

func TestSentinelsElectAnotherMaster(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	set := redistest.Sentinel(t, 3, "--requirepass", "secret")
	t.Logf("formed in %s", time.Since(begun))
	ctx := within(t, 40*time.Second)
	first, err := set.Master(ctx)
	require.NoError(t, err)

	killed := time.Now()
	require.NoError(t, first.Kill())
	second, err := set.WaitFailover(ctx, first)
	require.NoError(t, err)
	t.Logf("elected %s after the kill", time.Since(killed))
	require.NoError(t, second.Restart(ctx))
	c := redistest.Client(second)
	defer c.Close()
	info, err := c.Info(ctx, "replication").Result()
	require.NoError(t, err)
	require.Contains(t, info, "role:master", "a restart does not undo the election")

	require.NoError(t, first.Restart(ctx))
	require.NoError(t, set.Settle(ctx))
	t.Logf("whole again %s after the kill", time.Since(killed))
}
