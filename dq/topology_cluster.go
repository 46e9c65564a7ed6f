package dq

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// clusterTopology is a Redis Cluster. Its table of slots is asked for when it is
// needed first, now and then, and whenever anything looks wrong; MOVED mends it at
// once.
type clusterTopology struct {
	ctx   context.Context
	opt   *redis.ClusterOptions
	table atomic.Pointer[slotTable] // nil before the first
	stale chan struct{}             // a new table is wanted

	mu       sync.Mutex
	nodes    map[string]*node
	absent   map[*node]time.Time // since when the table does not name it
	silent   map[*node]bool      // it did not answer in time
	checking map[*node]bool      // it is being asked for a sign of life
	loading  *loading
	closed   bool
}

// loading is a load that several callers wait for.
type loading struct {
	done chan struct{}
	err  error
}

// Timing of the table of slots.
const (
	// slotsInterval is how old the table becomes without any sign of a change, and
	// slotsPause how long the next load waits whatever the signs are.
	slotsInterval = 10 * time.Second
	slotsPause    = 100 * time.Millisecond
	// slotsTimeout bounds asking one server for the table, or for a sign of life.
	slotsTimeout = time.Second
	// silenceInterval is how often the nodes are looked at for one that is silent.
	silenceInterval = 250 * time.Millisecond
	// absentGrace is how long connections to a server are kept that no table names.
	absentGrace = 30 * time.Second
)

// errNoOwner says that a slot has no server, as for a moment in a fail-over.
var errNoOwner = errors.New("no server of the Cluster has slot")

func newClusterTopology(ctx context.Context, rdb *redis.ClusterClient) *clusterTopology {
	opt := *rdb.Options()
	t := &clusterTopology{
		ctx: ctx, opt: &opt, stale: make(chan struct{}, 1),
		nodes: make(map[string]*node), absent: make(map[*node]time.Time),
		silent: make(map[*node]bool), checking: make(map[*node]bool),
	}
	go t.keepTable()
	go t.watchSilence()
	return t
}

func (t *clusterTopology) owner(ctx context.Context, key string) (*node, error) {
	table := t.table.Load()
	if table == nil {
		if err := t.load(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", errUnsent, err)
		}
		table = t.table.Load()
	}
	slot := wire.Slot(key)
	address, ok := table.master(slot)
	if !ok {
		t.suspect(nil)
		return nil, fmt.Errorf("%w: %w %d, that of %q", errUnsent, errNoOwner, slot, key)
	}
	return t.at(address), nil
}

func (t *clusterTopology) at(address string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.nodes[address]
	if !ok {
		n = newNode(t.ctx, t.nodeOptions(address), t)
		t.nodes[address] = n
		if t.closed {
			n.retire(ErrClosed)
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
		TLSConfig: o.TLSConfig, IdentitySuffix: o.IdentitySuffix,
		DisableIdentity: o.DisableIdentity || o.DisableIndentity, //nolint:staticcheck // the old spelling is still set
	})
	defer client.Close()
	return client.Options()
}

func (t *clusterTopology) suspect(*node) {
	select {
	case t.stale <- struct{}{}:
	default:
	}
}

// redirected takes note of MOVED, so that the next command need not be sent on.
func (t *clusterTopology) redirected(key, address string) {
	slot := wire.Slot(key)
	for {
		old := t.table.Load()
		if old == nil {
			return
		}
		if now, ok := old.master(slot); ok && now == address {
			return
		}
		if t.table.CompareAndSwap(old, old.with(slot, address)) {
			t.suspect(nil)
			return
		}
	}
}

func (t *clusterTopology) moved(*node) bool { return false }

func (t *clusterTopology) follows() bool { return true }

// keepTable loads the table anew, once there is one, when it is stale or old.
func (t *clusterTopology) keepTable() {
	var retry backoff
	interval := slotsInterval
	if own := t.opt.ClusterStateReloadInterval; own > 0 {
		interval = min(own, interval)
	}
	for t.ctx.Err() == nil {
		old := time.NewTimer(interval)
		select {
		case <-t.stale:
		case <-old.C:
		case <-t.ctx.Done():
		}
		old.Stop()
		if t.table.Load() == nil {
			continue
		}
		wait := slotsPause
		if t.load(t.ctx) == nil {
			retry.reset()
		} else {
			wait = retry.next()
			t.suspect(nil)
		}
		_ = pause(t.ctx, wait)
	}
}

// load has the table loaded, once for all who ask meanwhile, and waits for that no
// longer than ctx.
func (t *clusterTopology) load(ctx context.Context) error {
	t.mu.Lock()
	l := t.loading
	if l == nil {
		l = &loading{done: make(chan struct{})}
		t.loading = l
		go func() {
			l.err = t.reload()
			t.mu.Lock()
			t.loading = nil
			t.mu.Unlock()
			close(l.done)
		}()
	}
	t.mu.Unlock()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *clusterTopology) reload() error {
	ranges, err := t.slots()
	if err != nil {
		return err
	}
	table := newSlotTable(ranges)
	t.table.Store(table)
	t.leaveBehind(table)
	return nil
}

// slots asks the servers, one after the other, those first that are likely to answer.
func (t *clusterTopology) slots() ([]slotRange, error) {
	if own := t.opt.ClusterSlots; own != nil {
		return givenSlots(own(t.ctx))
	}
	var errs []error
	for _, address := range t.candidates() {
		ctx, cancel := context.WithTimeout(t.ctx, slotsTimeout)
		ranges, err := askSlots(ctx, t.at(address))
		cancel()
		if err == nil {
			return ranges, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no server of the cluster tells its slots: %w", errors.Join(errs...))
}

func givenSlots(slots []redis.ClusterSlot, err error) ([]slotRange, error) {
	ranges := make([]slotRange, 0, len(slots))
	for _, s := range slots {
		r := slotRange{start: s.Start, end: s.End}
		for _, n := range s.Nodes {
			r.servers = append(r.servers, n.Addr)
		}
		ranges = append(ranges, r)
	}
	return ranges, err
}

// candidates returns the addresses of servers to ask: of those that are connected
// first, then of the others that are known, and last of the silent ones.
func (t *clusterTopology) candidates() []string {
	rank := make(map[string]int)
	for _, address := range t.opt.Addrs {
		rank[address] = 2
	}
	if table := t.table.Load(); table != nil {
		for address := range table.servers {
			rank[address] = 1
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, n := range t.nodes {
		n.mu.Lock()
		l := n.shared[backgroundLane]
		n.mu.Unlock()
		switch {
		case t.silent[n]:
			rank[address] = 4
		case l == nil || !l.alive():
			rank[address] = 1
		case l.oldest() < slotsTimeout/4:
			rank[address] = 0
		default:
			rank[address] = 3
		}
	}
	all := slices.Collect(maps.Keys(rank))
	slices.SortStableFunc(all, func(a, b string) int { return rank[a] - rank[b] })
	return all
}
