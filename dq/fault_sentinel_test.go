package dq_test

import (
	"context"
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

func master(t *testing.T, s *redistest.SentinelSet) *redis.Node {
	t.Helper()
	n, err := s.Master(deadline(t))
	require.NoError(t, err)
	return n
}

// sentinelSet starts a set. With a dialer, its addresses are known to nobody else.
func sentinelSet(t *testing.T, dialer bool) (*redistest.SentinelSet, *goredis.Client) {
	t.Helper()
	s := redistest.Sentinel(t, 1, "--requirepass", "owner")
	onAll(t, s.Nodes(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
	o := &goredis.FailoverOptions{MasterName: "mymaster", Username: "app", Password: "secret"}
	for _, n := range s.Sentinels() {
		o.SentinelAddrs = append(o.SentinelAddrs, n.Addr)
	}
	if dialer {
		b := &behind{}
		for _, n := range append(s.Sentinels(), s.Nodes()...) {
			b.add(t, n.Addr, n)
		}
		o.Dialer, o.Protocol = b.dial, 2
	}
	rdb := goredis.NewFailoverClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return s, rdb
}

// sentinelFails returns a client, and a function that has a replica take the master's place: by end, or while both live.
func sentinelFails(end func(*redis.Node) error, dialer bool) func(*testing.T) (goredis.UniversalClient, func()) {
	return func(t *testing.T) (goredis.UniversalClient, func()) {
		s, rdb := sentinelSet(t, dialer)
		return rdb, func() {
			if end == nil {
				_, err := s.Failover(deadline(t))
				require.NoError(t, err)
				return
			}
			// A take that only the killed master knows is undone by the fail-over, and the value is delivered again.
			conn := rdb.Conn()
			defer conn.Close()
			require.NoError(t, conn.Set(t.Context(), "replicated", 1, 0).Err())
			require.Positive(t, conn.Wait(t.Context(), 1, 5*time.Second).Val())
			old := master(t, s)
			require.NoError(t, end(old))
			_, err := s.WaitFailover(deadline(t), old)
			require.NoError(t, err)
		}
	}
}

func clusterFails(end func(*redis.Node) error) func(*testing.T) (goredis.UniversalClient, func()) {
	return func(t *testing.T) (goredis.UniversalClient, func()) {
		c := redistest.Cluster(t, 3, 3)
		return clusterClient(t, c), func() {
			old := ownerOf(t, c, "orders")
			require.NoError(t, end(old))
			_, err := c.WaitFailover(deadline(t), wire.Slot("orders"), old)
			require.NoError(t, err)
		}
	}
}

// Takes, offers and the subscription follow to a new master, and no value comes twice.
func TestFaultMasterGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set   func(*testing.T) (goredis.UniversalClient, func())
		bound time.Duration
	}{
		"Sentinel, handed over":                 {sentinelFails(nil, false), time.Second},
		"Sentinel behind a dialer, handed over": {sentinelFails(nil, true), time.Second},
		"Sentinel, killed":                      {sentinelFails((*redis.Node).Kill, false), 3 * time.Second},
		"Sentinel, paused":                      {sentinelFails((*redis.Node).Pause, false), 3 * time.Second},
		"Cluster, killed":                       {clusterFails((*redis.Node).Kill), 2 * time.Second},
		// A server that hangs is known to be silent after a second at the earliest.
		"Cluster, paused": {clusterFails((*redis.Node).Pause), 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, fail := c.set(t)
			f := follow(t, rdb, "orders")
			k := f.consume(t, 3)
			f.works(t, k, "before")
			fail()
			offered, taken := f.works(t, k, "after")
			t.Logf("offered after %s, taken after %s", offered, taken)
			require.Less(t, taken, c.bound+slack)
			select {
			case <-f.subscribed:
			case <-time.After(5 * time.Second):
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
	_, rdb := sentinelSet(t, false)
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
