package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/listen"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// ClusterSet is a Redis Cluster of local processes. Its Nodes are the masters as started, then their replicas.
type ClusterSet struct{ Set }

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
	c := &ClusterSet{}
	return c, c.formed(ctx, func(ctx context.Context) error { return c.start(ctx, path, masters, replicas, args) })
}

// start forms the cluster node by node: redis-cli --cluster create takes seconds.
func (c *ClusterSet) start(ctx context.Context, path string, masters, replicas int, args []string) error {
	var meet [][]any // each node meets each: gossip is slower
	for i := range masters * (1 + replicas) {
		bus, err := listen.Stable(ctx)
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
		host, port, _ := net.SplitHostPort(n.Addr)
		meet = append(meet, []any{"CLUSTER", "MEET", host, port, busPort})
	}
	for i, n := range c.nodes[masters:] {
		master, err := c.id(ctx, c.nodes[i%masters])
		if err == nil { // the node refuses until it knows the master
			err = redis.Until(ctx, n.Addr+" replicates its master", func() error { return c.do(ctx, n, "CLUSTER", "REPLICATE", master).Err() })
		}
		if err != nil {
			return err
		}
	}
	if err := c.Settle(ctx); err != nil {
		return err
	}
	return c.whole(ctx, fmt.Sprintf("cluster of %d nodes", len(c.nodes)), redis.Cluster, c.nodes)
}

func (c *ClusterSet) id(ctx context.Context, n *redis.Node) (string, error) {
	return c.do(ctx, n, "CLUSTER", "MYID").Text()
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
	ranges, err3 := c.clients[n].ClusterSlots(ctx).Result()
	if err := errors.Join(err1, err2, err3); err != nil {
		return "", err
	}
	whole := strings.Contains(state, "cluster_state:ok") && strings.Contains(state, fmt.Sprintf("cluster_slots_ok:%d\r", slots))
	if !whole || role["role"] == "slave" && role["master_link_status"] != "up" {
		return "", fmt.Errorf("link to its master: %s, %s", role["master_link_status"], state)
	}
	up, seen, served := running(c.nodes), map[*redis.Node]bool{}, []string{}
	for _, r := range ranges {
		for _, member := range r.Nodes {
			seen[c.at(member.Addr)] = true
		}
		master := c.at(r.Nodes[0].Addr)
		if !slices.Contains(up, master) {
			return "", fmt.Errorf("it lists %s as a master", r.Nodes[0].Addr)
		}
		served = append(served, fmt.Sprintf("%d-%d %s", r.Start, r.End, master))
	}
	for _, other := range up {
		if !seen[other] {
			return "", fmt.Errorf("it does not list %s", other)
		}
	}
	slices.Sort(served)
	return strings.Join(served, ", "), nil
}

// served returns the slots that a node serves by its own list, each range as "1-5" or "7", and the addresses of its replicas. The list
// names addresses whatever endpoints the cluster prefers.
func (c *ClusterSet) served(ctx context.Context, n *redis.Node) (ranges, replicas []string, err error) {
	list, err1 := c.do(ctx, n, "CLUSTER", "NODES").Text()
	id, err2 := c.id(ctx, n)
	for line := range strings.Lines(list) {
		switch f := strings.Fields(line); {
		case len(f) < 8:
		case f[0] == id:
			ranges = f[8:]
		case f[3] == id:
			addr, _, _ := strings.Cut(f[1], "@")
			replicas = append(replicas, addr)
		}
	}
	return ranges, replicas, errors.Join(err1, err2)
}

// serves reports whether a range of served has the slot. A slot under way is "[1->-id]".
func serves(within string, slot int) bool {
	first, last, isRange := strings.Cut(within, "-")
	start, err := strconv.Atoi(first)
	end := start
	if isRange {
		end, _ = strconv.Atoi(last)
	}
	return err == nil && start <= slot && slot <= end
}

// NodeOfSlot returns the master that serves a slot, once one running node alone does.
func (c *ClusterSet) NodeOfSlot(ctx context.Context, slot int) (*redis.Node, error) {
	return c.WaitFailover(ctx, slot, nil)
}

// NodeOfKey is NodeOfSlot of the key's slot.
func (c *ClusterSet) NodeOfKey(ctx context.Context, key string) (*redis.Node, error) {
	return c.NodeOfSlot(ctx, wire.Slot(key))
}

// WaitFailover waits until another node than old serves the slot, and returns the node.
func (c *ClusterSet) WaitFailover(ctx context.Context, slot int, old *redis.Node) (owner *redis.Node, err error) {
	err = redis.Until(ctx, fmt.Sprintf("a node other than %s serves slot %d", old, slot), func() error {
		var owners []*redis.Node
		for _, n := range running(c.nodes) {
			served, _, err := c.served(ctx, n)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(served, func(within string) bool { return serves(within, slot) }) && n != old {
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
	_, addresses, err := c.served(ctx, master)
	for _, addr := range addresses {
		replicas = append(replicas, c.at(addr))
	}
	return replicas, err
}

// Failover makes a replica take its master's place while both live. No write is lost.
func (c *ClusterSet) Failover(ctx context.Context, replica *redis.Node) error {
	if err := c.do(ctx, replica, "CLUSTER", "FAILOVER").Err(); err != nil {
		return err
	}
	return redis.Until(ctx, replica.Addr+" is a master", func() error {
		served, _, err := c.served(ctx, replica)
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
	if err := c.setSlot(ctx, to, slot, "IMPORTING", from); err != nil {
		return err
	}
	return c.setSlot(ctx, from, slot, "MIGRATING", to)
}

func (c *ClusterSet) setSlot(ctx context.Context, at *redis.Node, slot int, state string, other *redis.Node) error {
	id, err := c.id(ctx, other)
	if err != nil {
		return err
	}
	return c.do(ctx, at, "CLUSTER", "SETSLOT", slot, state, id).Err()
}

// MigrateKeys moves keys of the slot, all if no key is given. It skips keys that do not exist.
func (c *ClusterSet) MigrateKeys(ctx context.Context, slot int, from, to *redis.Node, keys ...string) (err error) {
	host, port, _ := net.SplitHostPort(to.Addr)
	for all := len(keys) == 0; ; {
		if all {
			if keys, err = c.do(ctx, from, "CLUSTER", "GETKEYSINSLOT", slot, 100).StringSlice(); err != nil || len(keys) == 0 {
				return err
			}
		}
		call := []any{"MIGRATE", host, port, "", 0, 5000}
		if c.password != "" {
			call = append(call, "AUTH", c.password)
		}
		call = append(call, "KEYS")
		for _, key := range keys {
			call = append(call, key)
		}
		if err := c.do(ctx, from, call...).Err(); err != nil || !all {
			return err
		}
	}
}

// FinishMove gives the slot to its new master and tells all running masters, so that no master sends clients to the old one.
func (c *ClusterSet) FinishMove(ctx context.Context, slot int, from, to *redis.Node) error {
	// The new owner first: the slot always has an owner.
	for _, n := range append([]*redis.Node{to, from}, running(c.nodes)...) {
		served, _, err := c.served(ctx, n)
		if err == nil && len(served) > 0 {
			err = c.setSlot(ctx, n, slot, "NODE", to)
		}
		if err != nil {
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
