package redis_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	process(t)
	s, err := redis.StartCluster(t.Context(), 3)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.True(t, s.Cluster())
	c := s.NewClient()
	defer c.Close()
	for _, key := range []string{"a", "b", "c", "{orders}"} { // three slots on three nodes
		require.NoError(t, c.Set(t.Context(), key, key, 0).Err())
		require.Equal(t, key, c.Get(t.Context(), key).Val())
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	process(t)
	s, err := redis.StartSentinel(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	c := s.NewClient()
	defer c.Close()
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())

	direct := redistest.Start(t, "redis://"+s.Addr, "redis")
	d := direct.NewClient()
	defer d.Close()
	require.Equal(t, "v", d.Get(t.Context(), "k").Val(), "Addr is the master")
}
