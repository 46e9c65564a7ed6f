package dq_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func clusterClient(t testing.TB, c *redistest.ClusterSet) *goredis.ClusterClient {
	t.Helper()
	o := &goredis.ClusterOptions{}
	for _, n := range c.Nodes() {
		o.Addrs = append(o.Addrs, n.Addr)
	}
	rdb := goredis.NewClusterClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// ownerOf returns the node that has the slot of a queue.
func ownerOf(t *testing.T, c *redistest.ClusterSet, queue string) *redis.Node {
	t.Helper()
	n, err := c.NodeOfSlot(deadline(t), wire.Slot(queue))
	require.NoError(t, err)
	return n
}

func TestFaultClusterMasterGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*redis.Node) error{
		"killed": (*redis.Node).Kill,
		"paused": (*redis.Node).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redistest.Cluster(t, 3, 3)
			f := follow(t, clusterClient(t, c), "orders")
			k := f.consume(t, 3)
			f.works(t, k, "before")
			old := ownerOf(t, c, "orders")
			require.NoError(t, end(old))
			began := time.Now()
			_, err := c.WaitFailover(deadline(t), wire.Slot("orders"), old)
			require.NoError(t, err)
			t.Logf("promoted after %s", time.Since(began))
			offered, taken := f.works(t, k, "after")
			t.Logf("offered after %s, taken after %s", offered, taken)
			// A server that hangs is known to be silent after a second at the earliest.
			bound := map[string]time.Duration{"killed": 2 * time.Second, "paused": 5 * time.Second}[name]
			require.Less(t, taken, bound+slack)
			select {
			case <-f.subscribed:
				t.Logf("subscribed after %s", time.Since(began))
			case <-time.After(5 * time.Second):
				require.Fail(t, "not subscribed")
			}
			require.Empty(t, k.twice)
		})
	}
}

func TestFaultClusterNamesThatShareNoSlot(t *testing.T) {
	t.Parallel()
	c := redistest.Cluster(t, 3, 0)
	rdb := clusterClient(t, c)
	f := follow(t, rdb, "orders")
	for _, name := range []string{"{}", "}{", "a{b"} {
		_, err := dq.NewQueue(f.client, name, codec.String{})
		require.ErrorContains(t, err, "must share a slot", name)
	}
}
