package redis

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// ProxyConn is one client's connection through a Proxy.
type ProxyConn struct {
	proxy  *Proxy
	client net.Conn
	done   chan struct{} // closed when both sides are

	cutting sync.Mutex // held while a command is written whose reply is to be cut
	cut     bool       // the next reply is cut; guarded by cutting

	// Guarded by proxy.mu.
	server   net.Conn // nil until dialled
	fault    Fault
	left     bool       // the client closed its side
	log      [][]string // the last logKept commands, argKept bytes of each argument
	answered bool       // the server sent bytes after the last command
}

const (
	logKept = 1000
	argKept = 256
	inLine  = 256 // chunks that wait each way; a sender waits behind them
)

// Set replaces the fault of this connection.
func (c *ProxyConn) Set(f Fault) { c.proxy.change(func() { c.fault = f }) }

// Commands returns the last commands of the client, at most 1000, the oldest first, with the first 256 bytes of each argument.
func (c *ProxyConn) Commands() [][]string {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return slices.Clone(c.log)
}

// Sent reports whether one of the Commands begins with words, in any case: Sent("BLPOP"), Sent("SUBSCRIBE", "news").
func (c *ProxyConn) Sent(words ...string) bool {
	return slices.ContainsFunc(c.Commands(), func(command []string) bool { return begins(command, words) })
}

// Waiting reports whether the last command begins with words and has no reply yet: a client blocked in BLPOP is Waiting("BLPOP").
func (c *ProxyConn) Waiting(words ...string) bool {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return !c.answered && len(c.log) > 0 && begins(c.log[len(c.log)-1], words)
}

func begins(command, words []string) bool {
	return len(words) <= len(command) && slices.EqualFunc(command[:len(words)], words, strings.EqualFold)
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
	c.proxy.change(func() { c.server = server })
	select {
	case <-c.done: // cut while it was dialled
		reset(server)
		return
	default:
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
	data []byte
	at   time.Time
	cut  bool // its reply is to be cut
	end  error
}

// put puts a chunk in line. It returns false after the end.
func (w way) put(data []byte, cut bool, end error) bool {
	select {
	case w.line <- chunk{bytes.Clone(data), time.Now(), cut, end}:
		return end == nil
	case <-w.c.done:
		return false
	}
}

// receive puts all that comes in line: bytes that are no command as they come.
func (w way) receive() {
	if w.requests && !w.commands() {
		return
	}
	for buf := make([]byte, 32<<10); ; {
		n, err := w.from.Read(buf)
		w.c.proxy.change(func() {
			w.c.answered = w.c.answered || !w.requests && n > 0
			w.c.left = w.c.left || w.requests && err != nil
		})
		if !w.put(buf[:n], false, err) {
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
			return w.put(raw.Bytes(), false, nil)
		}
		verdict := Pass
		if len(command) > 0 {
			w.c.proxy.change(func() { w.c.note(command) })
			verdict = w.c.proxy.verdict(w.c, command)
		}
		if verdict == CutRequest {
			w.c.Reset()
			return false
		}
		if !w.put(raw.Next(raw.Len()-r.Buffered()), verdict == CutReply, nil) {
			return false
		}
	}
}

// note needs mu.
func (c *ProxyConn) note(command []string) {
	kept := make([]string, len(command))
	for i, arg := range command {
		kept[i] = strings.Clone(arg[:min(len(arg), argKept)])
	}
	c.log = append(c.log[max(0, len(c.log)+1-logKept):], kept)
	c.answered = false
}

// deliver passes chunks on once their time has come. A failed write shows as the end of the other way.
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
		if !w.requests && w.c.isCut() {
			w.c.Reset()
			return
		}
		if next.cut {
			w.c.cutting.Lock()
			w.c.cut = true
		}
		if len(next.data) > 0 {
			_, _ = w.to.Write(next.data)
		}
		if next.cut {
			w.c.cutting.Unlock()
		}
		if next.end != nil {
			w.end(next.end)
			return
		}
	}
}

func (c *ProxyConn) isCut() bool {
	c.cutting.Lock()
	defer c.cutting.Unlock()
	return c.cut
}

// end closes the other side: after the server has read all if the client has closed, at once if the server has.
func (w way) end(err error) {
	half, ok := w.to.(interface{ CloseWrite() error })
	switch {
	case w.requests && ok:
		_ = half.CloseWrite()
	case w.requests || errors.Is(err, io.EOF):
		_ = w.to.Close()
	default:
		reset(w.to)
	}
}

// hold waits as long as the fault has a chunk wait. It returns false if the connection ends first.
func (w way) hold(since time.Time) bool {
	for {
		w.c.proxy.mu.Lock()
		f, changed := w.c.fault, w.c.proxy.changed
		w.c.proxy.mu.Unlock()
		wait := time.Duration(0)
		switch {
		case f.Stall:
			wait = math.MaxInt64
		case !w.requests:
			wait = time.Until(since.Add(f.Delay))
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
