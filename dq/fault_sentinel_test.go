package dq_test

import (
	"context"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// failoverClient returns a plain client of go-redis for a set.
func failoverClient(t *testing.T, s *redistest.SentinelSet) *goredis.Client {
	t.Helper()
	o := &goredis.FailoverOptions{MasterName: "mymaster"}
	for _, n := range s.Sentinels() {
		o.SentinelAddrs = append(o.SentinelAddrs, n.Addr)
	}
	rdb := goredis.NewFailoverClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func master(t *testing.T, s *redistest.SentinelSet) *redis.Node {
	t.Helper()
	n, err := s.Master(deadline(t))
	require.NoError(t, err)
	return n
}

func TestFaultSentinelFailoverMovesTakesAndSubscription(t *testing.T) {
	t.Parallel()
	s := redistest.Sentinel(t, 1)
	f := follow(t, failoverClient(t, s), "orders")
	k := f.consume(t, 3)
	f.works(t, k, "before")
	began := time.Now()
	_, err := s.Failover(deadline(t))
	require.NoError(t, err)
	t.Logf("fail-over after %s", time.Since(began))
	offered, taken := f.works(t, k, "after")
	t.Logf("offered after %s, taken after %s", offered, taken)
	require.Less(t, taken, time.Second+slack)
	select {
	case <-f.subscribed:
	case <-time.After(time.Second + slack):
		require.Fail(t, "not subscribed to the new master")
	}
}

// replicated waits until a replica has every write so far: a take that only the killed master knows is undone by the
// fail-over, and the value is delivered again.
func replicated(t *testing.T, rdb *goredis.Client) {
	t.Helper()
	conn := rdb.Conn()
	defer conn.Close()
	require.NoError(t, conn.Set(t.Context(), "replicated", 1, 0).Err())
	require.Positive(t, conn.Wait(t.Context(), 1, 5*time.Second).Val())
}

func TestFaultSentinelMasterGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*redis.Node) error{
		"killed": (*redis.Node).Kill,
		"paused": (*redis.Node).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Sentinel(t, 1)
			rdb := failoverClient(t, s)
			f := follow(t, rdb, "orders")
			k := f.consume(t, 3)
			f.works(t, k, "before")
			replicated(t, rdb)
			old := master(t, s)
			require.NoError(t, end(old))
			_, err := s.WaitFailover(deadline(t), old)
			require.NoError(t, err)
			offered, taken := f.works(t, k, "after")
			t.Logf("offered after %s, taken after %s", offered, taken)
			require.Less(t, taken, 3*time.Second+slack)
			select {
			case <-f.subscribed:
			case <-time.After(time.Second + slack):
				require.Fail(t, "not subscribed to the new master")
			}
			require.Empty(t, k.twice)
		})
	}
}

// Under Sentinel the Client hears of a new master through the redis.Client, and cannot
// go on without it.
func TestFaultSentinelRedisClosedFirst(t *testing.T) {
	t.Parallel()
	s := redistest.Sentinel(t, 1)
	rdb := failoverClient(t, s)
	f := follow(t, rdb, "orders")
	taking := make(chan error, 1)
	go func() {
		_, err := f.queue.Take(context.Background())
		taking <- err
	}()
	require.Eventually(t, func() bool {
		return containsBlocked(rdb.ClientList(t.Context()).Val())
	}, testDeadline, time.Millisecond)

	const says = "the redis.Client given to dq.NewClient was closed"
	require.NoError(t, rdb.Close())
	select {
	case err := <-taking:
		require.ErrorContains(t, err, says)
	case <-time.After(5 * time.Second):
		require.Fail(t, "a blocked Take was not told")
	}
	began := time.Now()
	require.ErrorContains(t, f.delayed.Offer(t.Context(), "v", 0), says)
	_, err := f.queue.Take(t.Context())
	require.ErrorContains(t, err, says)
	_, err = f.delayed.OfferAll(t.Context(), 0, "a", "b")
	require.ErrorContains(t, err, says)
	require.Less(t, time.Since(began), time.Second)

	// The scheduler and the subscription go on trying, at their pace.
	before := f.lost.Load()
	time.Sleep(500 * time.Millisecond)
	require.LessOrEqual(t, f.lost.Load()-before, int64(20), "a busy loop")
	f.close(t)
	require.ErrorIs(t, f.delayed.Offer(t.Context(), "v", 0), dq.ErrClosed)
}

// Clients of other servers have connections of their own.
func TestFaultRedisClosedFirstElsewhere(t *testing.T) {
	t.Parallel()
	single := redistest.Redis(t)
	for name, rdb := range map[string]goredis.UniversalClient{
		"single":  goredis.NewClient(&goredis.Options{Addr: single.Addr}),
		"cluster": clusterClient(t, redistest.Cluster(t, 3, 0)),
	} {
		f := follow(t, rdb, "orders")
		require.NoError(t, rdb.Close())
		other := dq.NewSender(dq.NewTaker(f.client, "other", codec.String{}))
		require.NoError(t, other.Offer(t.Context(), "v", 0), name)
		require.NoError(t, other.Ready(deadline(t)), name)
		k := f.consume(t, 1)
		f.works(t, k, name)
	}
}
