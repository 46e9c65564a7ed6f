package conn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// cluster is a Redis Cluster. Its table of slots is asked for when it is needed first, now and then, and whenever anything
// looks wrong; MOVED mends it at once. go-redis has a table of its own, but asks one server after the other for it, each for
// as long as its read time-out, while a master hangs.
type cluster struct {
	conns *Conns
	opt   *redis.ClusterOptions
	table atomic.Pointer[slotTable] // nil before the first
	stale chan struct{}             // a new table is wanted

	mu      sync.Mutex
	servers map[string]*server
	absent  map[*server]time.Time // since when the table does not name it
	loading *loading
	closed  bool
}

// loading is a load that several callers wait for.
type loading struct {
	done chan struct{}
	err  error
}

// Timing of the table of slots.
const (
	// slotsInterval is how old the table becomes without any sign of a change, and slotsPause how long the next load waits
	// whatever the signs are.
	slotsInterval = 10 * time.Second
	slotsPause    = 100 * time.Millisecond
	// slotsTimeout bounds asking for the table, of so many servers at once that one which hangs does not count.
	slotsTimeout = time.Second
	askedAtOnce  = 3
	// silenceInterval is how often the servers are looked at for one that is silent.
	silenceInterval = 250 * time.Millisecond
	// absentGrace is how long connections to a server are kept that no table names.
	absentGrace = 30 * time.Second
)

// errNoOwner says that a slot has no server, as for a moment in a fail-over.
var errNoOwner = errors.New("no server of the Cluster has slot")

func newCluster(c *Conns, rdb *redis.ClusterClient) *cluster {
	opt := *rdb.Options()
	t := &cluster{conns: c, opt: &opt, stale: make(chan struct{}, 1), servers: make(map[string]*server), absent: make(map[*server]time.Time)}
	go t.keepTable()
	go t.watchSilence()
	return t
}

func (t *cluster) owner(ctx context.Context, key string) (*server, error) {
	table := t.table.Load()
	if table == nil {
		if err := t.load(ctx); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnsent, err)
		}
		table = t.table.Load()
	}
	slot := wire.Slot(key)
	address := table.masters[slot]
	if address == "" {
		t.suspect(nil)
		return nil, fmt.Errorf("%w: %w %d, that of %q", ErrUnsent, errNoOwner, slot, key)
	}
	return t.at(address), nil
}

func (t *cluster) at(address string) *server {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.servers[address]
	if !ok {
		s = newServer(t.conns, t.optionsOf(address))
		t.servers[address] = s
		if t.closed {
			s.retire(ErrClosed)
		}
	}
	return s
}

// optionsOf returns how to connect to one server; go-redis fills in its defaults.
func (t *cluster) optionsOf(address string) *redis.Options {
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

func (t *cluster) suspect(*server) {
	select {
	case t.stale <- struct{}{}:
	default:
	}
}

// redirected takes note of MOVED, so that the next command need not be sent on.
func (t *cluster) redirected(key, address string) {
	slot := wire.Slot(key)
	for old := t.table.Load(); old != nil && old.masters[slot] != address; old = t.table.Load() {
		if t.table.CompareAndSwap(old, old.with(slot, address)) {
			t.suspect(nil)
		}
	}
}

func (*cluster) moved(*server) bool { return false }

func (*cluster) follows() bool { return true }

// keepTable loads the table anew, once there is one, when it is stale or old.
func (t *cluster) keepTable() {
	var retry Backoff
	interval := slotsInterval
	if own := t.opt.ClusterStateReloadInterval; own > 0 {
		interval = min(own, interval)
	}
	for ctx := t.conns.ctx; ctx.Err() == nil; {
		old := time.NewTimer(interval)
		select {
		case <-t.stale:
		case <-old.C:
		case <-ctx.Done():
		}
		old.Stop()
		if t.table.Load() == nil {
			continue
		}
		wait := slotsPause
		if t.load(ctx) == nil {
			retry.Reset()
		} else {
			wait = retry.Next()
			t.suspect(nil)
		}
		_ = Pause(ctx, wait)
	}
}

// load has the table loaded, once for all who ask meanwhile, and waits for that no longer than ctx.
func (t *cluster) load(ctx context.Context) error {
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

func (t *cluster) reload() error {
	ask := t.slots
	if own := t.opt.ClusterSlots; own != nil {
		ask = own
	}
	slots, err := ask(t.conns.ctx)
	if err != nil {
		return err
	}
	table := newSlotTable(slots)
	t.table.Store(table)
	t.leaveBehind(table)
	return nil
}

// slots asks the servers, some at a time. The first answer counts.
func (t *cluster) slots(ctx context.Context) ([]redis.ClusterSlot, error) {
	type answer struct {
		slots []redis.ClusterSlot
		err   error
	}
	var errs []error
	for some := range slices.Chunk(t.addresses(), askedAtOnce) {
		answers := make(chan answer, len(some))
		within, cancel := context.WithTimeout(ctx, slotsTimeout)
		defer cancel()
		for _, address := range some {
			go func() {
				slots, err := askSlots(within, t.at(address))
				answers <- answer{slots, err}
			}()
		}
		for range some {
			a := <-answers
			if a.err == nil {
				return a.slots, nil
			}
			errs = append(errs, a.err)
		}
	}
	return nil, fmt.Errorf("no server of the cluster tells its slots: %w", errors.Join(errs...))
}

// addresses returns all that are known, in no order.
func (t *cluster) addresses() []string {
	all := slices.Clone(t.opt.Addrs)
	if table := t.table.Load(); table != nil {
		all = append(all, table.servers...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// askSlots asks one server. A host that is left out is that of the server asked. (go-redis's own command takes none that is
// left out.)
func askSlots(ctx context.Context, s *server) ([]redis.ClusterSlot, error) {
	reply, err := s.ask(ctx, "CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	return parseSlots(reply, s.opt.Addr)
}

// parseSlots reads the reply to CLUSTER SLOTS: ranges of slots, each with its master and then its replicas.
func parseSlots(reply any, asked string) (all []redis.ClusterSlot, err error) {
	rows, _ := reply.([]any)
	for _, row := range rows {
		fields, _ := row.([]any)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s: expected a range of slots and its servers, got %.100v", asked, row)
		}
		start, isStart := fields[0].(int64)
		end, isEnd := fields[1].(int64)
		if !isStart || !isEnd || start < 0 || end < start || end >= wire.Slots {
			return nil, fmt.Errorf("%s: expected a range of slots, got %.100v", asked, row)
		}
		slots := redis.ClusterSlot{Start: int(start), End: int(end)}
		for _, one := range fields[2:] {
			parts, _ := one.([]any)
			var host string
			var port int64
			if len(parts) >= 2 {
				host, _ = parts[0].(string)
				port, _ = parts[1].(int64)
			}
			if port <= 0 || port >= 1<<16 {
				return nil, fmt.Errorf("%s: expected a server's host and port, got %.100v", asked, one)
			}
			slots.Nodes = append(slots.Nodes, redis.ClusterNode{Addr: fullAddress(net.JoinHostPort(host, fmt.Sprint(port)), asked)})
		}
		all = append(all, slots)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: expected its slots, got %.100v", asked, reply)
	}
	return all, nil
}

// leaveBehind sees to the servers that a new table gives no slots. One that answers tells those who block on it itself that
// they have to go (MOVED, UNBLOCKED), and what it has popped for them still arrives: so it is asked for a sign of life, and
// watchSilence cuts off one that gives none.
func (t *cluster) leaveBehind(table *slotTable) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, s := range t.servers {
		if slices.Contains(table.servers, address) {
			delete(t.absent, s)
		} else if since, ok := t.absent[s]; !ok {
			t.absent[s] = time.Now()
		} else if time.Since(since) > absentGrace {
			t.drop(s)
			continue
		}
		if !table.isMaster(address) && s.connected() {
			s.lanes[Background].send(commandsOf([][]any{{"PING"}}))
		}
	}
}

// drop cuts a server off. Should its address be needed again, it gets a new one. Call with mu held.
func (t *cluster) drop(s *server) {
	delete(t.servers, s.opt.Addr)
	delete(t.absent, s)
	go s.retire(errRetired)
}

// watchSilence has the table loaded anew while a server does not answer: a master that hangs is replaced without any
// connection to it breaking.
func (t *cluster) watchSilence() {
	for Pause(t.conns.ctx, silenceInterval) == nil {
		t.mu.Lock()
		for address, s := range t.servers {
			if !s.stalled() {
				continue
			}
			t.suspect(s)
			if table := t.table.Load(); table != nil && !table.isMaster(address) {
				t.drop(s)
			}
		}
		t.mu.Unlock()
	}
}

func (t *cluster) close() {
	t.mu.Lock()
	t.closed = true
	all := slices.Collect(maps.Values(t.servers))
	t.mu.Unlock()
	for _, s := range all {
		s.retire(ErrClosed)
	}
}

// slotTable says which servers have which slots. It is never changed.
type slotTable struct {
	masters [wire.Slots]string // "" where no server has the slot
	servers []string           // all addresses
}

func newSlotTable(slots []redis.ClusterSlot) *slotTable {
	table := &slotTable{}
	for _, r := range slots {
		for i, n := range r.Nodes {
			for slot := max(r.Start, 0); i == 0 && slot <= min(r.End, wire.Slots-1); slot++ {
				table.masters[slot] = n.Addr
			}
			table.servers = append(table.servers, n.Addr)
		}
	}
	return table
}

// with returns a table in which a slot has another master.
func (t *slotTable) with(slot int, address string) *slotTable {
	other := *t
	other.masters[slot] = address
	other.servers = append(slices.Clone(t.servers), address)
	return &other
}

func (t *slotTable) isMaster(address string) bool { return slices.Contains(t.masters[:], address) }

// fullAddress puts the host of the server that was asked where an address has none ("" or "?"), and where a server that is
// not on this machine says that another is.
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
