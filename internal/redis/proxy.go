package redis

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy is a TCP proxy on 127.0.0.1.
//
//	client ── requests ──▶ Proxy ── requests ──▶ server
//	       ◀── replies ───       ◀── replies ───
//
// Bytes pass unchanged and in order. All methods may be called from any goroutine.
type Proxy struct {
	// Addr is host:port to connect to. It never changes.
	Addr string
	// Accepted counts all connections so far.
	Accepted atomic.Int64

	dial    Dialer
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	work    sync.WaitGroup // of the connections
	accepts sync.WaitGroup // of the listener

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced on each change
	listener net.Listener  // nil while it refuses
	fault    Fault
	conns    []*ProxyConn // in the order of arrival

	hook      sync.Mutex // held while onCommand runs
	onCommand func(*ProxyConn, []string) Verdict
}

// Dialer makes a connection to the server. It may do TLS and send commands.
type Dialer func(ctx context.Context) (net.Conn, error)

// DialTo dials host:port.
func DialTo(addr string) Dialer {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", addr) }
}

// NewProxy starts a Proxy. Close ends it.
func NewProxy(dial Dialer) (*Proxy, error) {
	ctx, cancel := context.WithCancel(context.Background())
	l, err := Stable(ctx)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("no port for a proxy: %w", err)
	}
	p := &Proxy{Addr: l.Addr().String(), dial: dial, ctx: ctx, cancel: cancel, changed: make(chan struct{})}
	p.accept(l)
	return p, nil
}

// Close cuts all connections and waits for every goroutine.
func (p *Proxy) Close() {
	p.cancel()
	p.change(p.unlisten)
	p.Reset()
	p.accepts.Wait()
	p.work.Wait()
}

// Fault is done to the traffic of a connection. The zero Fault does nothing.
type Fault struct {
	Stall bool          // deliver nothing either way: it arrives later, behind it the sockets' buffers fill
	Delay time.Duration // deliver replies later, in their order
}

// change runs f under the lock and wakes Until and the streams.
func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// look runs f under the lock. The channel is closed at the next change.
func (p *Proxy) look(f func()) (changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	return p.changed
}

// accept serves the connections of a listener until unlisten. It needs mu, except in New.
func (p *Proxy) accept(l net.Listener) {
	p.listener = l
	p.accepts.Go(func() {
		for client, err := l.Accept(); err == nil; client, err = l.Accept() {
			p.change(func() {
				if p.listener != l { // closed meanwhile
					reset(client)
					return
				}
				p.Accepted.Add(1)
				c := &ProxyConn{proxy: p, client: client, done: make(chan struct{}), fault: p.fault, sent: map[string]bool{}}
				p.conns = append(p.conns, c)
				p.work.Go(c.serve)
			})
		}
	})
}

// unlisten needs mu.
func (p *Proxy) unlisten() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// Verdict decides what happens to a command.
type Verdict int

// The verdicts.
const (
	// Pass lets the command through.
	Pass Verdict = iota
	// CutRequest cuts the connection before the server gets the command.
	CutRequest
	// CutReply cuts the connection before the next reply: the server has run the command, unless others were sent with it, and the
	// client cannot know.
	CutReply
)

// OnCommand calls f with each command; nil ends that. One call of f runs at a time. f must not call OnCommand.
func (p *Proxy) OnCommand(f func(c *ProxyConn, command []string) Verdict) {
	p.hook.Lock()
	defer p.hook.Unlock()
	p.onCommand = f
}

func (p *Proxy) verdict(c *ProxyConn, command []string) Verdict {
	p.hook.Lock()
	defer p.hook.Unlock()
	if p.onCommand == nil {
		return Pass
	}
	return p.onCommand(c, command)
}

// Open counts connections with an open side.
func (p *Proxy) Open() (n int) {
	p.look(func() { n = len(p.conns) })
	return n
}

// Conns returns the connections that match and that the client has not closed, in the order of arrival; nil matches all.
func (p *Proxy) Conns(match func(*ProxyConn) bool) (open []*ProxyConn) {
	p.look(func() { open = slices.DeleteFunc(slices.Clone(p.conns), func(c *ProxyConn) bool { return c.left }) })
	return slices.DeleteFunc(open, func(c *ProxyConn) bool { return match != nil && !match(c) })
}

// Wait returns the first connection that matches, once there is one:
//
//	c, err := p.Wait(ctx, func(c *ProxyConn) bool { return c.Waiting("BLPOP") })
func (p *Proxy) Wait(ctx context.Context, match func(*ProxyConn) bool) (first *ProxyConn, err error) {
	err = p.Until(ctx, func() bool {
		if found := p.Conns(match); len(found) > 0 {
			first = found[0]
		}
		return first != nil
	})
	return first, err
}

// Until waits until holds returns true. It calls holds after each change of a connection. If ctx ends first, the error counts them.
func (p *Proxy) Until(ctx context.Context, holds func() bool) error {
	for {
		changed := p.look(func() {}) // before holds, so that no change is missed
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("proxy %s: %w; %d connections so far, %d open", p.Addr, ctx.Err(), p.Accepted.Load(), p.Open())
		}
	}
}

// Set gives a fault to all connections, later ones as well, in the place of earlier faults.
func (p *Proxy) Set(f Fault) {
	p.change(func() {
		p.fault = f
		for _, c := range p.conns {
			c.fault = f
		}
	})
}

// Refuse refuses new connections until Heal.
func (p *Proxy) Refuse() {
	p.change(p.unlisten)
	p.accepts.Wait() // until then the kernel keeps the socket, and a child that is being started until its exec
	for c, err := DialTo(p.Addr)(p.ctx); err == nil; c, err = DialTo(p.Addr)(p.ctx) {
		_ = c.Close()
		time.Sleep(time.Millisecond)
	}
}

// Heal ends Set and Refuse. It fails if another process keeps the port for 5 s.
func (p *Proxy) Heal() error {
	p.Set(Fault{})
	// A client that dials the closed port can get that very port as its own for a moment.
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	return Until(ctx, p.Addr+" is free again", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.listener != nil || p.ctx.Err() != nil {
			return nil
		}
		l, err := (&net.ListenConfig{}).Listen(p.ctx, "tcp", p.Addr)
		if err == nil {
			p.accept(l)
		}
		return err
	})
}

// Reset cuts all connections as Conn.Reset does.
func (p *Proxy) Reset() {
	var conns []*ProxyConn
	p.look(func() { conns = slices.Clone(p.conns) })
	for _, c := range conns {
		c.Reset()
	}
}
