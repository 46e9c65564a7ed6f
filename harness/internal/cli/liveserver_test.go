package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestOneNodeOfAClusterIsRefused(t *testing.T) {
	t.Parallel()
	set := redistest.Cluster(t, 3, 0)
	_, err := startLive(t.Context(), "redis://"+set.Nodes()[0].Addr)
	require.ErrorContains(t, err, "is a node of a cluster")
	require.ErrorContains(t, err, "name it as redis+cluster://"+set.Nodes()[0].Addr)
	whole, err := startLive(t.Context(), "redis+cluster://"+set.Nodes()[0].Addr)
	require.NoError(t, err)
	require.NoError(t, whole.Close())
}
