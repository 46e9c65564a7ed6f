package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestOneNodeOfAClusterIsRefused(t *testing.T) {
	t.Parallel()
	c, node := newGuard(), redistest.Cluster(t, 3, 0).Nodes()[0].Addr
	c.SetContext(t.Context())
	c.redis = "redis://" + node
	work := func(*redis.Server, redis.Conn) error { return nil }
	err := c.onServer(work)
	require.ErrorContains(t, err, "is a node of a cluster")
	require.ErrorContains(t, err, "name it as redis+cluster://"+node)
	c.redis = "redis+cluster://" + node
	require.NoError(t, c.onServer(work))
}
