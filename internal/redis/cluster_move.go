package redis

import (
	"context"
	"errors"
	"fmt"
	"net"

	goredis "github.com/redis/go-redis/v9"
)

// moveBatch is how many keys one MIGRATE takes along.
const moveBatch = 100

// Move is a slot on its way from one master to another, in the steps of
// redis-cli --cluster reshard. Between BeginMove and Finish the old master
// answers for keys that it holds still and sends clients on with ASK for
// others; commands of keys on both sides get TRYAGAIN.
type Move struct {
	// Slot is the hash slot on the move.
	Slot int
	// From and To are the masters that it leaves and goes to.
	From, To *Node

	set    *ClusterSet
	fromID string
	toID   string
}

// BeginMove marks the slot as importing at to and migrating at from, which has
// to own it.
func (c *ClusterSet) BeginMove(ctx context.Context, slot int, from, to *Node) (*Move, error) {
	m := &Move{Slot: slot, From: from, To: to, set: c}
	var err error
	if m.fromID, _, err = from.card(ctx); err != nil {
		return nil, err
	}
	if m.toID, _, err = to.card(ctx); err != nil {
		return nil, err
	}
	// In this order from never sends a client to a node that would send it back.
	if err := to.do(ctx, m.setSlot("importing", m.fromID)); err != nil {
		return nil, err
	}
	if err := from.do(ctx, m.setSlot("migrating", m.toID)); err != nil {
		return nil, errors.Join(err, to.do(ctx, []any{"cluster", "setslot", slot, "stable"}))
	}
	return m, nil
}

func (m *Move) setSlot(state, id string) []any { return []any{"cluster", "setslot", m.Slot, state, id} }

// MigrateKeys takes these keys of the slot over, or all of it when none is
// named, 100 at a time; keys that are not there are left out.
func (m *Move) MigrateKeys(ctx context.Context, keys ...string) error {
	client, err := m.From.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(keys) > 0 {
		return m.migrate(ctx, client, keys)
	}
	for {
		keys, err := client.ClusterGetKeysInSlot(ctx, m.Slot, moveBatch).Result()
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := m.migrate(ctx, client, keys); err != nil {
			return err
		}
	}
}

func (m *Move) migrate(ctx context.Context, client *goredis.Client, keys []string) error {
	host, port, _ := net.SplitHostPort(m.To.Addr)
	call := []any{"migrate", host, port, "", 0, killTimeout.Milliseconds()}
	if word := m.To.target.password; word != "" {
		call = append(call, "auth", word)
	}
	call = append(call, "keys")
	for _, key := range keys {
		call = append(call, key)
	}
	return client.Do(ctx, call...).Err()
}

// Finish gives the slot to its new master and says so to all masters that run,
// so that none sends clients to the old one.
func (m *Move) Finish(ctx context.Context) error {
	masters, err := m.set.masters(ctx)
	if err != nil {
		return err
	}
	// The new owner first: if the old one let go before, for a moment none would be.
	for _, n := range []*Node{m.To, m.From} {
		if err := n.do(ctx, m.setSlot("node", m.toID)); err != nil {
			return err
		}
		delete(masters, n)
	}
	for n := range masters {
		if err := n.do(ctx, m.setSlot("node", m.toID)); err != nil {
			return err
		}
	}
	return nil
}

// Abort leaves the slot with its old master. Keys that were taken over stay with
// the other, where no client finds them: take them back first if there are any.
func (m *Move) Abort(ctx context.Context) error {
	stable := []any{"cluster", "setslot", m.Slot, "stable"}
	return errors.Join(m.From.do(ctx, stable), m.To.do(ctx, stable))
}

// MoveSlot moves a slot with all its keys from one master to another.
func (c *ClusterSet) MoveSlot(ctx context.Context, slot int, from, to *Node) error {
	m, err := c.BeginMove(ctx, slot, from, to)
	if err != nil {
		return fmt.Errorf("moving slot %d: %w", slot, err)
	}
	if err := m.MigrateKeys(ctx); err != nil {
		return fmt.Errorf("moving slot %d: %w", slot, err)
	}
	return m.Finish(ctx)
}

// Failover has a replica take its master's place while that lives (CLUSTER
// FAILOVER: no write is lost), and returns when it serves the slots. Other nodes
// may hear of it later: Settle waits for them.
func (c *ClusterSet) Failover(ctx context.Context, replica *Node) error {
	if err := replica.do(ctx, []any{"cluster", "failover"}); err != nil {
		return err
	}
	return until(ctx, replica.Addr+" is a master", func(ctx context.Context) (bool, error) {
		masters, err := c.masters(ctx)
		_, ok := masters[replica]
		return ok, err
	})
}

// WaitFailover waits until another node than old serves the slot, and returns it.
func (c *ClusterSet) WaitFailover(ctx context.Context, slot int, old *Node) (*Node, error) {
	var owner *Node
	err := until(ctx, fmt.Sprintf("another node than %s serves slot %d", old.Addr, slot), func(ctx context.Context) (bool, error) {
		n, err := c.NodeOfSlot(ctx, slot)
		owner = n
		return n != nil && n != old, err
	})
	return owner, err
}
