package dq

import (
	"context"
	"maps"
	"slices"
	"time"
)

// leaveBehind sees to the nodes that a new table gives no slots. One that answers tells
// those who block on it itself that they have to go (MOVED, UNBLOCKED), and what it
// has popped for them still arrives. One that is silent is cut off.
func (t *clusterTopology) leaveBehind(table *slotTable) {
	now := time.Now()
	var gone []*node
	t.mu.Lock()
	for address, n := range t.nodes {
		master, named := table.servers[address]
		if named {
			delete(t.absent, n)
		} else if since, ok := t.absent[n]; !ok {
			t.absent[n] = now
		} else if now.Sub(since) > absentGrace {
			gone = append(gone, n)
		}
		switch {
		case master:
		case t.silent[n]:
			gone = append(gone, n)
		case n.used():
			t.check(n)
		}
	}
	t.mu.Unlock()
	for _, n := range gone {
		t.drop(n)
	}
}

// drop cuts a node off. Should its address be needed again, it gets a new one.
func (t *clusterTopology) drop(n *node) {
	t.mu.Lock()
	if t.nodes[n.opt.Addr] == n {
		delete(t.nodes, n.opt.Addr)
	}
	delete(t.absent, n)
	delete(t.silent, n)
	t.mu.Unlock()
	n.retire(errRetired)
}

// watchSilence has the table loaded anew while a server does not answer: a master
// that hangs is replaced without any connection to it breaking.
func (t *clusterTopology) watchSilence() {
	for pause(t.ctx, silenceInterval) == nil {
		t.mu.Lock()
		for _, n := range t.nodes {
			if n.stalled() {
				t.silent[n] = true
			}
		}
		for n := range t.silent {
			t.check(n)
			t.suspect(n)
		}
		t.mu.Unlock()
	}
}

// check asks a node for a sign of life; if none comes it is silent until one does.
// Call with mu held.
func (t *clusterTopology) check(n *node) {
	if t.checking[n] {
		return
	}
	t.checking[n] = true
	go func() {
		ctx, cancel := context.WithTimeout(t.ctx, slotsTimeout)
		defer cancel()
		_, err := n.ask(ctx, "PING")
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.checking, n)
		switch {
		case t.nodes[n.opt.Addr] != n:
		case ctx.Err() == nil || err == nil:
			delete(t.silent, n) // it answers, or is gone for all to see
		default:
			t.silent[n] = true
			t.suspect(n)
		}
	}()
}

// used reports whether there is any connection to the node.
func (n *node) used() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.open)+len(n.others) > 0
}

func (t *clusterTopology) close() {
	t.mu.Lock()
	t.closed = true
	all := slices.Collect(maps.Values(t.nodes))
	t.mu.Unlock()
	for _, n := range all {
		n.retire(ErrClosed)
	}
}
