package redis_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
)

func TestAutoWithoutDockerAndServerIsEmbedded(t *testing.T) {
	if os.Getenv(autoEnv) == "" {
		runAgain(t, autoEnv+"=1", "PATH="+t.TempDir(), "DOCKER_HOST=unix:///nowhere/docker.sock", "HOME="+t.TempDir())
		return
	}
	var notices []string
	s, err := redis.Start(t.Context(), "auto", func(line string) { notices = append(notices, line) })
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.True(t, s.Embedded())
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "figures do not stand for a real Redis")
	require.Contains(t, notices[0], "no Docker daemon here")
	require.NotContains(t, notices[0], "\n")
	t.Log(notices[0])
}
