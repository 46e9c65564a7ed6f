package dq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// clusterTopology is a Redis Cluster. A client of go-redis keeps the table of slots,
// and asks for it here, so that it is had from the same connections and is asked for
// at once when anything looks wrong.
type clusterTopology struct {
	ctx    context.Context
	table  *redis.ClusterClient // only its table; it makes no connection
	opt    *redis.ClusterOptions
	loaded atomic.Bool

	mu    sync.Mutex
	nodes map[string]*node
}

// Timing of the table of slots.
const (
	// slotsInterval is how old the table becomes without any sign of a change.
	slotsInterval = 10 * time.Second
	// slotsTimeout bounds asking one server for the table.
	slotsTimeout = time.Second
	// silenceInterval is how often the nodes are looked at for one that is silent.
	silenceInterval = 500 * time.Millisecond
)

func newClusterTopology(ctx context.Context, rdb *redis.ClusterClient) *clusterTopology {
	opt := *rdb.Options()
	t := &clusterTopology{ctx: ctx, opt: &opt, nodes: make(map[string]*node)}
	table := opt
	table.MinIdleConns = 0
	table.ReadOnly, table.RouteByLatency, table.RouteRandomly = false, false, false
	table.ClusterStateReloadInterval = min(opt.ClusterStateReloadInterval, slotsInterval)
	if table.ClusterSlots == nil {
		table.ClusterSlots = t.slots
	}
	t.table = redis.NewClusterClient(&table)
	go t.watchSilence()
	return t
}

func (t *clusterTopology) owner(ctx context.Context, key string) (*node, error) {
	if !t.loaded.Load() {
		if err := t.load(ctx, key); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsent, err)
		}
	}
	master, err := t.table.MasterForKey(ctx, key)
	if err != nil {
		t.table.ReloadState(t.ctx)
		return nil, fmt.Errorf("%w: %w", errUnsent, err)
	}
	return t.at(master.Options().Addr), nil
}

// load waits for the first table, no longer than ctx.
func (t *clusterTopology) load(ctx context.Context, key string) error {
	loaded := make(chan error, 1)
	go func() {
		_, err := t.table.MasterForKey(t.ctx, key)
		loaded <- err
	}()
	select {
	case err := <-loaded:
		t.loaded.Store(err == nil)
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *clusterTopology) at(address string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.nodes[address]
	if !ok {
		n = newNode(t.ctx, t.nodeOptions(address), t)
		t.nodes[address] = n
		if t.ctx.Err() != nil {
			n.retired = ErrClosed
		}
	}
	return n
}

// nodeOptions returns how to connect to one server; go-redis fills in its defaults.
func (t *clusterTopology) nodeOptions(address string) *redis.Options {
	o := t.opt
	client := redis.NewClient(&redis.Options{
		Addr: address, ClientName: o.ClientName, Dialer: o.Dialer, OnConnect: o.OnConnect,
		Protocol: o.Protocol, Username: o.Username, Password: o.Password,
		CredentialsProvider:          o.CredentialsProvider,
		CredentialsProviderContext:   o.CredentialsProviderContext,
		StreamingCredentialsProvider: o.StreamingCredentialsProvider,
		DialTimeout:                  o.DialTimeout, ReadTimeout: asGiven(o.ReadTimeout), WriteTimeout: asGiven(o.WriteTimeout),
		TLSConfig: o.TLSConfig, DisableIdentity: o.DisableIdentity || o.DisableIndentity, IdentitySuffix: o.IdentitySuffix,
	})
	defer client.Close()
	return client.Options()
}

func (t *clusterTopology) suspect(*node) {
	if t.ctx.Err() == nil && t.loaded.Load() {
		t.table.ReloadState(t.ctx)
	}
}

func (t *clusterTopology) moved(*node) bool { return false }

func (t *clusterTopology) follows() bool { return true }

// watchSilence has the table loaded anew while a server does not answer: a master
// that hangs is replaced without any connection to it breaking.
func (t *clusterTopology) watchSilence() {
	for pause(t.ctx, silenceInterval) == nil {
		for _, n := range t.all() {
			if n.stalled() {
				t.suspect(n)
				break
			}
		}
	}
}

func (t *clusterTopology) all() []*node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.nodes))
}

// slots asks the servers, one after the other, those that are connected first.
func (t *clusterTopology) slots(ctx context.Context) ([]redis.ClusterSlot, error) {
	var errs []error
	for _, n := range t.candidates() {
		ctx, cancel := context.WithTimeout(ctx, slotsTimeout)
		slots, err := askSlots(ctx, n)
		cancel()
		if err == nil {
			return slots, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no server of the cluster tells its slots: %w", errors.Join(errs...))
}

func (t *clusterTopology) candidates() []*node {
	all := t.all()
	known := make(map[string]bool)
	for _, n := range all {
		known[n.opt.Addr] = true
	}
	for _, address := range t.opt.Addrs {
		if !known[address] {
			all = append(all, t.at(address))
		}
	}
	rank := func(n *node) int {
		n.mu.Lock()
		defer n.mu.Unlock()
		if l := n.shared[backgroundLane]; l != nil && l.alive() && l.oldest() < time.Second {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *node) int { return rank(a) - rank(b) })
	return all
}

func askSlots(ctx context.Context, n *node) ([]redis.ClusterSlot, error) {
	l, err := n.link(ctx, backgroundLane)
	if err != nil {
		return nil, err
	}
	replies, err := l.send([]any{"CLUSTER", "SLOTS"}).wait(ctx)
	if err != nil {
		return nil, err
	}
	if err, ok := replies[0].(resp.Error); ok {
		return nil, fmt.Errorf("%s: %w", n.opt.Addr, err)
	}
	return parseSlots(replies[0], n.opt.Addr)
}

// parseSlots reads the reply to CLUSTER SLOTS: ranges of slots, each with its master
// and then its replicas. A host that is left out is that of the server asked.
func parseSlots(reply any, asked string) ([]redis.ClusterSlot, error) {
	rows, ok := reply.([]any)
	if !ok || len(rows) == 0 {
		return nil, fmt.Errorf("%s: expected its slots, got %.100v", asked, reply)
	}
	all := make([]redis.ClusterSlot, 0, len(rows))
	for _, row := range rows {
		fields, _ := row.([]any)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s: expected a range of slots and its servers, got %.100v", asked, row)
		}
		start, ok1 := fields[0].(int64)
		end, ok2 := fields[1].(int64)
		if !ok1 || !ok2 || start < 0 || end < start || end > 16383 {
			return nil, fmt.Errorf("%s: expected a range of slots, got %.100v", asked, row)
		}
		slot := redis.ClusterSlot{Start: int(start), End: int(end)}
		for _, server := range fields[2:] {
			address, err := slotAddress(server, asked)
			if err != nil {
				return nil, err
			}
			slot.Nodes = append(slot.Nodes, redis.ClusterNode{Addr: address})
		}
		all = append(all, slot)
	}
	return all, nil
}

func slotAddress(server any, asked string) (string, error) {
	fields, _ := server.([]any)
	if len(fields) >= 2 {
		host, _ := fields[0].(string)
		if port, ok := fields[1].(int64); ok && port > 0 && port < 1<<16 {
			return fullAddress(net.JoinHostPort(host, fmt.Sprint(port)), asked), nil
		}
	}
	return "", fmt.Errorf("%s: expected a server's host and port, got %.100v", asked, server)
}

// fullAddress puts the host of the server that was asked where an address has none
// ("" or "?"), and where a server that is not on this machine says that another is.
func fullAddress(address, asked string) string {
	host, port, err := net.SplitHostPort(address)
	askedHost, _, askedErr := net.SplitHostPort(asked)
	if err != nil || askedErr != nil {
		return address
	}
	if host == "" || host == "?" || isLoopback(host) && !isLoopback(askedHost) {
		return net.JoinHostPort(askedHost, port)
	}
	return address
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (t *clusterTopology) close() {
	for _, n := range t.all() {
		n.retire(ErrClosed)
	}
	_ = t.table.Close()
}
