package redis

import (
	"bytes"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// ProxyConn is one client's connection through a Proxy.
type ProxyConn struct {
	proxy  *Proxy
	client net.Conn
	done   chan struct{} // closed when both sides are
	cut    atomic.Bool   // the next reply is

	// Guarded by proxy.mu.
	server net.Conn // nil until dialled
	fault  Fault
	left   bool            // the client closed its side
	sent   map[string]bool // the names of its commands, in upper case
	last   string          // the name of the last command; "" once the server has sent something after it
}

// inLine is how many chunks wait each way; a sender waits behind them.
const inLine = 256

// Set replaces the fault of this connection.
func (c *ProxyConn) Set(f Fault) { c.proxy.change(func() { c.fault = f }) }

// Sent reports whether the client has sent a command of this name, such as SUBSCRIBE.
func (c *ProxyConn) Sent(name string) (is bool) {
	c.proxy.look(func() { is = c.sent[name] })
	return is
}

// Waiting reports whether the last command has this name and no reply yet: a client blocked in BLPOP is Waiting("BLPOP").
func (c *ProxyConn) Waiting(name string) (is bool) {
	c.proxy.look(func() { is = c.last == name })
	return is
}

// Reset cuts the connection with an RST to both ends, as a firewall does: the client's next read fails with ECONNRESET.
func (c *ProxyConn) Reset() {
	reset(c.client)
	c.proxy.change(func() {
		if c.server != nil {
			reset(c.server)
		}
		if i := slices.Index(c.proxy.conns, c); i >= 0 {
			c.proxy.conns = slices.Delete(c.proxy.conns, i, i+1)
			close(c.done)
		}
	})
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// serve carries both ways until both have ended. Without a server the client's connection is cut, which is the nearest to a refusal.
func (c *ProxyConn) serve() {
	defer c.Reset() // what has ended well is closed already
	server, err := c.proxy.dial(c.proxy.ctx)
	if err != nil {
		return
	}
	open := false
	c.proxy.change(func() { c.server, open = server, slices.Contains(c.proxy.conns, c) })
	if !open { // cut while it was dialled
		reset(server)
		return
	}
	var work sync.WaitGroup
	for _, w := range []way{{c, c.client, server, make(chan chunk, inLine), true}, {c, server, c.client, make(chan chunk, inLine), false}} {
		work.Go(w.receive)
		work.Go(w.deliver)
	}
	work.Wait()
}

// way is the way of the requests or of the replies:
//
//	from ─▶ receive ─▶ OnCommand ─▶ line ─▶ deliver ─▶ to
type way struct {
	c        *ProxyConn
	from, to net.Conn
	line     chan chunk
	requests bool
}

// chunk is a command, another part of a way, or its end.
type chunk struct {
	at   time.Time
	pass func() // does it to the other side. A failed write shows as the end of the other way
	last bool
}

// put puts a chunk in line. It returns false after the end.
func (w way) put(last bool, pass func()) bool {
	select {
	case w.line <- chunk{time.Now(), pass, last}:
		return !last
	case <-w.c.done:
		return false
	}
}

// write is a chunk's pass.
func (w way) write(data []byte) func() {
	data = bytes.Clone(data)
	return func() { _, _ = w.to.Write(data) }
}

// receive puts all that arrives in line: bytes that are no command as they are.
func (w way) receive() {
	if w.requests && !w.commands() {
		return
	}
	for buf := make([]byte, 32<<10); ; {
		n, err := w.from.Read(buf)
		w.c.proxy.change(func() {
			if !w.requests && n > 0 {
				w.c.last = ""
			}
			w.c.left = w.c.left || w.requests && err != nil
		})
		if n > 0 && !w.put(false, w.write(buf[:n])) || err != nil && !w.put(true, w.end) {
			return
		}
	}
}

// commands puts each command in line after its verdict. It returns true at the end, or if what follows is no RESP.
func (w way) commands() bool {
	var raw bytes.Buffer
	for r := resp.NewReader(io.TeeReader(w.from, &raw), 0); ; {
		command, err := r.ReadCommand()
		if err != nil {
			return w.put(false, w.write(raw.Bytes()))
		}
		verdict := Pass
		if len(command) > 0 {
			name := strings.ToUpper(command[0])
			w.c.proxy.change(func() { w.c.sent[name], w.c.last = true, name })
			verdict = w.c.proxy.verdict(w.c, command)
		}
		pass := w.write(raw.Next(raw.Len() - r.Buffered()))
		switch verdict {
		case CutRequest:
			w.c.Reset()
			return false
		case CutReply:
			write := pass
			pass = func() { w.c.cut.Store(true); write() }
		}
		if !w.put(false, pass) {
			return false
		}
	}
}

// deliver passes chunks on at their time.
func (w way) deliver() {
	for {
		var next chunk
		select {
		case next = <-w.line:
		case <-w.c.done:
			return
		}
		if !w.hold(next.at) {
			return
		}
		if !w.requests && w.c.cut.Load() {
			w.c.Reset()
			return
		}
		if next.pass(); next.last {
			return
		}
	}
}

// end closes the other side: of a server once it has read all.
func (w way) end() {
	if half, ok := w.to.(interface{ CloseWrite() error }); ok && w.requests {
		_ = half.CloseWrite()
		return
	}
	_ = w.to.Close()
}

// hold waits as long as the fault has a chunk wait. It returns false if the connection ends first.
func (w way) hold(since time.Time) bool {
	for {
		var f Fault
		changed := w.c.proxy.look(func() { f = w.c.fault })
		wait := time.Until(since.Add(f.Delay))
		switch {
		case f.Stall:
			wait = math.MaxInt64
		case w.requests:
			wait = 0
		}
		if wait <= 0 {
			return true
		}
		select {
		case <-time.After(wait):
		case <-changed:
		case <-w.c.done:
			return false
		}
	}
}
