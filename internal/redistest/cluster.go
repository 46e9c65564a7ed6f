package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/listen"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// ClusterSet is a Redis Cluster of local processes. Its Nodes are the masters as started, then their replicas.
type ClusterSet struct{ Set }

// StartCluster gives a Redis Cluster on 127.0.0.1, ready when all nodes agree: masters share the slots, and a master that is
// gone is replaced about 3 s later. args are arguments of each server, as for redis.StartProcess.
func StartCluster(ctx context.Context, path string, masters, replicas int, args ...string) (*ClusterSet, error) {
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	c := &ClusterSet{}
	if err := c.start(ctx, path, masters, replicas, args); err != nil {
		return nil, errors.Join(fmt.Errorf("forming the cluster: %w", err), c.Close())
	}
	return c, nil
}

func (c *ClusterSet) start(ctx context.Context, path string, masters, replicas int, args []string) error {
	for i := range masters * (1 + replicas) {
		bus, err := listen.Stable(ctx)
		if err != nil {
			return err
		}
		_, port, _ := net.SplitHostPort(bus.Addr().String())
		bus.Close()
		others := c.nodes
		n, err := c.Set.start(ctx, path, "", append([]string{
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-port", port, "--cluster-node-timeout", "2000",
			"--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no",
		}, args...)...)
		if err != nil {
			return err
		}
		// Masters that have to settle equal epochs first may not get the votes of an early election.
		calls := [][]any{{"CLUSTER", "SET-CONFIG-EPOCH", i + 1}}
		if i < masters {
			calls = append(calls, []any{"CLUSTER", "ADDSLOTSRANGE", i * slots / masters, (i+1)*slots/masters - 1})
		}
		for _, other := range others { // each meets each: gossip is slower
			host, at, _ := net.SplitHostPort(other.Addr)
			config, err := c.do(ctx, other, "CONFIG", "GET", "cluster-port").StringSlice()
			if err != nil {
				return err
			}
			calls = append(calls, []any{"CLUSTER", "MEET", host, at, config[1]})
		}
		if _, err := c.conns[n].Pipe(ctx, calls...); err != nil {
			return err
		}
	}
	for i, n := range c.nodes[masters:] {
		master, err := c.id(ctx, c.nodes[i%masters])
		if err == nil { // it is refused until the node has heard of the master
			err = until(ctx, n.Addr+" replicates its master", func() error { return c.do(ctx, n, "CLUSTER", "REPLICATE", master).Err() })
		}
		if err != nil {
			return err
		}
	}
	if err := c.Settle(ctx); err != nil {
		return err
	}
	return c.form(ctx, fmt.Sprintf("cluster of %d nodes", len(c.nodes)), redis.Cluster, c.nodes)
}

func (c *ClusterSet) id(ctx context.Context, n *redis.Node) (string, error) {
	return c.do(ctx, n, "CLUSTER", "MYID").Text()
}

// member is one line of CLUSTER NODES.
type member struct {
	id, addr, master string
	flags            []string
	linked           bool
	epoch            int
	slots            []string
}

// is reports whether it has one of the flags.
func (m member) is(flags ...string) bool {
	return slices.ContainsFunc(flags, func(flag string) bool { return slices.Contains(m.flags, flag) })
}

// count is how many slots it has, of those from first to last.
func (m member) count(first, last int) (n int) {
	for _, text := range m.slots { // one on the move stands in brackets besides
		from, to, isRange := strings.Cut(text, "-")
		if !isRange {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 == nil && err2 == nil {
			n += max(0, min(high, last)-max(low, first)+1)
		}
	}
	return n
}

// members is how a node sees its cluster.
func (c *ClusterSet) members(ctx context.Context, n *redis.Node) (own member, all []member, err error) {
	text, err := c.do(ctx, n, "CLUSTER", "NODES").Text()
	own, all = parseNodes(text)
	return own, all, err
}

// parseNodes reads an answer to CLUSTER NODES, and which of the lines is about the node itself.
func parseNodes(text string) (own member, all []member) {
	for line := range strings.Lines(text) {
		// id host:port@bus flags master ping pong epoch link slots…
		words := append(strings.Fields(line), make([]string, 8)...)
		m := member{id: words[0], master: words[3], flags: strings.Split(words[2], ","), linked: words[7] == "connected", slots: words[8 : len(words)-8]}
		m.addr, _, _ = strings.Cut(words[1], "@")
		m.epoch, _ = strconv.Atoi(words[6])
		if all = append(all, m); m.is("myself") {
			own = m
		}
	}
	return own, all
}

// Settle waits until the cluster is whole again after a fault: each node that runs says cluster_state:ok and sees all others
// that run healthy, they serve every slot, and replicas are in step with their masters.
func (c *ClusterSet) Settle(ctx context.Context) error {
	return until(ctx, "the cluster is whole", func() error { return c.wrong(ctx) })
}

func (c *ClusterSet) wrong(ctx context.Context) error {
	up, served := running(c.nodes), 0
	masters := map[int]bool{}
	for _, n := range up {
		info, err1 := c.do(ctx, n, "CLUSTER", "INFO").Text()
		own, all, err2 := c.members(ctx, n)
		role, err3 := c.replication(ctx, n)
		if err := errors.Join(err1, err2, err3); err != nil || !strings.Contains(info, "cluster_state:ok") {
			return fmt.Errorf("%s: its cluster_state is not ok: %w", n, err)
		}
		served += own.count(0, slots-1)
		healthy, serving := 0, 0
		for _, m := range all {
			if m.is("master") && !m.is("fail") && len(m.slots) > 0 {
				serving++
			}
			runs := m.id == own.id || slices.ContainsFunc(up, func(n *redis.Node) bool { return n.Addr == m.addr })
			if runs && m.linked && !m.is("fail", "fail?", "handshake", "noaddr") && (m.is("slave") || len(m.slots) > 0) {
				healthy++
			}
		}
		masters[serving] = true
		if role["role"] == "slave" && role["master_link_status"] != "up" || healthy != len(up) {
			return fmt.Errorf("%s: it is not in step with its master, or sees %d healthy nodes of %d", n, healthy, len(up))
		}
	}
	if served != slots || len(masters) != 1 {
		return fmt.Errorf("the nodes that run serve %d of %d slots, and see %d numbers of masters", served, slots, len(masters))
	}
	return nil
}

// NodeOfSlot is the master that serves a slot: of the nodes that run, the one that says so with the highest epoch.
func (c *ClusterSet) NodeOfSlot(ctx context.Context, slot int) (owner *redis.Node, err error) {
	epoch := -1
	for _, n := range running(c.nodes) {
		own, _, err := c.members(ctx, n)
		if err != nil {
			return nil, err
		}
		if own.is("master") && own.count(slot, slot) > 0 && own.epoch > epoch {
			owner, epoch = n, own.epoch
		}
	}
	if owner == nil {
		return nil, fmt.Errorf("no node that runs serves slot %d", slot)
	}
	return owner, nil
}

// NodeOfKey is NodeOfSlot of the key's slot.
func (c *ClusterSet) NodeOfKey(ctx context.Context, key string) (*redis.Node, error) {
	return c.NodeOfSlot(ctx, wire.Slot(key))
}

// ReplicasOf are the replicas of a master that runs, as it knows them.
func (c *ClusterSet) ReplicasOf(ctx context.Context, master *redis.Node) (replicas []*redis.Node, err error) {
	own, all, err := c.members(ctx, master)
	for _, m := range all {
		if n := c.at(m.addr); n != nil && m.master == own.id {
			replicas = append(replicas, n)
		}
	}
	return replicas, err
}

// Failover has a replica take its master's place while both live, so that no write is lost.
func (c *ClusterSet) Failover(ctx context.Context, replica *redis.Node) error {
	if err := c.do(ctx, replica, "CLUSTER", "FAILOVER").Err(); err != nil {
		return err
	}
	return until(ctx, replica.Addr+" is a master", func() error {
		own, _, err := c.members(ctx, replica)
		if err == nil && (!own.is("master") || len(own.slots) == 0) {
			err = errors.New("it is none")
		}
		return err
	})
}

// WaitFailover waits until another node than old serves the slot, and returns it.
func (c *ClusterSet) WaitFailover(ctx context.Context, slot int, old *redis.Node) (owner *redis.Node, err error) {
	err = until(ctx, fmt.Sprintf("another node than %s serves slot %d", old, slot), func() (err error) {
		if owner, err = c.NodeOfSlot(ctx, slot); err == nil && owner == old {
			err = errors.New("it does itself")
		}
		return err
	})
	return owner, err
}

// Move is a slot on its way from one master to another. Between BeginMove and Finish the old master answers for keys that it
// holds still and sends clients on with ASK for others; commands of keys on both sides get TRYAGAIN.
type Move struct {
	set      *ClusterSet
	slot     int
	from, to *redis.Node
}

// BeginMove marks the slot as importing at to and migrating at from, which has to own it.
func (c *ClusterSet) BeginMove(ctx context.Context, slot int, from, to *redis.Node) (*Move, error) {
	m := &Move{c, slot, from, to}
	// In this order from never sends a client to a node that would send it back.
	err := m.mark(ctx, to, "IMPORTING", from)
	if err == nil {
		if err = m.mark(ctx, from, "MIGRATING", to); err != nil {
			err = errors.Join(err, m.mark(ctx, to, "STABLE", nil))
		}
	}
	return m, err
}

// mark sets the state of the slot at a node; of names the other node of that state.
func (m *Move) mark(ctx context.Context, at *redis.Node, state string, of *redis.Node) error {
	call := []any{"CLUSTER", "SETSLOT", m.slot, state}
	if of != nil {
		id, err := m.set.id(ctx, of)
		if err != nil {
			return err
		}
		call = append(call, id)
	}
	return m.set.do(ctx, at, call...).Err()
}

// MigrateKeys takes these keys of the slot over, or all of it when none is named; keys that are not there are left out.
func (m *Move) MigrateKeys(ctx context.Context, keys ...string) error {
	for all := len(keys) == 0; ; {
		var err error
		if all {
			if keys, err = m.set.do(ctx, m.from, "CLUSTER", "GETKEYSINSLOT", m.slot, 100).StringSlice(); err != nil || len(keys) == 0 {
				return err
			}
		}
		host, port, _ := net.SplitHostPort(m.to.Addr)
		call := []any{"MIGRATE", host, port, "", 0, 5000}
		config, err := m.set.do(ctx, m.to, "CONFIG", "GET", "requirepass").StringSlice()
		if err != nil {
			return err
		}
		if config[1] != "" {
			call = append(call, "AUTH", config[1])
		}
		call = append(call, "KEYS")
		for _, key := range keys {
			call = append(call, key)
		}
		if err := m.set.do(ctx, m.from, call...).Err(); err != nil || !all {
			return err
		}
	}
}

// Finish gives the slot to its new master and says so to all masters that run, so that none sends clients to the old one.
func (m *Move) Finish(ctx context.Context) error {
	// The new owner first: if the old one let go before, for a moment none would be.
	for _, n := range append([]*redis.Node{m.to, m.from}, running(m.set.nodes)...) {
		own, _, err := m.set.members(ctx, n)
		if err == nil && own.is("master") {
			err = m.mark(ctx, n, "NODE", m.to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Abort leaves the slot with its old master. Keys that were taken over stay with the other.
func (m *Move) Abort(ctx context.Context) error {
	return errors.Join(m.mark(ctx, m.from, "STABLE", nil), m.mark(ctx, m.to, "STABLE", nil))
}

// MoveSlot moves a slot with all its keys from one master to another.
func (c *ClusterSet) MoveSlot(ctx context.Context, slot int, from, to *redis.Node) error {
	m, err := c.BeginMove(ctx, slot, from, to)
	if err == nil {
		err = m.MigrateKeys(ctx)
	}
	if err == nil {
		err = m.Finish(ctx)
	}
	if err != nil {
		return fmt.Errorf("moving slot %d: %w", slot, err)
	}
	return nil
}
