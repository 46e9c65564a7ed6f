package dq_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/server"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// failoverClient returns a plain client of go-redis for a set.
func failoverClient(t *testing.T, s *server.SentinelSet) *redis.Client {
	t.Helper()
	o := &redis.FailoverOptions{MasterName: "mymaster"}
	for _, n := range s.Sentinels() {
		o.SentinelAddrs = append(o.SentinelAddrs, n.Addr)
	}
	rdb := redis.NewFailoverClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

func master(t *testing.T, s *server.SentinelSet) *server.Node {
	t.Helper()
	n, err := s.Master(deadline(t))
	require.NoError(t, err)
	return n
}

// What the old master acknowledges after the promotion is lost. It must not be more
// than a plain failover client loses, which go-redis tells of the new master.
func TestFaultSentinelFailoverLosesNoMoreThanGoRedis(t *testing.T) {
	t.Parallel()
	s := servertest.SentinelOf(t, server.SentinelOptions{Sentinels: 3})
	f := follow(t, failoverClient(t, s), "orders")
	plain := failoverClient(t, s)
	stop := make(chan struct{})
	tallies := make(chan *tally, 2)
	go func() {
		tallies <- load(t, "dq", 5000, stop, func(ctx context.Context, v string) error {
			return f.delayed.Offer(ctx, v, time.Hour)
		})
	}()
	plainDone := make(chan *tally, 1)
	go func() {
		plainDone <- load(t, "plain", 5000, stop, func(ctx context.Context, v string) error {
			return plain.ZAdd(ctx, "plain", redis.Z{Score: 1, Member: v}).Err()
		})
	}()
	time.Sleep(200 * time.Millisecond) // of load
	_, err := s.Failover(deadline(t))
	time.Sleep(300 * time.Millisecond) // of load on the new master
	close(stop)
	require.NoError(t, err)
	own, other := <-tallies, <-plainDone
	require.NoError(t, s.Settle(deadline(t)))

	values, err := f.delayed.ReadAll(deadline(t))
	require.NoError(t, err)
	members, err := plain.ZRange(deadline(t), "plain", 0, -1).Result()
	require.NoError(t, err)
	lost, plainLost := own.lost(t, values), other.lost(t, members)
	t.Logf("dq lost %d: %s", lost, own)
	t.Logf("go-redis lost %d: %s", plainLost, other)
	require.LessOrEqual(t, float64(lost), 1.5*float64(plainLost)+50)
}

func TestFaultSentinelFailoverMovesTakesAndSubscription(t *testing.T) {
	t.Parallel()
	s := servertest.Sentinel(t)
	f := follow(t, failoverClient(t, s), "orders")
	k := f.consume(t, 3)
	f.works(t, k, "before")
	began := time.Now()
	_, err := s.Failover(deadline(t))
	require.NoError(t, err)
	t.Logf("fail-over after %s", time.Since(began))
	offered, taken := f.works(t, k, "after")
	t.Logf("offered after %s, taken after %s", offered, taken)
	require.Less(t, taken, time.Second)
	select {
	case <-f.subscribed:
	case <-time.After(time.Second):
		require.Fail(t, "not subscribed to the new master within a second")
	}
}

func TestFaultSentinelMasterGone(t *testing.T) {
	for name, end := range map[string]func(*server.Node) error{
		"killed": (*server.Node).Kill,
		"paused": (*server.Node).Pause,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servertest.Sentinel(t)
			f := follow(t, failoverClient(t, s), "orders")
			k := f.consume(t, 3)
			f.works(t, k, "before")
			old := master(t, s)
			require.NoError(t, end(old))
			_, err := s.WaitFailover(deadline(t), old)
			require.NoError(t, err)
			offered, taken := f.works(t, k, "after")
			t.Logf("offered after %s, taken after %s", offered, taken)
			require.Less(t, taken, time.Second)
			select {
			case <-f.subscribed:
			case <-time.After(time.Second):
				require.Fail(t, "not subscribed to the new master within a second")
			}
			require.Empty(t, k.twice)
		})
	}
}
