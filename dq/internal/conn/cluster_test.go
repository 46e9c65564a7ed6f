package conn

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
)

func clustered(t *testing.T) *cluster {
	t.Helper()
	c, err := New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"seed:1"}}), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { c.Stop(); c.Wait() })
	return c.topology.(*cluster)
}

func TestSlotTable(t *testing.T) {
	t.Parallel()
	table := clustered(t)
	require.True(t, table.load([]redis.ClusterSlot{
		{Start: 100, End: 200, Nodes: []redis.ClusterNode{{Addr: "b:1"}, {Addr: "c:1"}}},
		{Start: 0, End: 99, Nodes: []redis.ClusterNode{{Addr: "a:1"}}},
		{Start: 300, End: 16383, Nodes: []redis.ClusterNode{{Addr: "a:1"}}},
	}, nil))
	require.True(t, table.isMaster("b:1"))
	require.False(t, table.isMaster("c:1"))
	key := "foo" // its slot is 12182
	require.Equal(t, "a:1", table.masters[wire.Slot(key)])
	for address, forGood := range map[string]bool{"d:1": false, "c:1": true} {
		require.Equal(t, address, table.redirect(key, address, forGood).opt.Addr)
		require.Equal(t, forGood, table.isMaster(address))
	}
	for slot, want := range map[int]string{0: "a:1", 99: "a:1", 100: "b:1", 200: "b:1", 201: "", 300: "a:1", wire.Slot(key): "c:1", 16383: "a:1"} {
		require.Equal(t, want, table.masters[slot], "slot %d", slot)
	}
}

func TestParseSlots(t *testing.T) {
	t.Parallel()
	server := func(host any, port int64) []any { return []any{host, port, "id"} }
	slots, err := parseSlots([]any{
		[]any{int64(0), int64(5), server("10.0.0.1", 7000), server(nil, 7001), server("?", 7002), server("127.0.0.1", 7003)},
	}, "redis.example:7000")
	require.NoError(t, err)
	require.Equal(t, []redis.ClusterSlot{{Start: 0, End: 5, Nodes: []redis.ClusterNode{
		{Addr: "10.0.0.1:7000"}, {Addr: "redis.example:7001"}, {Addr: "redis.example:7002"}, {Addr: "redis.example:7003"},
	}}}, slots)
	for _, reply := range []any{
		nil, "OK", []any{}, []any{"x"}, []any{[]any{int64(0), int64(5)}}, []any{[]any{int64(6), int64(5), server("a", 1)}},
		[]any{[]any{int64(0), int64(16384), server("a", 1)}}, []any{[]any{int64(0), int64(5), server("a", 0)}},
		[]any{[]any{int64(0), int64(5), "a"}}, []any{[]any{"0", int64(5), server("a", 1)}},
	} {
		_, err := parseSlots(reply, "redis.example:7000")
		require.Error(t, err, "%v", reply)
	}
}

// Servers that come and go, as in Kubernetes, must not pile up.
func TestServersThatNoTableNamesAreLetGo(t *testing.T) {
	t.Parallel()
	topology := clustered(t)
	master, gone, recent := topology.at("master:1"), topology.at("gone:1"), topology.at("recent:1")
	for _, s := range []*server{master, gone} {
		s.absent = time.Now().Add(-2 * absentGrace)
	}
	require.True(t, topology.load([]redis.ClusterSlot{{Start: 0, End: 16383, Nodes: []redis.ClusterNode{{Addr: "master:1"}}}}, nil))
	require.Equal(t, map[string]*server{"master:1": master, "recent:1": recent}, topology.servers)
	<-gone.ctx.Done()
	require.NotSame(t, gone, topology.at("gone:1"), "it may come back")
}
