package simulate_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// network joins clients and the server in memory. What is written arrives after a time
// that the link draws, in order. It is also the listener of the server.
type network struct {
	seed     uint64
	incoming chan net.Conn
	closed   chan struct{}

	mu    sync.Mutex
	hosts map[string]*host
	down  bool      // the server refuses connections
	broke time.Time // when a write last broke a link

	lost map[string]bool // messages that were on their way to a client over a link that broke
}

// host is one client's side of the network.
type host struct {
	name    string
	dials   uint64
	links   []*link
	dead    bool          // the process is gone
	slow    time.Duration // added to each arrival
	stalled time.Time     // nothing arrives before
	hangs   time.Time     // no dial that begins before ends
	noticed time.Time     // until when a client may give up connections for having stalled
	hurt    time.Time     // until when something befalls it
}

func newNetwork(seed uint64) *network {
	return &network{seed: seed, incoming: make(chan net.Conn), closed: make(chan struct{}), hosts: map[string]*host{}, lost: map[string]bool{}}
}

// Accept, Close and Addr make it a net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.incoming:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { close(n.closed); return nil }
func (n *network) Addr() net.Addr { return address("127.0.0.1:6379") }

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

func (n *network) host(name string) *host {
	if n.hosts[name] == nil {
		n.hosts[name] = &host{name: name}
	}
	return n.hosts[name]
}

// dialer returns what a client of that name connects with.
func (n *network) dialer(name string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		n.mu.Lock()
		h := n.host(name)
		h.dials++
		seed := n.seed ^ numberOf(name) + h.dials<<1
		wait := delay(seed) + h.slow
		if left := time.Until(h.stalled); left > 0 {
			wait += left
		}
		id := fmt.Sprintf("%s:%d", name, h.dials)
		hangs := time.Now().Before(h.hangs)
		if hangs {
			wait = 5 * time.Second
		}
		n.mu.Unlock()
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		n.mu.Lock()
		if n.down || h.dead || hangs {
			n.mu.Unlock()
			return nil, fmt.Errorf("dial %s: %w", id, syscall.ECONNREFUSED)
		}
		l := newLink(n, h, id, seed)
		h.links = append(h.links, l)
		n.mu.Unlock()
		select {
		case n.incoming <- &end{l, &l.toServer, &l.toClient, n.Addr(), address(id)}:
		case <-n.closed:
			return nil, net.ErrClosed
		}
		return &end{l, &l.toClient, &l.toServer, address(id), n.Addr()}, nil
	}
}

// delay is what one way takes for what is written now: a tenth of a millisecond or so, and now and then much more. It hangs on the
// instant, not on how often something was written before, as what goes out in one piece or two is a matter of chance.
func delay(seed uint64) time.Duration {
	rng := rand.NewPCG(seed, uint64(time.Now().UnixNano()))
	d := 20*time.Microsecond + time.Duration(-math.Log(1-float64(rng.Uint64()>>11)/(1<<53))*float64(80*time.Microsecond))
	if rng.Uint64()%1000 == 0 {
		d += time.Duration(rng.Uint64()%30) * time.Millisecond
	}
	return d
}

// each calls f for every open link of the client, or of all clients for "".
func (n *network) each(name string, f func(*link)) {
	n.mu.Lock()
	var links []*link
	for _, h := range n.hosts {
		if name == "" || h.name == name {
			links = append(links, h.links...)
		}
	}
	n.mu.Unlock()
	slices.SortFunc(links, func(a, b *link) int { // in the order in which they were made
		return cmp.Or(strings.Compare(a.host.name, b.host.name), cmp.Compare(a.order, b.order))
	})
	for _, l := range links {
		if l.isOpen() {
			f(l)
		}
	}
}

// kill takes a client away: nothing it writes arrives any more, and the server sees its connections end.
func (n *network) kill(name string) {
	n.mu.Lock()
	n.host(name).dead = true
	n.mu.Unlock()
	n.each(name, func(l *link) { l.cut() })
}

func (n *network) setDown(down bool) {
	n.mu.Lock()
	n.down = down
	n.mu.Unlock()
	if down {
		n.each("", func(l *link) { l.cut() })
	}
}

// anyMessage finds the messages in what a server sends.
var anyMessage = regexp.MustCompile(`m-\d{6}`)

// breaks takes note that a write breaks a link of the host.
func (n *network) breaks(h *host) {
	n.hurt(h.name, 0)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broke = time.Now()
}

// hurt takes note that something befalls a client for that time, or all for "".
func (n *network) hurt(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.hosts {
		if name == "" || h.name == name {
			h.hurt = later(h.hurt, time.Now().Add(d))
		}
	}
}

// well reports whether nothing has befallen a client since then.
func (n *network) well(name string, since time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host(name).hurt.Before(since) && n.host(name).slow == 0 && n.host(name).noticed.Before(since)
}

func (n *network) lastBreak() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broke
}

func (n *network) lose(reply []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range anyMessage.FindAll(reply, -1) {
		n.lost[string(v)] = true
	}
}

func (n *network) isLost(value string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lost[value]
}

// heal ends all that makes the network bad.
func (n *network) heal() {
	n.setDown(false)
	n.mu.Lock()
	for _, h := range n.hosts {
		h.slow, h.stalled, h.hangs = 0, time.Time{}, time.Time{}
		for _, l := range h.links {
			l.toServer.hurry()
			l.toClient.hurry()
		}
	}
	n.mu.Unlock()
	n.each("", func(l *link) { l.set(func() { l.loseReply, l.loseHalf, l.several = false, false, false }) })
}

func (n *network) stall(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.host(name)
	h.stalled = time.Now().Add(d)
	h.noticed = h.stalled.Add(time.Minute)
}

// hang cuts a client off for that time.
func (n *network) hang(name string, d time.Duration) {
	n.mu.Lock()
	n.host(name).hangs = time.Now().Add(d)
	n.mu.Unlock()
	n.each(name, (*link).cut)
}

// excuse has a client be late, or give up connections, for that time.
func (n *network) excuse(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host(name).noticed = later(n.host(name).noticed, time.Now().Add(d))
}

// prompt reports whether nothing has held up what the client sent since then.
func (n *network) prompt(name string, since time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.host(name).slow == 0 && n.host(name).noticed.Before(since)
}

func (n *network) slowDown(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.host(name)
	if h.slow = d; d >= 300*time.Millisecond { // Close does not wait for as long as it takes to ask for the end of a take
		h.noticed = time.Now().Add(2 * time.Minute)
	}
}

// later is the last of some instants.
func later(all ...time.Time) time.Time { return slices.MaxFunc(all, time.Time.Compare) }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func numberOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64() << 16
}
