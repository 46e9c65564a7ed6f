package container_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/redis"
	_ "github.com/dq-bench/dq-bench/internal/redis/container"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestAutoWithoutDocker(t *testing.T) {
	for kind, want := range map[string]string{
		"process":  `^redis: process /\S+ \(\w+ [\d.]+\) on 127\.0\.0\.1:\d+; no Docker daemon here$`,
		"embedded": `^redis: embedded \(miniredis [\d.]+\) on 127\.0\.0\.1:\d+; figures do not stand for a real Redis; no Docker daemon here; [^\n]+$`,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
			if kind == "process" {
				redistest.Redis(t)
			} else {
				t.Setenv("PATH", t.TempDir()) // has no server program
			}
			var notices []string
			s, err := redis.Start(t.Context(), "auto", func(line string) { notices = append(notices, line) })
			require.NoError(t, err)
			require.NoError(t, s.Close())
			require.Len(t, notices, 1)
			require.Regexp(t, want, notices[0])
			require.Equal(t, kind == "embedded", s.Embedded())
		})
	}
}

// Auto takes a container before all else.
func TestContainer(t *testing.T) {
	redistest.Start(t, "container", "docker")
	var notices []string
	s, err := redis.Start(t.Context(), "auto", func(line string) { notices = append(notices, line) })
	require.NoError(t, err)
	require.Len(t, notices, 1)
	require.Contains(t, notices[0], "redis: "+s.How)
	require.Equal(t, "container "+redis.DefaultImage, s.How)
	require.Equal(t, "redis", s.Product)
	require.Regexp(t, `^7\.0\.`, s.Version)
	c := redistest.Client(s)
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())
	_, err = redis.Start(t.Context(), s.URL(), nil)
	require.ErrorContains(t, err, "nothing listens there")
}

func TestContainerThatServesNoRedis(t *testing.T) {
	redistest.Start(t, "container", "docker")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	_, err := redis.Start(ctx, "container:dq-bench.invalid/none:1", nil)
	require.ErrorContains(t, err, "docker/build-local.sh")
	require.NotContains(t, err.Error(), "\n")
	t.Log(err)
}

func TestContainerIsRemovedWhenStartFails(t *testing.T) {
	redistest.Start(t, "container", "docker")
	mine := func() string {
		out, err := exec.CommandContext(t.Context(), "docker", "ps", "-aq", "--filter", fmt.Sprintf("label=dq-bench.pid=%d", os.Getpid())).CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	before := mine()
	for _, after := range []time.Duration{20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		s, err := redis.Start(ctx, "container", nil)
		cancel()
		if err == nil {
			require.NoError(t, s.Close())
		}
		require.Equal(t, before, mine(), "start cut off after %s", after)
	}
}
