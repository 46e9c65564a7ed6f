package dq

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestSlotTable(t *testing.T) {
	t.Parallel()
	table := newSlotTable([]slotRange{
		{start: 100, end: 200, servers: []string{"b:1", "c:1"}},
		{start: 0, end: 99, servers: []string{"a:1"}},
		{start: 300, end: 16383, servers: []string{"a:1"}},
	})
	moved := table.with(150, "a:1").with(250, "d:1").with(0, "b:1").with(16383, "c:1").with(150, "c:1")
	for slot, want := range map[int][2]string{
		0: {"a:1", "b:1"}, 1: {"a:1", "a:1"}, 99: {"a:1", "a:1"}, 100: {"b:1", "b:1"}, 149: {"b:1", "b:1"},
		150: {"b:1", "c:1"}, 151: {"b:1", "b:1"}, 201: {"", ""}, 250: {"", "d:1"}, 299: {"", ""},
		300: {"a:1", "a:1"}, 16383: {"a:1", "c:1"},
	} {
		for i, table := range []*slotTable{table, moved} {
			master, ok := table.master(slot)
			require.Equal(t, want[i], master, "slot %d", slot)
			require.Equal(t, want[i] != "", ok)
		}
	}
	require.Equal(t, map[string]bool{"a:1": true, "b:1": true, "c:1": false}, table.servers)
}

func TestParseSlots(t *testing.T) {
	t.Parallel()
	server := func(host any, port int64) []any { return []any{host, port, "id"} }
	ranges, err := parseSlots([]any{
		[]any{int64(0), int64(5), server("10.0.0.1", 7000), server(nil, 7001), server("?", 7002), server("127.0.0.1", 7003)},
	}, "redis.example:7000")
	require.NoError(t, err)
	require.Equal(t, []slotRange{{start: 0, end: 5, servers: []string{
		"10.0.0.1:7000", "redis.example:7001", "redis.example:7002", "redis.example:7003",
	}}}, ranges)
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
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"seed:1"}})
	defer rdb.Close()
	topology := newClusterTopology(t.Context(), rdb)
	defer topology.close()
	master, gone, recent := topology.at("master:1"), topology.at("gone:1"), topology.at("recent:1")
	for _, n := range []*node{master, gone} {
		topology.absent[n] = time.Now().Add(-2 * absentGrace)
	}
	topology.leaveBehind(newSlotTable([]slotRange{{start: 0, end: 16383, servers: []string{"master:1"}}}))
	require.Equal(t, map[string]*node{"master:1": master, "recent:1": recent}, topology.nodes)
	require.Len(t, topology.absent, 1)
	require.ErrorIs(t, gone.retired, errRetired)
	require.NotSame(t, gone, topology.at("gone:1"), "it may come back")
}
