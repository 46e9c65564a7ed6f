package conn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
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
	stale chan struct{} // a new table is wanted

	mu      sync.Mutex
	servers map[string]*server
	table   *slotTable    // nil before the first
	loaded  chan struct{} // closed by the next load
	err     error         // of the last load
	closed  bool
}

// slotTable has the address of each slot's master, "" if no server has the slot, and all addresses, with replicas.
type slotTable struct {
	masters   [wire.Slots]string
	addresses []string
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
	t := &cluster{conns: c, opt: rdb.Options(), stale: make(chan struct{}, 1), servers: make(map[string]*server), loaded: make(chan struct{})}
	go t.keepTable()
	go t.watchSilence()
	return t
}

func (t *cluster) owner(ctx context.Context, key string) (*server, error) {
	if err := t.first(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsent, err)
	}
	slot := wire.Slot(key)
	t.mu.Lock()
	address := t.table.masters[slot]
	t.mu.Unlock()
	if address == "" {
		t.suspect(nil)
		return nil, fmt.Errorf("%w: %w %d, the slot of %q", ErrUnsent, errNoOwner, slot, key)
	}
	return t.at(address), nil
}

// first waits for the first table.
func (t *cluster) first(ctx context.Context) error {
	t.mu.Lock()
	known, loaded := t.table != nil, t.loaded
	t.mu.Unlock()
	if known {
		return nil
	}
	t.suspect(nil)
	select {
	case <-loaded:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.conns.ctx.Done():
		return ErrClosed
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.table == nil {
		return sharedError{t.err}
	}
	return nil
}

// at returns the server of an address.
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
		DialTimeout:                  o.DialTimeout, ReadTimeout: cmp.Or(o.ReadTimeout, -1), WriteTimeout: cmp.Or(o.WriteTimeout, -1),
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

// redirect takes note of MOVED, so that the next command need not be sent on.
func (t *cluster) redirect(key, address string, forGood bool) *server {
	t.mu.Lock()
	if slot := wire.Slot(key); forGood && t.table != nil && t.table.masters[slot] != address {
		t.table.masters[slot], t.table.addresses = address, append(t.table.addresses, address)
		t.suspect(nil)
	}
	t.mu.Unlock()
	return t.at(address)
}

func (*cluster) moved(*server) bool { return false }
func (*cluster) follows() bool      { return true }

// keepTable loads the table anew when it is stale or, once there is one, old.
func (t *cluster) keepTable() {
	var retry Backoff
	var old <-chan time.Time
	for ctx := t.conns.ctx; ctx.Err() == nil; {
		select {
		case <-t.stale:
		case <-old:
		case <-ctx.Done():
			return
		}
		table, err := t.slots(ctx)
		if !t.load(table, err) {
			continue // the next call tries again
		}
		wait := slotsPause
		if err == nil {
			retry = Backoff{}
		} else {
			wait = retry.Next()
			t.suspect(nil)
		}
		_ = Pause(ctx, wait)
		old = time.After(slotsInterval)
	}
}

// slots asks the servers, some at a time, in no order. The first answer counts.
func (t *cluster) slots(ctx context.Context) (*slotTable, error) {
	addresses := slices.Clone(t.opt.Addrs)
	t.mu.Lock()
	if t.table != nil {
		addresses = append(addresses, t.table.addresses...)
	}
	t.mu.Unlock()
	slices.Sort(addresses)
	addresses = slices.Compact(addresses)
	rand.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	type answer struct {
		table *slotTable
		err   error
	}
	var errs []error
	for some := range slices.Chunk(addresses, askedAtOnce) {
		answers := make(chan answer, len(some))
		within, cancel := context.WithTimeout(ctx, slotsTimeout)
		defer cancel()
		for _, address := range some {
			go func() {
				reply, err := t.at(address).ask(within, "CLUSTER", "SLOTS")
				table := new(slotTable)
				if err == nil {
					err = table.read(reply, address)
				}
				answers <- answer{table, err}
			}()
		}
		for range some {
			a := <-answers
			if a.err == nil {
				return a.table, nil
			}
			errs = append(errs, a.err)
		}
	}
	return nil, fmt.Errorf("no server of the cluster reports its slots: %w", errors.Join(errs...))
}

// read reads the reply to CLUSTER SLOTS: ranges of slots, each with its master and then its replicas. An empty host means the host of the server
// asked. (go-redis's own command takes no empty host.)
func (s *slotTable) read(reply any, asked string) error {
	rows, _ := reply.([]any)
	for _, row := range rows {
		fields, _ := row.([]any)
		if len(fields) < 3 {
			return fmt.Errorf("%s: expected a range of slots and its servers, got %.100v", asked, row)
		}
		start, isStart := fields[0].(int64)
		end, isEnd := fields[1].(int64)
		if !isStart || !isEnd || start < 0 || end < start || end >= wire.Slots {
			return fmt.Errorf("%s: expected a range of slots, got %.100v", asked, row)
		}
		for i, one := range fields[2:] {
			parts, _ := one.([]any)
			var host string
			var port int64
			if len(parts) >= 2 {
				host, _ = parts[0].(string)
				port, _ = parts[1].(int64)
			}
			if port <= 0 || port >= 1<<16 {
				return fmt.Errorf("%s: expected a server's host and port, got %.100v", asked, one)
			}
			address := fullAddress(net.JoinHostPort(host, fmt.Sprint(port)), asked)
			s.addresses = append(s.addresses, address)
			for slot := start; i == 0 && slot <= end; slot++ {
				s.masters[slot] = address
			}
		}
	}
	if len(s.addresses) == 0 {
		return fmt.Errorf("%s: expected its slots, got %.100v", asked, reply)
	}
	return nil
}

// load takes in the answer to the question for the slots, and reports whether there is a table. It sees to the servers that a
// new one gives no slots. One that answers tells blocked clients itself that they have to go (MOVED, UNBLOCKED), and values
// popped for them still arrive: so it is asked for a sign of life, and watchSilence cuts off a silent one.
func (t *cluster) load(table *slotTable, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	close(t.loaded)
	t.loaded = make(chan struct{})
	if err != nil {
		return t.table != nil
	}
	t.table = table
	for address, s := range t.servers {
		switch {
		case slices.Contains(table.addresses, address):
			s.absent = time.Time{}
		case s.absent.IsZero():
			s.absent = time.Now()
		case time.Since(s.absent) > absentGrace:
			t.drop(s)
			continue
		}
		if connected, _ := s.state(); connected && !t.isMaster(address) {
			s.lanes[Background].send([][]any{{"PING"}})
		}
	}
	return true
}

func (t *cluster) isMaster(address string) bool { return slices.Contains(t.table.masters[:], address) }

// drop cuts a server off. Should its address be needed again, it gets a new one. Call with mu held.
func (t *cluster) drop(s *server) {
	delete(t.servers, s.opt.Addr)
	go s.retire(errRetired)
}

// watchSilence has the table loaded anew while a server does not answer: a master that hangs is replaced without any
// connection to it breaking.
func (t *cluster) watchSilence() {
	for Pause(t.conns.ctx, silenceInterval) == nil {
		t.mu.Lock()
		for address, s := range t.servers {
			if _, stalled := s.state(); !stalled {
				continue
			}
			t.suspect(s)
			if t.table != nil && !t.isMaster(address) {
				t.drop(s)
			}
		}
		t.mu.Unlock()
	}
}

func (t *cluster) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, s := range t.servers {
		s.retire(ErrClosed)
	}
}

// fullAddress puts the host of the server that was asked if an address has no host ("" or "?"), and if a server that is
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
