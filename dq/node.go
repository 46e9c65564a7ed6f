package dq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// lane is a shared link of a node. What the scheduler sends has its own, so that a
// long reply to a caller does not hold up a transfer. What gives values back has one
// too: it may wait for a server that stands still for longer than any other, and a link
// that ends under it loses a value.
type lane int

const (
	callLane lane = iota
	backgroundLane
	returnLane
	lanes
)

// Bounds of the connections that wait for the next blocking command; a variable for
// tests.
const maxIdle = 16

var idleTimeout = 30 * time.Second

// dialPatience is how long a dial may take before the next caller starts one of its
// own: it may be lost in a network that works again.
const dialPatience = time.Second

// defaultDialTimeout bounds a dial whose client sets no bound.
const defaultDialTimeout = 5 * time.Second

// errRetired is why the links of a node end that is no longer the master.
var errRetired = errors.New("the server is no longer the master")

// node is one server, and the connections to it: a shared link per lane, made when
// it is needed, and links of their own for commands that block.
type node struct {
	opt      *redis.Options
	topology topology
	ctx      context.Context // of the dials; ends with retire
	cancel   context.CancelFunc

	// cannotUnblock is set when the server or the user's rights have no CLIENT UNBLOCK.
	cannotUnblock atomic.Bool

	mu      sync.Mutex
	shared  [lanes]*link
	dialing [lanes]*dialing
	idle    []*link              // dedicated ones, the one used last at the end
	seekers []chan dialed        // who waits for a dedicated link
	dials   []*dialing           // those of dedicated links
	open    map[*link]struct{}   // every link
	others  map[*connection]bool // connections of a subscription
	parked  []*waiter
	reaper  *time.Timer
	remote  string // where the first connection led to
	retired error
}

// dialing is a dial that several callers wait for.
type dialing struct {
	began time.Time
	done  chan struct{} // of a shared link
	dialed
}

// dialed is what a dial brought forth.
type dialed struct {
	link *link
	err  error
}

// newNode returns a node whose log lines go where those of ctx do. It lives until
// retire: a Client that is being closed still ends commands and puts values back.
func newNode(ctx context.Context, opt *redis.Options, t topology) *node {
	n := &node{opt: opt, topology: t, open: make(map[*link]struct{}), others: make(map[*connection]bool)}
	n.ctx, n.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return n
}

// link returns the shared link of a lane. The dial goes on when ctx ends: others
// may wait for it, and the next caller will.
func (n *node) link(ctx context.Context, at lane) (*link, error) {
	n.mu.Lock()
	if l := n.shared[at]; l != nil && l.alive() {
		n.mu.Unlock()
		return l, nil
	}
	d := n.dialing[at]
	if d == nil {
		d = &dialing{done: make(chan struct{})}
		n.dialing[at] = d
		go func() {
			timeout := n.opt.ReadTimeout
			if at == returnLane {
				timeout = returnTimeout
			}
			d.link, d.err = n.newLink(timeout)
			n.mu.Lock()
			n.shared[at], n.dialing[at] = d.link, nil
			n.mu.Unlock()
			close(d.done)
		}()
	}
	n.mu.Unlock()
	select {
	case <-d.done:
		return d.link, d.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", errUnsent, context.Cause(ctx))
	}
}

// newLink dials, within the dial time-out, until the node is retired.
func (n *node) newLink(readTimeout time.Duration) (*link, error) {
	conn, err := n.connect(n.ctx)
	if err != nil {
		return nil, err
	}
	if conn.id == 0 {
		n.cannotUnblock.Store(true)
	}
	l := newLink(conn, max(readTimeout, 0), max(n.opt.WriteTimeout, 0))
	n.mu.Lock()
	retired := n.retired
	if retired == nil {
		n.open[l] = struct{}{}
	}
	n.mu.Unlock()
	if retired != nil {
		l.fail(retired)
		return nil, fmt.Errorf("%w: %w", errUnsent, retired)
	}
	go func() {
		<-l.failed
		n.mu.Lock()
		delete(n.open, l)
		given := n.retired != nil || errors.Is(l.err, errSurplus)
		n.mu.Unlock()
		if !given {
			n.topology.suspect(n)
		}
	}()
	return l, nil
}

// connect makes a connection, and notices that it leads to another server than
// those before: then a failover has moved the name.
func (n *node) connect(ctx context.Context) (*connection, error) {
	timeout := n.opt.DialTimeout
	if timeout <= 0 {
		timeout = defaultDialTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	conn, err := connect(ctx, n.opt)
	n.mu.Lock()
	retired := n.retired
	n.mu.Unlock()
	switch {
	case retired != nil:
		if conn != nil {
			_ = conn.Close()
		}
		return nil, fmt.Errorf("%w: %w", errUnsent, retired)
	case err != nil:
		n.topology.suspect(n)
		return nil, fmt.Errorf("%w: %w", errUnsent, err)
	}
	n.mu.Lock()
	if n.remote == "" {
		n.remote = conn.remote
	}
	moved := n.remote != conn.remote
	n.mu.Unlock()
	if moved && n.topology.moved(n) {
		_ = conn.Close()
		return nil, fmt.Errorf("%w: %w", errUnsent, errRetired)
	}
	return conn, nil
}

// adopt takes note of a connection that is no link, so that retire cuts it too.
func (n *node) adopt(conn *connection) (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.retired != nil {
		_ = conn.Conn.Close()
	}
	n.others[conn] = true
	return func() {
		n.mu.Lock()
		delete(n.others, conn)
		n.mu.Unlock()
		_ = conn.Close()
	}
}

// retire ends every connection, for the reason given. Nothing is sent to the
// server after that.
func (n *node) retire(reason error) {
	n.mu.Lock()
	if n.retired == nil {
		n.retired = reason
	}
	n.cancel()
	links := make([]*link, 0, len(n.open))
	for l := range n.open {
		links = append(links, l)
	}
	n.cancel()
	n.idle = nil
	if n.reaper != nil {
		n.reaper.Stop()
		n.reaper = nil
	}
	for conn := range n.others {
		_ = conn.Conn.Close()
	}
	n.mu.Unlock()
	for _, l := range links {
		l.fail(reason)
	}
}

// stalled reports whether a reply on a shared link is overdue by a second.
func (n *node) stalled() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.shared {
		if l != nil && l.alive() && l.oldest() > time.Second {
			return true
		}
	}
	return false
}
