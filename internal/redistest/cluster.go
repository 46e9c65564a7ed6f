package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// ClusterSet is a Redis Cluster of local processes. Its Nodes are the masters as started, then their replicas.
type ClusterSet struct {
	Set
	ids map[*redis.Node]string
}

// Cluster returns a Redis Cluster of masters, with so many replicas each. The Cluster stops with the test.
func Cluster(t testing.TB, masters, replicas int, args ...string) *ClusterSet {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*ClusterSet, error) {
		return StartCluster(ctx, "", masters, replicas, args...)
	})
}

// StartCluster starts a Redis Cluster on 127.0.0.1 and waits until it is whole. The masters share the slots. A replica replaces a
// master about 3 s after its end. args are arguments of each server, as for redis.StartProcess.
func StartCluster(ctx context.Context, path string, masters, replicas int, args ...string) (*ClusterSet, error) {
	c := &ClusterSet{ids: map[*redis.Node]string{}}
	return c, c.formed(ctx, func(ctx context.Context) error { return c.start(ctx, path, masters, replicas, args) })
}

// start forms the cluster node by node: redis-cli --cluster create takes seconds.
func (c *ClusterSet) start(ctx context.Context, path string, masters, replicas int, args []string) error {
	var meet [][]any // each node meets each: gossip is slower
	for i := range masters * (1 + replicas) {
		bus, err := redis.Stable(ctx)
		if err != nil {
			return err
		}
		_, busPort, _ := net.SplitHostPort(bus.Addr().String())
		bus.Close()
		n, err := c.Set.start(ctx, path, "", append([]string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", busPort, "--cluster-announce-ip", "127.0.0.1",
			"--cluster-node-timeout", "2000", "--repl-ping-replica-period", "1", "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no",
		}, args...)...)
		if err != nil {
			return err
		}
		// Masters with equal epochs may not get the votes of an early election.
		calls := append([][]any{{"CLUSTER", "SET-CONFIG-EPOCH", i + 1}}, meet...)
		if i < masters {
			calls = append(calls, []any{"CLUSTER", "ADDSLOTSRANGE", i * slots / masters, (i+1)*slots/masters - 1})
		}
		for _, call := range calls {
			if err := c.do(ctx, n, call...).Err(); err != nil {
				return err
			}
		}
		if c.ids[n], err = c.do(ctx, n, "CLUSTER", "MYID").Text(); err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(n.Addr)
		meet = append(meet, []any{"CLUSTER", "MEET", host, port, busPort})
	}
	for i, n := range c.nodes[masters:] {
		master := c.ids[c.nodes[i%masters]] // which the node refuses until it knows it
		if err := redis.Until(ctx, n.Addr+" replicates its master", func() error { return c.do(ctx, n, "CLUSTER", "REPLICATE", master).Err() }); err != nil {
			return err
		}
	}
	if err := c.Settle(ctx); err != nil {
		return err
	}
	return c.whole(ctx, fmt.Sprintf("cluster of %d nodes", len(c.nodes)), redis.Cluster, c.nodes)
}

// Settle waits until the cluster is whole again after a fault: every running node has cluster_state:ok, lists all running nodes and the
// same masters, and the link of each replica is up.
func (c *ClusterSet) Settle(ctx context.Context) error {
	return redis.Until(ctx, "the cluster is whole", func() error {
		views := map[string]bool{}
		for _, n := range running(c.nodes) {
			view, err := c.view(ctx, n)
			if err != nil {
				return fmt.Errorf("%s: %w", n, err)
			}
			if views[view] = true; len(views) > 1 {
				return fmt.Errorf("%s lists other masters than the nodes before it", n)
			}
		}
		return nil
	})
}

// view returns the masters by a node's list of slots. It is an error if the node does not see the cluster as whole.
func (c *ClusterSet) view(ctx context.Context, n *redis.Node) (masters string, err error) {
	state, err1 := c.do(ctx, n, "CLUSTER", "INFO").Text()
	role, err2 := c.replication(ctx, n)
	ranges, err3 := c.ranges(ctx, n)
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	whole := strings.Contains(state, "cluster_state:ok") && strings.Contains(state, fmt.Sprintf("cluster_slots_ok:%d\r", slots))
	if !whole || role["role"] == "slave" && role["master_link_status"] != "up" {
		return "", fmt.Errorf("link to its master: %s, %s", role["master_link_status"], state)
	}
	var listed, up []string
	for i, r := range ranges {
		listed, ranges[i].ids = append(listed, r.ids...), r.ids[:1]
	}
	for _, other := range running(c.nodes) {
		up = append(up, c.ids[other])
	}
	slices.Sort(up)
	if slices.Sort(listed); !slices.Equal(slices.Compact(listed), up) {
		return "", fmt.Errorf("it lists %s, and %s run", listed, up)
	}
	return fmt.Sprint(ranges), nil
}

// slotRange is a range of slots with the ids of its nodes, the master first.
type slotRange struct {
	first, last int
	ids         []string
}

// ranges returns all slots as a node lists them, in order.
func (c *ClusterSet) ranges(ctx context.Context, n *redis.Node) (ranges []slotRange, err error) {
	list, err := c.do(ctx, n, "CLUSTER", "SLOTS").Slice() // go-redis reads no list without hosts, as a cluster may prefer it
	for _, entry := range list {
		e := entry.([]any) // first, last, then host, port and id of each node
		r := slotRange{first: int(e[0].(int64)), last: int(e[1].(int64))}
		for _, node := range e[2:] {
			r.ids = append(r.ids, node.([]any)[2].(string))
		}
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, func(a, b slotRange) int { return a.first - b.first })
	return ranges, err
}

// served returns the ranges that a node serves as a master by its own list.
func (c *ClusterSet) served(ctx context.Context, n *redis.Node) ([]slotRange, error) {
	all, err := c.ranges(ctx, n)
	return slices.DeleteFunc(all, func(r slotRange) bool { return r.ids[0] != c.ids[n] }), err
}

// NodeOfSlot returns the master that serves a slot, once one running node alone does.
func (c *ClusterSet) NodeOfSlot(ctx context.Context, slot int) (*redis.Node, error) {
	return c.WaitFailover(ctx, slot, nil)
}

// WaitFailover waits until another node than old serves the slot, and returns the node.
func (c *ClusterSet) WaitFailover(ctx context.Context, slot int, old *redis.Node) (owner *redis.Node, err error) {
	err = redis.Until(ctx, fmt.Sprintf("a node other than %s serves slot %d", old, slot), func() error {
		var owners []*redis.Node
		for _, n := range running(c.nodes) {
			served, err := c.served(ctx, n)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(served, func(r slotRange) bool { return r.first <= slot && slot <= r.last }) && n != old {
				owners = append(owners, n)
			}
		}
		if len(owners) != 1 {
			return fmt.Errorf("served by %s", owners)
		}
		owner = owners[0]
		return nil
	})
	return owner, err
}

// ReplicasOf returns the replicas of a running master, by the master's list. A replica has no replicas.
func (c *ClusterSet) ReplicasOf(ctx context.Context, master *redis.Node) (replicas []*redis.Node, err error) {
	served, err := c.served(ctx, master)
	for _, n := range c.nodes {
		if n != master && len(served) > 0 && slices.Contains(served[0].ids, c.ids[n]) {
			replicas = append(replicas, n)
		}
	}
	return replicas, err
}

// Failover makes a replica take its master's place while both live. No write is lost.
func (c *ClusterSet) Failover(ctx context.Context, replica *redis.Node) error {
	if err := c.do(ctx, replica, "CLUSTER", "FAILOVER").Err(); err != nil {
		return err
	}
	return redis.Until(ctx, replica.Addr+" is a master", func() error {
		served, err := c.served(ctx, replica)
		if err == nil && len(served) == 0 {
			err = errors.New("it serves no slot")
		}
		return err
	})
}

// BeginMove begins the move of a slot between masters. Until FinishMove the old master answers for keys that it still has and sends
// clients on with ASK for others; a command with keys on both sides gets TRYAGAIN.
func (c *ClusterSet) BeginMove(ctx context.Context, slot int, from, to *redis.Node) error {
	// In this order from never sends a client to a node that would send it back.
	if err := c.do(ctx, to, "CLUSTER", "SETSLOT", slot, "IMPORTING", c.ids[from]).Err(); err != nil {
		return err
	}
	return c.do(ctx, from, "CLUSTER", "SETSLOT", slot, "MIGRATING", c.ids[to]).Err()
}

// MigrateKeys moves keys of the slot, by default all, at most 1000. It skips keys that do not exist.
func (c *ClusterSet) MigrateKeys(ctx context.Context, slot int, from, to *redis.Node, keys ...string) (err error) {
	if len(keys) == 0 {
		if keys, err = c.do(ctx, from, "CLUSTER", "GETKEYSINSLOT", slot, 1000).StringSlice(); err != nil || len(keys) == 0 {
			return err
		}
	}
	host, port, _ := net.SplitHostPort(to.Addr)
	call := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		call = append(call, key)
	}
	return c.do(ctx, from, call...).Err()
}

// FinishMove gives the slot to its new master and tells all running masters, so that no master sends clients to the old one.
func (c *ClusterSet) FinishMove(ctx context.Context, slot int, from, to *redis.Node) error {
	// The new owner first: the slot always has an owner.
	for _, n := range append([]*redis.Node{to, from}, running(c.nodes)...) {
		err := c.do(ctx, n, "CLUSTER", "SETSLOT", slot, "NODE", c.ids[to]).Err()
		if err != nil && !strings.Contains(err.Error(), "only with masters") {
			return err
		}
	}
	return nil
}

// MoveSlot moves a slot with all its keys between masters.
func (c *ClusterSet) MoveSlot(ctx context.Context, slot int, from, to *redis.Node) error {
	err := c.BeginMove(ctx, slot, from, to)
	if err == nil {
		err = c.MigrateKeys(ctx, slot, from, to)
	}
	if err == nil {
		err = c.FinishMove(ctx, slot, from, to)
	}
	return err
}

// MoveAtOnce has the server move a slot with all its keys, which no client sees half-moved. Valkey has it from 9 on.
func (c *ClusterSet) MoveAtOnce(ctx context.Context, slot int, from, to *redis.Node) error {
	if err := c.do(ctx, from, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", c.ids[to]).Err(); err != nil {
		return err
	}
	_, err := c.WaitFailover(ctx, slot, from)
	return err
}
