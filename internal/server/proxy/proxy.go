// Package proxy answers: what if the network fails?
//
// A Proxy stands between clients and a Redis, and loses, delays, holds and cuts what
// goes through it.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Proxy is a TCP proxy on 127.0.0.1 to find out what a client does when the
// network or the server fails. It sees what each client sent and treats
// connections one by one or all alike.
//
//	client ── requests ──▶ Proxy ── requests ──▶ server
//	       ◀── replies ───       ◀── replies ───
//
// Faults of the Proxy hold for all connections, those to come included; faults
// of a Conn for that one. All methods may be called from any goroutine.
type Proxy struct {
	// Addr is host:port to connect to, the same as long as the Proxy lives.
	Addr string

	target string
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced whenever something that is waited for may have changed
	accepting chan struct{} // closed when nobody accepts on the last listener any more
	listener  *net.TCPListener
	closed    bool
	holding   bool // new connections are not served
	modes     modes
	delay     time.Duration // of replies
	bandwidth int           // bytes a second each way of each connection, 0 for any
	rule      Rule          // nil for none
	conns     []*Conn       // those with an end to see to, in the order they came
	accepted  int
}

// New gives a proxy to the server at target, host:port, until Close.
func New(target string) (*Proxy, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Proxy{target: target, ctx: ctx, cancel: cancel, changed: make(chan struct{}), Addr: "127.0.0.1:0"}
	if err := p.listen(); err != nil {
		cancel()
		return nil, fmt.Errorf("no port for a proxy: %w", err)
	}
	p.Addr = p.listener.Addr().String()
	return p, nil
}

// Close cuts all connections and makes no more.
func (p *Proxy) Close() {
	p.cancel()
	p.mu.Lock()
	p.closed = true
	p.unlisten()
	all := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, c := range all {
		c.Reset()
	}
	p.work.Wait()
}

// listen needs mu, but for the first call.
func (p *Proxy) listen() error {
	if p.listener != nil || p.closed {
		return nil
	}
	l, err := (&net.ListenConfig{}).Listen(p.ctx, "tcp", p.Addr)
	if err != nil {
		return err
	}
	listener, ended := l.(*net.TCPListener), make(chan struct{})
	p.listener, p.accepting = listener, ended
	p.work.Go(func() {
		defer close(ended)
		p.accept(listener)
	})
	return nil
}

// unlisten needs mu.
func (p *Proxy) unlisten() {
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

func (p *Proxy) accept(l *net.TCPListener) {
	for {
		client, err := l.AcceptTCP()
		if err != nil {
			return // closed
		}
		c := &Conn{proxy: p, client: client, done: make(chan struct{})}
		p.mu.Lock()
		c.id = p.accepted + 1
		if p.closed || p.listener != l {
			reset(client)
			p.mu.Unlock()
			return
		}
		c.modes, c.delay, c.bandwidth = p.modes, p.delay, p.bandwidth
		p.conns = append(p.conns, c)
		p.accepted++
		p.announce()
		p.mu.Unlock()
		p.work.Go(c.serve)
	}
}

// announce wakes all that wait; it needs mu.
func (p *Proxy) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Accepted counts the connections that were made so far, the closed ones included.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Conns are the open connections that match, in the order they came; nil
// matches all. One that was hung up is open no more, nor one that the client was
// seen to close, though the server may not have heard of it through a fault.
func (p *Proxy) Conns(match func(*Conn) bool) []*Conn {
	p.mu.Lock()
	var open []*Conn
	for _, c := range p.conns {
		if !c.hungUp && !c.left {
			open = append(open, c)
		}
	}
	p.mu.Unlock() // match locks for itself
	if match == nil {
		return open
	}
	return slices.DeleteFunc(open, func(c *Conn) bool { return !match(c) })
}

// Wait gives the first open connection that matches as soon as there is one:
//
//	c, err := p.Wait(ctx, func(c *proxy.Conn) bool { return c.Waiting("BLPOP") })
//
// When ctx ends before, the error says what the open connections sent last.
func (p *Proxy) Wait(ctx context.Context, match func(*Conn) bool) (*Conn, error) {
	var found []*Conn
	err := p.Until(ctx, func() bool {
		found = p.Conns(match)
		return len(found) > 0
	})
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Until waits until holds, which it asks again whenever a connection comes or
// goes or carries something. When ctx ends before, the error says what the open
// connections sent last.
func (p *Proxy) Until(ctx context.Context, holds func() bool) error {
	for {
		p.mu.Lock()
		changed := p.changed // taken first: what happens while holds looks is not missed
		p.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("proxy %s: %w; %s", p.Addr, ctx.Err(), p)
		}
	}
}

// String says what the open connections sent last.
func (p *Proxy) String() string {
	var last []string
	for _, c := range p.Conns(nil) {
		last = append(last, c.String())
	}
	return fmt.Sprintf("%d connections so far, open: [%s]", p.Accepted(), strings.Join(last, "; "))
}

// Blackhole reads what comes in these directions, both if none is named, and
// throws it away; also the end of a stream. Nothing is closed.
func (p *Proxy) Blackhole(dirs ...Direction) { p.all(func(m *modes) { m.set(blackholed, dirs) }) }

// Stall stops reading in these directions, both if none is named: what is under
// way fills the sockets' buffers and arrives after Heal. Nothing is closed.
func (p *Proxy) Stall(dirs ...Direction) { p.all(func(m *modes) { m.set(stalled, dirs) }) }

func (p *Proxy) all(change func(*modes)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.modes)
	for _, c := range p.conns {
		change(&c.modes)
	}
	p.announce()
}

// Delay delivers replies that come from now on d later than they come, in their
// order; 0 ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
	for _, c := range p.conns {
		c.delay = d
	}
}

// Bandwidth lets so many bytes a second through each way of each connection; 0 ends it.
func (p *Proxy) Bandwidth(bytesPerSecond int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bandwidth = bytesPerSecond
	for _, c := range p.conns {
		c.bandwidth = bytesPerSecond
	}
}

// Rule says what becomes of a command that a client sends. It is called under a lock: it
// must not call methods of the Proxy, and of the Conn only ID.
type Rule func(c *Conn, command []string) Verdict

// Verdict is what becomes of a command.
type Verdict int

// The verdicts.
const (
	// Pass lets it through.
	Pass Verdict = iota
	// CutRequest cuts the connection instead: the server does not hear of the command.
	CutRequest
	// CutReply lets it through, and cuts the connection instead of the reply: the server
	// has carried it out, and the client cannot know.
	CutReply
)

// Rule has a rule decide on each command from now on; nil ends it. What came together with
// a command that is cut, as in a pipeline, shares its fate.
func (p *Proxy) Rule(rule Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// Hold leaves new connections without any answer until Heal: the kernel makes
// them, so that a dial succeeds, and what clients send waits. As a server whose
// process stands still. Those that are open already go on.
func (p *Proxy) Hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holding = true
}

// Refuse has the kernel refuse new connections until Heal. Those that are open
// already go on.
func (p *Proxy) Refuse() {
	p.mu.Lock()
	ended := p.accepting
	p.unlisten()
	p.mu.Unlock()
	// The socket is closed only when nobody accepts on it any more.
	<-ended
}

// Heal ends Blackhole, Stall, Delay, Bandwidth, Rule, Hold and Refuse for all connections.
// It fails if somebody took the port meanwhile and keeps it for 5 s.
func (p *Proxy) Heal() error {
	p.mu.Lock()
	p.holding = false
	p.delay, p.bandwidth, p.rule = 0, 0, nil
	for _, c := range p.conns {
		c.delay, c.bandwidth = 0, 0
	}
	p.mu.Unlock()
	p.all(func(m *modes) { *m = modes{} })
	return p.relisten()
}

// relisten tries for a while: a client that dials a closed port of the range for
// clients can be given that very port as its own, and connect to itself.
func (p *Proxy) relisten() error {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		p.mu.Lock()
		err := p.listen()
		p.mu.Unlock()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// Reset cuts all open connections as Conn.Reset does.
func (p *Proxy) Reset() {
	for _, c := range p.Conns(nil) {
		c.Reset()
	}
}

// HangUp ends all open connections as Conn.HangUp does.
func (p *Proxy) HangUp() {
	for _, c := range p.Conns(nil) {
		c.HangUp()
	}
}
