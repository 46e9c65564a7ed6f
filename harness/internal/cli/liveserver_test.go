package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestOneNodeOfAClusterIsRefused(t *testing.T) {
	t.Parallel()
	c, node := newGuard(), redistest.Cluster(t, 3, 0).Nodes()[0].Addr
	c.SetContext(t.Context())
	c.redis = "redis://" + node
	_, _, err := c.connect()
	require.ErrorContains(t, err, "is a node of a cluster")
	require.ErrorContains(t, err, "name it as redis+cluster://"+node)
	c.redis = "redis+cluster://" + node
	_, conn, err := c.connect()
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
