package conn

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Servers that come and go, as in Kubernetes, must not pile up.
func TestSlotTable(t *testing.T) {
	t.Parallel()
	c, err := New(redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"seed:1"}}), Options{})
	require.NoError(t, err)
	defer func() { c.Stop(); c.Wait() }()
	table := c.topology.(*cluster)
	replica, gone, recent := table.at("c:1"), table.at("gone:1"), table.at("recent:1")
	replica.absent, gone.absent = time.Now().Add(-2*absentGrace), time.Now().Add(-2*absentGrace)
	require.True(t, table.load([]redis.ClusterSlot{
		{Start: 100, End: 200, Nodes: []redis.ClusterNode{{Addr: "b:1"}, {Addr: "c:1"}}},
		{Start: 0, End: 99, Nodes: []redis.ClusterNode{{Addr: "a:1"}}},
	}, nil))
	require.Equal(t, map[string]*server{"c:1": replica, "recent:1": recent}, table.servers)
	<-gone.ctx.Done()
	require.NotSame(t, gone, table.at("gone:1"), "it may come back")
	for address, forGood := range map[string]bool{"d:1": false, "c:1": true} { // the slot of foo is 12182
		require.Equal(t, address, table.redirect("foo", address, forGood).opt.Addr)
		require.Equal(t, forGood, table.isMaster(address))
	}
	for slot, want := range map[int]string{0: "a:1", 99: "a:1", 100: "b:1", 200: "b:1", 201: "", 12182: "c:1"} {
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
