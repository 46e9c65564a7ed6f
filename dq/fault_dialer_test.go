package dq_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// behind is the only way to some servers: addresses that only a dialer knows.
type behind struct {
	proxies map[string]*redistest.Proxy
}

func (b *behind) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p, ok := b.proxies[address]
	if !ok {
		return nil, fmt.Errorf("dialled past the proxies: %s", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, p.Addr)
}

func (b *behind) add(t *testing.T, address string, n *redis.Node) {
	t.Helper()
	if b.proxies == nil {
		b.proxies = make(map[string]*redistest.Proxy)
	}
	b.proxies[address] = redistest.NewProxy(t, n.Addr)
}

// onAll runs a command on each node.
func onAll(t *testing.T, nodes []*redis.Node, args ...any) {
	t.Helper()
	for _, n := range nodes {
		rdb := redistest.Client(n)
		require.NoError(t, rdb.Do(t.Context(), args...).Err())
		_ = rdb.Close()
	}
}

// announce has each node name itself by a host name, as behind an address translation,
// or by its port alone.
func announce(t *testing.T, c *redistest.ClusterSet, kind string) (*behind, []string) {
	t.Helper()
	b := &behind{}
	var seeds []string
	for i, n := range c.Nodes() {
		_, port, err := net.SplitHostPort(n.Addr)
		require.NoError(t, err)
		host := "cluster.test"
		if kind == "hostname" {
			host = fmt.Sprintf("node-%d.test", i)
			onAll(t, []*redis.Node{n}, "CONFIG", "SET", "cluster-announce-hostname", host)
		}
		b.add(t, host+":"+port, n)
		seeds = append(seeds, host+":"+port)
	}
	onAll(t, c.Nodes(), "CONFIG", "SET", "cluster-preferred-endpoint-type", kind)
	if kind == "hostname" {
		for _, n := range c.Nodes() {
			rdb := redistest.Client(n)
			defer rdb.Close()
			require.Eventually(t, func() bool {
				return strings.Count(fmt.Sprint(rdb.Do(t.Context(), "CLUSTER", "SLOTS").Val()), ".test") >= len(c.Nodes())
			}, testDeadline, 20*time.Millisecond, "the nodes hear of each other's names")
		}
	}
	return b, seeds[:1]
}

func TestFaultClusterBehindADialer(t *testing.T) {
	t.Parallel()
	for kind, protocol := range map[string]int{"hostname": 3, "unknown-endpoint": 2} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			c := redistest.Cluster(t, 3, 0, "--requirepass", "owner")
			onAll(t, c.Nodes(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
			b, seeds := announce(t, c, kind)
			f := follow(t, goredis.NewClusterClient(&goredis.ClusterOptions{
				Addrs: seeds, Dialer: b.dial, Username: "app", Password: "secret", Protocol: protocol,
			}), "orders")
			k := f.consume(t, 2)
			f.works(t, k, "before")
			from := ownerOf(t, c, "orders")
			to := c.Nodes()[0]
			if to == from {
				to = c.Nodes()[1]
			}
			require.NoError(t, c.MoveSlot(deadline(t), wire.Slot("orders"), from, to))
			f.works(t, k, "after")
			for _, p := range b.proxies {
				p.Reset()
			}
			_, taken := f.works(t, k, "reset")
			require.Less(t, taken, 2*time.Second)
			require.Empty(t, k.twice)
		})
	}
}

func clusterClient(t testing.TB, c *redistest.ClusterSet) *goredis.ClusterClient {
	t.Helper()
	o := &goredis.ClusterOptions{}
	for _, n := range c.Nodes() {
		o.Addrs = append(o.Addrs, n.Addr)
	}
	rdb := goredis.NewClusterClient(o)
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// ownerOf returns the node that has the slot of a queue.
func ownerOf(t *testing.T, c *redistest.ClusterSet, queue string) *redis.Node {
	t.Helper()
	n, err := c.NodeOfSlot(deadline(t), wire.Slot(queue))
	require.NoError(t, err)
	return n
}
