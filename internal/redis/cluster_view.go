package redis

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// member is one line of CLUSTER NODES.
type member struct {
	id, addr string
	flags    map[string]bool
	master   string // id, "-" for a master
	epoch    int
	linked   bool
	slots    [][2]int
}

func (m member) owns(slot int) bool {
	for _, r := range m.slots {
		if r[0] <= slot && slot <= r[1] {
			return true
		}
	}
	return false
}

// members is how this node sees its cluster; its own line is flagged "myself".
func (n *Node) members(ctx context.Context) ([]member, error) {
	client, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	text, err := client.ClusterNodes(ctx).Result()
	if err != nil {
		return nil, err
	}
	var all []member
	for line := range strings.Lines(text) {
		m, err := parseMember(line)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// parseMember reads "id host:port@bus flags master ping pong epoch link slots…".
// Slots on the move stand in brackets and belong to the node that has them yet.
func parseMember(line string) (member, error) {
	words := strings.Fields(line)
	if len(words) < 8 {
		return member{}, fmt.Errorf("CLUSTER NODES: %d words in %q, want 8 or more", len(words), line)
	}
	m := member{id: words[0], master: words[3], linked: words[7] == "connected", flags: map[string]bool{}}
	m.addr, _, _ = strings.Cut(words[1], "@")
	for flag := range strings.SplitSeq(words[2], ",") {
		m.flags[flag] = true
	}
	var err error
	if m.epoch, err = strconv.Atoi(words[6]); err != nil {
		return member{}, fmt.Errorf("CLUSTER NODES: epoch of %q: %w", line, err)
	}
	for _, word := range words[8:] {
		if strings.HasPrefix(word, "[") {
			continue
		}
		from, to, ok := strings.Cut(word, "-")
		if !ok {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			return member{}, fmt.Errorf("CLUSTER NODES: %q is no range of slots", word)
		}
		m.slots = append(m.slots, [2]int{first, last})
	}
	return m, nil
}

// whole reports whether every node that runs agrees that all of them are in their
// roles and without a fault, and is in step with its master if it is a replica;
// the error says what is missing.
func (c *ClusterSet) whole(ctx context.Context, masters int) (bool, error) {
	up := c.running()
	for _, n := range up {
		if ok, err := n.agrees(ctx, up, masters); !ok {
			return false, fmt.Errorf("%s: %w", n.Addr, err)
		}
		info, err := n.replication(ctx)
		if err != nil {
			return false, err
		}
		if info["role"] == "slave" && info["master_link_status"] != "up" {
			return false, fmt.Errorf("%s: its link to its master is %s", n.Addr, info["master_link_status"])
		}
	}
	return true, nil
}

// agrees reports whether n sees all of up as healthy members, masters of them
// serving slots, and what it lacks.
func (n *Node) agrees(ctx context.Context, up nodes, masters int) (bool, error) {
	client, err := n.connect(ctx)
	if err != nil {
		return false, err
	}
	defer client.Close()
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return false, err
	}
	if state := fields(info)["cluster_state"]; state != "ok" {
		return false, fmt.Errorf("cluster_state:%s", state)
	}
	all, err := n.members(ctx)
	if err != nil {
		return false, err
	}
	healthy, serving := 0, 0
	for _, m := range all {
		if _, err := up.at(m.addr); err != nil && !m.flags["myself"] {
			continue
		}
		if !m.linked || m.flags["fail"] || m.flags["fail?"] || m.flags["handshake"] || m.flags["noaddr"] {
			return false, fmt.Errorf("it sees no healthy %s", m.addr)
		}
		healthy++
		if len(m.slots) > 0 {
			serving++
		}
		if m.flags["master"] && len(m.slots) == 0 {
			return false, fmt.Errorf("it sees %s as a master of no slots", m.addr)
		}
	}
	if healthy != len(up) || serving != masters {
		return false, fmt.Errorf("it sees %d nodes, %d with slots, want %d and %d", healthy, serving, len(up), masters)
	}
	return true, nil
}

func (c *ClusterSet) running() nodes {
	var up nodes
	for _, n := range c.all {
		if n.Running() {
			up = append(up, n)
		}
	}
	return up
}

// Settle waits until the cluster is whole again after a fault, judged by the
// nodes that run: each says cluster_state:ok and sees all others healthy, every
// slot is served by one of them, and every replica among them is in step with
// its master. The error says what was still missing when ctx ended.
func (c *ClusterSet) Settle(ctx context.Context) error {
	return until(ctx, "the cluster is whole", func(ctx context.Context) (bool, error) {
		masters, err := c.masters(ctx)
		if err != nil {
			return false, err
		}
		served := 0
		for _, m := range masters {
			for _, r := range m.slots {
				served += r[1] - r[0] + 1
			}
		}
		if served != slots {
			return false, fmt.Errorf("the nodes that run serve %d of %d slots", served, slots)
		}
		return c.whole(ctx, len(masters))
	})
}

// masters are the nodes that run and serve slots, each by its own word. Two may
// claim one slot while the loser has not heard yet.
func (c *ClusterSet) masters(ctx context.Context) (map[*Node]member, error) {
	found := map[*Node]member{}
	for _, n := range c.running() {
		all, err := n.members(ctx)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if m.flags["myself"] && m.flags["master"] && len(m.slots) > 0 {
				found[n] = m
			}
		}
	}
	return found, nil
}

// NodeOfSlot is the master that serves a slot: of the nodes that run, the one
// that says so with the highest epoch. While none does, because the master is
// gone and no replica took its place yet, it is an error.
func (c *ClusterSet) NodeOfSlot(ctx context.Context, slot int) (*Node, error) {
	masters, err := c.masters(ctx)
	if err != nil {
		return nil, err
	}
	var owner *Node
	for n, m := range masters {
		if m.owns(slot) && (owner == nil || m.epoch > masters[owner].epoch) {
			owner = n
		}
	}
	if owner == nil {
		return nil, fmt.Errorf("no node that runs serves slot %d", slot)
	}
	return owner, nil
}

// NodeOfKey is NodeOfSlot of the key's slot.
func (c *ClusterSet) NodeOfKey(ctx context.Context, key string) (*Node, error) {
	slot, err := c.SlotOf(ctx, key)
	if err != nil {
		return nil, err
	}
	return c.NodeOfSlot(ctx, slot)
}

// SlotOf is the hash slot of a key, asked of a node that runs.
func (c *ClusterSet) SlotOf(ctx context.Context, key string) (int, error) {
	running := c.running()
	if len(running) == 0 {
		return 0, fmt.Errorf("no node runs that could tell the slot of %q", key)
	}
	client, err := running[0].connect(ctx)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	slot, err := client.ClusterKeySlot(ctx, key).Result()
	return int(slot), err
}

// ReplicasOf are the replicas of a master that runs, as it knows them, those
// that do not run included.
func (c *ClusterSet) ReplicasOf(ctx context.Context, master *Node) ([]*Node, error) {
	all, err := master.members(ctx)
	if err != nil {
		return nil, err
	}
	own := ""
	for _, m := range all {
		if m.flags["myself"] {
			own = m.id
		}
	}
	var replicas []*Node
	for _, m := range all {
		if _, _, err := net.SplitHostPort(m.addr); err != nil || m.master != own {
			continue
		}
		n, err := c.all.at(m.addr)
		if err != nil {
			return nil, err
		}
		replicas = append(replicas, n)
	}
	return replicas, nil
}
