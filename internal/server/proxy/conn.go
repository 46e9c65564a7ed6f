package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Direction is a way through a Proxy.
type Direction int

// The two ways.
const (
	// Requests go from the client to the server.
	Requests Direction = iota
	// Replies go from the server to the client.
	Replies
)

type mode int

const (
	passing mode = iota
	blackholed
	stalled
)

// modes are what happens in each direction.
type modes [2]mode

func (m *modes) set(to mode, dirs []Direction) {
	if len(dirs) == 0 {
		dirs = []Direction{Requests, Replies}
	}
	for _, d := range dirs {
		m[d] = to
	}
}

// Conn is one client's connection through a Proxy.
type Conn struct {
	proxy  *Proxy
	id     int
	client *net.TCPConn
	done   chan struct{} // closed when both sides are

	// Guarded by proxy.mu.
	modes     modes
	delay     time.Duration
	bandwidth int
	losing    bool // the next reply is cut
	hungUp    bool // by us
	left      bool // the client closed its side
	server    *net.TCPConn
	log       commandLog
	answered  bool // the server sent something since the last command
}

// ID is the connection's number, counted from 1 as they were made.
func (c *Conn) ID() int { return c.id }

// Done is closed when both sides of the connection are.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Blackhole is Proxy.Blackhole for this connection.
func (c *Conn) Blackhole(dirs ...Direction) { c.change(func() { c.modes.set(blackholed, dirs) }) }

// Stall is Proxy.Stall for this connection.
func (c *Conn) Stall(dirs ...Direction) { c.change(func() { c.modes.set(stalled, dirs) }) }

// Delay is Proxy.Delay for this connection.
func (c *Conn) Delay(d time.Duration) { c.change(func() { c.delay = d }) }

// Heal ends Blackhole, Stall and Delay for this connection.
func (c *Conn) Heal() { c.change(func() { c.modes, c.delay = modes{}, 0 }) }

func (c *Conn) change(f func()) {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	f()
	c.proxy.announce()
}

// Reset cuts the connection with an RST to both ends, as a crashed host or a
// firewall does: the client's next read fails with ECONNRESET.
func (c *Conn) Reset() {
	c.proxy.mu.Lock()
	server := c.server
	c.proxy.mu.Unlock()
	reset(c.client)
	if server != nil {
		reset(server)
	}
	c.forget()
}

// HangUp ends the connection with a FIN, as a server that shuts down in order
// does: the client reads what was delivered before, then io.EOF. What it still
// sends is thrown away until it closes its side.
func (c *Conn) HangUp() {
	c.change(func() { c.hungUp, c.modes = true, modes{} })
	_ = c.client.CloseWrite()
	c.proxy.mu.Lock()
	server := c.server
	c.proxy.mu.Unlock()
	if server != nil {
		_ = server.Close()
	}
}

// reset closes with an RST.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// forget takes the connection off the list and lets go of the server, once.
func (c *Conn) forget() {
	p := c.proxy
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.conns {
		if other == c {
			p.conns = append(p.conns[:i:i], p.conns[i+1:]...)
			close(c.done)
			if c.server != nil {
				_ = c.server.Close()
			}
			p.announce()
			return
		}
	}
}

// serve carries both ways until both have ended.
func (c *Conn) serve() {
	defer c.forget()
	defer c.client.Close()
	if !c.await(func() bool { return !c.proxy.holding }) {
		return
	}
	conn, err := (&net.Dialer{}).DialContext(c.proxy.ctx, "tcp", c.proxy.target)
	if err != nil {
		reset(c.client) // the nearest to the refusal that the client would have met
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	if !c.attach(server) {
		return
	}
	replies := make(chan struct{})
	c.proxy.work.Go(func() {
		defer close(replies)
		c.carry(Replies, server, c.client)
	})
	c.carry(Requests, c.client, server)
	<-replies
}

// attach takes note of the server's side, which Reset and HangUp end too, and
// reports whether the connection was not cut before.
func (c *Conn) attach(server *net.TCPConn) bool {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	c.server = server
	if c.hungUp {
		_ = server.Close()
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// await waits until holds, which is asked under the lock, and reports whether it
// came to be before the connection's end.
func (c *Conn) await(holds func() bool) bool {
	for {
		c.proxy.mu.Lock()
		ok, changed := holds(), c.proxy.changed
		c.proxy.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-c.done:
			return false
		}
	}
}

// chunk is what one read gave.
type chunk struct {
	data []byte
	due  time.Time
	err  error
}

// inFlight is how many chunks a direction holds while they are delayed.
const inFlight = 256

// carry reads from one side and hands to deliver, so that delayed replies wait
// beside each other and not one after the other.
func (c *Conn) carry(dir Direction, from, to *net.TCPConn) {
	line := make(chan chunk, inFlight)
	delivered := make(chan struct{})
	c.proxy.work.Go(func() {
		defer close(delivered)
		c.deliver(dir, line, to)
	})
	buf := make([]byte, 32<<10)
	for c.await(func() bool { return c.modes[dir] != stalled }) {
		n, err := from.Read(buf)
		due, cut := c.seen(dir, buf[:n], err)
		if cut {
			c.Reset()
			break
		}
		next := chunk{data: append([]byte(nil), buf[:n]...), due: due, err: err}
		select {
		case line <- next:
		case <-c.done:
			err = net.ErrClosed
		}
		if err != nil {
			break
		}
	}
	close(line)
	<-delivered
}

// seen takes note of what came and says when it is to be delivered, or whether the
// connection is cut instead.
func (c *Conn) seen(dir Direction, data []byte, err error) (due time.Time, cut bool) {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	if err != nil && dir == Requests {
		c.left = true
		c.proxy.announce()
	}
	if len(data) > 0 {
		switch dir {
		case Requests:
			cut = c.decide(c.log.write(data))
		case Replies:
			cut = c.losing
		}
		c.answered = dir == Replies
		c.proxy.announce()
	}
	if dir == Replies {
		return time.Now().Add(c.delay), cut
	}
	return time.Time{}, cut
}

// decide asks the rule about commands, and reports whether the connection is cut at once.
func (c *Conn) decide(commands [][]string) (cut bool) {
	if c.proxy.rule == nil {
		return false
	}
	for _, command := range commands {
		switch c.proxy.rule(c, command) {
		case CutRequest:
			return true
		case CutReply:
			c.losing = true
		}
	}
	return false
}

// deliver passes on or throws away what carry has read, at its time, and the
// end of the stream too.
func (c *Conn) deliver(dir Direction, line <-chan chunk, to *net.TCPConn) {
	for next := range line {
		if !c.sleepUntil(c.bounded(next)) {
			return
		}
		if len(next.data) > 0 && !c.pass(dir, next.data, to) {
			return
		}
		if next.err != nil {
			c.end(dir, next.err, to)
			return
		}
	}
}

// bounded is when a chunk may be delivered, by its own time and by the bandwidth.
func (c *Conn) bounded(next chunk) time.Time {
	c.proxy.mu.Lock()
	bandwidth := c.bandwidth
	c.proxy.mu.Unlock()
	if bandwidth <= 0 {
		return next.due
	}
	through := time.Now().Add(time.Duration(float64(len(next.data)) / float64(bandwidth) * float64(time.Second)))
	if through.After(next.due) {
		return through
	}
	return next.due
}

func (c *Conn) sleepUntil(due time.Time) bool {
	d := time.Until(due)
	if due.IsZero() || d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.done:
		return false
	}
}

// pass writes data, or throws it away, once the direction is not stalled.
func (c *Conn) pass(dir Direction, data []byte, to *net.TCPConn) bool {
	drop := false
	if !c.await(func() bool { drop = c.modes[dir] == blackholed || c.hungUp; return c.modes[dir] != stalled }) {
		return false
	}
	if !drop {
		// A failed write shows as the end of the other direction.
		_, _ = to.Write(data)
	}
	return true
}

// end hands the end of a stream on in its kind, as soon as the direction passes again.
func (c *Conn) end(dir Direction, err error, to *net.TCPConn) {
	if !c.await(func() bool { return c.modes[dir] == passing }) {
		return
	}
	switch {
	case errors.Is(err, io.EOF):
		_ = to.CloseWrite()
	case errors.Is(err, net.ErrClosed): // by HangUp or Reset, which have seen to the other side
	default:
		reset(to)
	}
}

// Sent reports whether the client has ever sent a command that begins with these
// words, whatever their case: Sent("BLPOP"), Sent("SUBSCRIBE", "news").
func (c *Conn) Sent(words ...string) bool {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return c.log.sent(words)
}

// Waiting reports whether the last command begins with these words and the server
// has sent nothing since: a client blocked in BLPOP is Waiting("BLPOP").
func (c *Conn) Waiting(words ...string) bool {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	last := c.log.last()
	return !c.answered && last != nil && begins(last, words)
}

// Commands are the last commands the client sent, at most 1000, the oldest
// first; of each argument the first 256 bytes.
func (c *Conn) Commands() [][]string {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return append([][]string(nil), c.log.commands...)
}

// String names the client's port and its last command.
func (c *Conn) String() string {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	last := strings.Join(c.log.last(), " ")
	if len(last) > 60 {
		last = last[:60] + "…"
	}
	return fmt.Sprintf("%s %q", c.client.RemoteAddr(), last)
}
