package redistest

import (
	"context"
	"testing"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Process gives an empty server program with these arguments, as
// server.StartProcess takes them, whatever DQ_REDIS says: for tests that kill,
// pause or restart it (Nodes()[0]). It stops with the test.
func Process(t testing.TB, args ...string) *redis.Server {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*redis.Server, error) {
		return redis.StartProcess(ctx, "", args...)
	})
}

// Cluster gives a Redis Cluster of that many masters and replicas of each, with
// a node timeout of 2 s, in about 3 s. It stops with the test.
func Cluster(t testing.TB, masters, replicas int) *redis.ClusterSet {
	t.Helper()
	return ClusterOf(t, redis.ClusterOptions{Masters: masters, Replicas: replicas})
}

// ClusterOf is Cluster with all options.
func ClusterOf(t testing.TB, o redis.ClusterOptions) *redis.ClusterSet {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*redis.ClusterSet, error) {
		return redis.StartClusterSet(ctx, o)
	})
}

// Sentinel gives a master, a replica and a sentinel, in about 0.2 s. They stop
// with the test.
func Sentinel(t testing.TB) *redis.SentinelSet {
	t.Helper()
	return SentinelOf(t, redis.SentinelOptions{})
}

// SentinelOf is Sentinel with all options.
func SentinelOf(t testing.TB, o redis.SentinelOptions) *redis.SentinelSet {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*redis.SentinelSet, error) {
		return redis.StartSentinelSet(ctx, o)
	})
}

// running is what all servers and sets have.
type running interface {
	String() string
	Close() error
}

// start gives what f starts, closed with the test; what is the name DQ_REQUIRE
// knows it by.
func start[S running](t testing.TB, what string, f func(context.Context) (S, error)) S {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	s, err := f(ctx)
	if err != nil {
		Missing(t, what, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stopping %s: %v", s, err)
		}
	})
	return s
}
