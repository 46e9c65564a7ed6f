package dq_test

import (
	"context"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// named counts the connections of clients of that name.
func named(t *testing.T, nodes []*redis.Node, name string) (n int) {
	t.Helper()
	for _, node := range nodes {
		if node.Running() {
			rdb := redistest.Client(node)
			n += strings.Count(rdb.ClientList(deadline(t)).Val(), " name="+name+" ")
			_ = rdb.Close()
		}
	}
	return n
}

// Close in the middle of a fail-over returns in time and leaves nothing behind.
func TestFaultCloseDuringAFailover(t *testing.T) {
	t.Parallel()
	type set struct {
		nodes func(t *testing.T) ([]*redis.Node, func() *redis.Node, goredis.UniversalClient)
	}
	sentinel := func(t *testing.T) ([]*redis.Node, func() *redis.Node, goredis.UniversalClient) {
		s := redistest.Sentinel(t, 1)
		rdb := goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: "mymaster", SentinelAddrs: []string{s.Sentinels()[0].Addr}, ClientName: "leak",
		})
		return s.Nodes(), func() *redis.Node { return master(t, s) }, rdb
	}
	cluster := func(t *testing.T) ([]*redis.Node, func() *redis.Node, goredis.UniversalClient) {
		c := redistest.Cluster(t, 3, 3)
		rdb := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{c.Nodes()[0].Addr, c.Nodes()[1].Addr}, ClientName: "leak"})
		return c.Nodes(), func() *redis.Node { return ownerOf(t, c, "orders") }, rdb
	}
	for name, s := range map[string]set{"sentinel": {sentinel}, "cluster": {cluster}} {
		for fault, end := range map[string]func(*redis.Node) error{
			"killed": (*redis.Node).Kill,
			"paused": (*redis.Node).Pause,
			"none":   func(*redis.Node) error { return nil },
		} {
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				nodes, owner, rdb := s.nodes(t)
				defer rdb.Close()
				leaks(t, 5*time.Second, func() {
					client, err := dq.NewClient(rdb)
					require.NoError(t, err)
					queue := dq.NewTaker(client, "orders", codec.String{})
					delayed := dq.NewSender(queue)
					require.NoError(t, delayed.Ready(deadline(t)))
					const takers = 4
					consumed := make(chan error, 1)
					go func() {
						consumed <- consume(context.Background(), queue, takers, func(string) {})
					}()
					old := owner()
					blocked(t, old, takers)
					require.NoError(t, end(old))
					short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
					defer cancel()
					_ = delayed.Offer(short, "during", 100*time.Millisecond)
					began := time.Now()
					require.NoError(t, client.Close())
					t.Logf("Close took %s", time.Since(began))
					require.Less(t, time.Since(began), 3500*time.Millisecond)
					require.ErrorIs(t, <-consumed, dq.ErrClosed)
				})
				require.Eventually(t, func() bool { return named(t, nodes, "leak") == 0 }, 3*time.Second, 20*time.Millisecond)
			})
		}
	}
}
