package simulate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
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
	down  bool // the server refuses connections

	lost map[string]bool // messages that were on their way to a client over a link that broke
	deaf bool            // nothing that is published arrives
}

// host is one client's side of the network.
type host struct {
	name    string
	dials   uint64
	links   []*link
	dead    bool          // the process is gone
	slow    time.Duration // added to each arrival
	stalled time.Time     // nothing arrives before
	noticed time.Time     // until when a client may give up connections for having stalled
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

// Close ends Accept.
func (n *network) Close() error { close(n.closed); return nil }

// Addr is that of the server.
func (n *network) Addr() net.Addr { return address("127.0.0.1:6379") }

type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

func (n *network) host(name string) *host {
	h := n.hosts[name]
	if h == nil {
		h = &host{name: name}
		n.hosts[name] = h
	}
	return h
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
		n.mu.Unlock()
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
		n.mu.Lock()
		if n.down || h.dead {
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

// delay is what one way takes for what is written now: a tenth of a millisecond or so, and
// now and then much more. It hangs on the instant, not on how often something was written
// before, as what goes out in one piece or two is a matter of chance.
func delay(seed uint64) time.Duration {
	rng := rand.New(rand.NewPCG(seed, uint64(time.Now().UnixNano())))
	d := 20*time.Microsecond + time.Duration(rng.ExpFloat64()*float64(80*time.Microsecond))
	if rng.IntN(1000) == 0 {
		d += time.Duration(rng.IntN(30)) * time.Millisecond
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
	sortLinks(links)
	for _, l := range links {
		if l.isOpen() {
			f(l)
		}
	}
}

// kill takes a client away: nothing it writes arrives any more, and the server sees its
// connections end.
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

func (n *network) lose(reply []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, v := range anyMessage.FindAll(reply, -1) {
		n.lost[string(v)] = true
	}
}

// gaveUp notes a reply that a client did not wait for. If its network stood still, it took the
// connection for dead, and what the server popped for it meanwhile is lost, as at most once
// allows; otherwise it has itself to blame.
func (l *link) gaveUp(reply []byte) {
	l.network.mu.Lock()
	excused := time.Now().Before(l.host.noticed)
	l.network.mu.Unlock()
	if excused {
		l.network.lose(reply)
	}
}

// heal ends all that makes the network bad.
func (n *network) heal() {
	n.setDown(false)
	n.mu.Lock()
	for _, h := range n.hosts {
		h.slow, h.stalled = 0, time.Time{}
	}
	n.mu.Unlock()
	n.each("", func(l *link) { l.set(func() { l.loseReply, l.loseHalf = false, false }) })
}

func (n *network) stall(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h := n.host(name)
	h.stalled = time.Now().Add(d)
	h.noticed = h.stalled.Add(time.Minute)
}

func (n *network) slowDown(name string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.host(name).slow = d
}

// link is one connection: two ways.
type link struct {
	network            *network
	host               *host
	id                 string
	order              uint64
	toServer, toClient way

	mu        sync.Mutex
	loseReply bool // the next reply is lost, and the link with it
	loseHalf  bool // of the next request half arrives, and the link is lost
}

func newLink(n *network, h *host, id string, seed uint64) *link {
	l := &link{network: n, host: h, id: id, order: h.dials}
	l.toServer.init(seed)
	l.toClient.init(seed + 1)
	return l
}

func (l *link) isOpen() bool { return l.toServer.isOpen() && l.toClient.isOpen() }

// cut breaks the connection at once; what is on its way is lost.
func (l *link) cut() {
	l.network.lose(l.toClient.waiting())
	l.toServer.fail(syscall.ECONNRESET)
	l.toClient.fail(syscall.ECONNRESET)
}

func (l *link) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// write sends p along w.
func (l *link) write(w *way, p []byte) (int, error) {
	n := len(p)
	l.mu.Lock()
	lose, half := l.loseReply && w == &l.toClient, l.loseHalf && w == &l.toServer
	l.mu.Unlock()
	if lose {
		l.network.lose(p)
		l.cut()
		return 0, syscall.ECONNRESET
	}
	l.network.mu.Lock()
	slow, after := l.host.slow, l.host.stalled
	l.network.mu.Unlock()
	if l.network.deaf && w == &l.toClient && bytes.HasPrefix(p, []byte(">3\r\n$7\r\nmessage")) {
		return n, nil
	}
	if half {
		_ = w.put(p[:len(p)/2], slow, after)
		w.end(io.EOF)
		l.toClient.fail(syscall.ECONNRESET)
		return n, nil
	}
	if err := w.put(p, slow, after); err != nil {
		if w == &l.toClient {
			l.gaveUp(p)
		}
		return 0, err
	}
	return n, nil
}

// way is one direction of a link.
type way struct {
	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	queue    []segment
	seed     uint64
	latest   time.Time
	ended    error // after what is queued
	failed   error // at once
	deadline time.Time
}

type segment struct {
	at   time.Time
	data []byte
}

func (w *way) init(seed uint64) { w.changed, w.seed = make(chan struct{}), seed }

func (w *way) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *way) isOpen() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed == nil && w.ended == nil
}

// waiting is what has been written and not read.
func (w *way) waiting() (all []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.queue {
		all = append(all, s.data...)
	}
	return all
}

func (w *way) fail(err error) {
	w.change(func() {
		if w.failed == nil {
			w.failed = err
		}
	})
}

func (w *way) end(err error) {
	w.change(func() {
		if w.ended == nil {
			w.ended = err
		}
	})
}

// put sends p, which takes slow longer than usual and does not arrive before after.
func (w *way) put(p []byte, slow time.Duration, after time.Time) (err error) {
	w.change(func() {
		switch {
		case w.failed != nil:
			err = w.failed
		case w.ended != nil:
			err = syscall.EPIPE
		default:
			at := time.Now().Add(slow)
			if at.Before(after) {
				at = after
			}
			if at = at.Add(delay(w.seed)); at.Before(w.latest) {
				at = w.latest
			}
			w.latest = at
			w.queue = append(w.queue, segment{at, append([]byte(nil), p...)})
		}
	})
	return err
}

func (w *way) read(p []byte) (int, error) {
	for {
		w.mu.Lock()
		now := time.Now()
		var wake time.Time
		switch {
		case w.failed != nil:
			defer w.mu.Unlock()
			return 0, w.failed
		case len(w.queue) > 0 && !now.Before(w.queue[0].at):
			defer w.mu.Unlock()
			n := copy(p, w.queue[0].data)
			if w.queue[0].data = w.queue[0].data[n:]; len(w.queue[0].data) == 0 {
				w.queue = w.queue[1:]
			}
			return n, nil
		case !w.deadline.IsZero() && !now.Before(w.deadline):
			defer w.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		case len(w.queue) > 0:
			wake = w.queue[0].at
		case w.ended != nil:
			defer w.mu.Unlock()
			return 0, w.ended
		}
		if !w.deadline.IsZero() && (wake.IsZero() || w.deadline.Before(wake)) {
			wake = w.deadline
		}
		changed := w.changed
		w.mu.Unlock()
		if wake.IsZero() {
			<-changed
			continue
		}
		timer := time.NewTimer(time.Until(wake))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// end is one side's net.Conn.
type end struct {
	link          *link
	in, out       *way
	local, remote net.Addr
}

func (e *end) Read(p []byte) (int, error)       { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error)      { return e.link.write(e.out, p) }
func (e *end) LocalAddr() net.Addr              { return e.local }
func (e *end) RemoteAddr() net.Addr             { return e.remote }
func (e *end) SetWriteDeadline(time.Time) error { return nil } // writing never waits
func (e *end) SetDeadline(t time.Time) error    { return e.SetReadDeadline(t) }
func (e *end) SetReadDeadline(t time.Time) error {
	e.in.change(func() { e.in.deadline = t })
	return nil
}

// Close ends both directions; what this side has written still arrives.
func (e *end) Close() error {
	if e.in == &e.link.toClient {
		e.link.gaveUp(e.in.waiting())
	}
	e.in.fail(net.ErrClosed)
	e.out.end(io.EOF)
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err())
	}
}

// numberOf makes a number of a name.
func numberOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64() << 16
}

// sortLinks puts links in the order in which they were made.
func sortLinks(links []*link) {
	slices.SortFunc(links, func(a, b *link) int {
		if n := strings.Compare(a.host.name, b.host.name); n != 0 {
			return n
		}
		return strings.Compare(pad(a.order), pad(b.order))
	})
}

func pad(n uint64) string { return fmt.Sprintf("%012s", strconv.FormatUint(n, 10)) }
