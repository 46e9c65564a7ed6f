package redis

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// Way is a direction through a Proxy, or both.
type Way int

// The ways.
const (
	Requests Way = 1 << iota // from the client to the server
	Replies                  // from the server to the client
	Both     = Requests | Replies
)

// Fault is done to the traffic of a connection. The zero Fault does nothing.
type Fault struct {
	Stall     bool          // read nothing: the sockets' buffers fill, and all arrives later
	Drop      Way           // discard what is read, and the end of the stream
	Delay     time.Duration // deliver replies later, in their order
	Bandwidth int           // bytes a second each way; 0 for any
}

// ProxyConn is one client's connection through a Proxy.
type ProxyConn struct {
	proxy  *Proxy
	client net.Conn
	done   chan struct{} // closed when both sides are

	// Guarded by proxy.mu.
	server   net.Conn // nil until dialled
	fault    Fault
	losing   chan struct{} // if not nil, the next reply is cut once this is closed
	left     bool          // the client closed its side
	log      [][]string    // the last logKept commands, argKept bytes of each argument
	answered bool          // the server sent bytes after the last command
}

const (
	logKept = 1000
	argKept = 256
)

// Set replaces the fault of this connection.
func (c *ProxyConn) Set(f Fault) { c.proxy.change(func() { c.fault = f }) }

// Sent reports whether one of the last 1000 commands begins with words, in any case: Sent("BLPOP"), Sent("SUBSCRIBE", "news").
func (c *ProxyConn) Sent(words ...string) bool {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return slices.ContainsFunc(c.log, func(command []string) bool { return begins(command, words) })
}

// Waiting reports whether the last command begins with words and has no reply yet: a client blocked in BLPOP is Waiting("BLPOP").
func (c *ProxyConn) Waiting(words ...string) bool {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return !c.answered && len(c.log) > 0 && begins(c.log[len(c.log)-1], words)
}

// Commands returns the last commands of the client, at most 1000, the oldest first, with the first 256 bytes of each argument.
func (c *ProxyConn) Commands() [][]string {
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	return slices.Clone(c.log)
}

// String names the client's port and its last command.
func (c *ProxyConn) String() string {
	last := ""
	if all := c.Commands(); len(all) > 0 {
		last = strings.Join(all[len(all)-1], " ")
	}
	return fmt.Sprintf("%s %.60q", c.client.RemoteAddr(), last)
}

func begins(command, words []string) bool {
	return len(words) <= len(command) && slices.EqualFunc(command[:len(words)], words, strings.EqualFold)
}

// Reset cuts the connection with an RST to both ends, as a firewall does: the client's next read fails with ECONNRESET.
func (c *ProxyConn) Reset() {
	reset(c.client)
	c.proxy.mu.Lock()
	server := c.server
	c.proxy.mu.Unlock()
	if server != nil {
		reset(server)
	}
	c.forget()
}

func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// forget takes the connection off the list, once.
func (c *ProxyConn) forget() {
	c.proxy.change(func() {
		if i := slices.Index(c.proxy.conns, c); i >= 0 {
			c.proxy.conns = slices.Delete(c.proxy.conns, i, i+1)
			close(c.done)
			if c.server != nil {
				_ = c.server.Close()
			}
		}
	})
}

// serve carries both ways until both have ended.
func (c *ProxyConn) serve() {
	defer c.forget()
	defer c.client.Close()
	server, err := c.proxy.dial(c.proxy.ctx)
	if err != nil {
		reset(c.client) // the nearest to a refusal
		return
	}
	defer server.Close()
	c.proxy.change(func() { c.server = server })
	select {
	case <-c.done: // cut while it was dialled
		return
	default:
	}
	replies := make(chan struct{})
	c.proxy.work.Go(func() {
		defer close(replies)
		c.carry(Replies, server, c.client)
	})
	c.carry(Requests, c.client, server)
	<-replies
}

const forever = time.Duration(math.MaxInt64)

// whether returns forever if a fault holds, else 0.
func whether(holds bool) time.Duration {
	if holds {
		return forever
	}
	return 0
}

// await waits as long as wait says, and calls wait again, under the lock, on each change. It returns false at the connection's end.
func (c *ProxyConn) await(wait func() time.Duration) bool {
	for {
		c.proxy.mu.Lock()
		d, changed := wait(), c.proxy.changed
		c.proxy.mu.Unlock()
		if d <= 0 {
			return true
		}
		select {
		case <-time.After(d):
		case <-changed:
		case <-c.done:
			return false
		}
	}
}

// stream is one way of a connection. A resp.Reader reads it by Read, which first hands on the bytes of the Read before: a command passes
// after its verdict, and only the last bytes of a huge command wait for the verdict.
//
//	from ─▶ Read ─▶ resp.Reader ─▶ hook
//	          └─ at the next Read ─▶ line ─▶ write ─▶ to
type stream struct {
	c        *ProxyConn
	way      Way
	from, to net.Conn
	last     chunk // the result of the last Read
	err      error // the end of the stream
	line     chan chunk
}

type chunk struct {
	data []byte
	at   time.Time
	lose bool // cut the connection at the next reply
}

const (
	chunkSize = 32 << 10
	inFlight  = 256 // chunks that wait while they are delayed
)

func (c *ProxyConn) carry(way Way, from, to net.Conn) {
	s := &stream{c: c, way: way, from: from, to: to, line: make(chan chunk, inFlight)}
	written := make(chan struct{})
	c.proxy.work.Go(func() {
		defer close(written)
		s.write()
	})
	if way == Requests && s.commands() != Pass {
		c.Reset()
		s.last, s.err = chunk{}, net.ErrClosed
	}
	for buf := make([]byte, chunkSize); s.err == nil; { // replies, or no RESP
		_, _ = s.Read(buf)
	}
	s.hand()
	close(s.line)
	<-written
}

// commands asks OnCommand until the stream ends, is no RESP or is cut.
func (s *stream) commands() Verdict {
	c, r := s.c, resp.NewReader(s, chunkSize)
	for {
		command, err := r.ReadCommand()
		if err != nil {
			return Pass
		}
		if len(command) == 0 {
			continue
		}
		c.proxy.change(func() { c.note(command) })
		switch c.verdict(command) {
		case CutRequest:
			return CutRequest
		case CutReply:
			s.last.lose = true
		}
	}
}

func (c *ProxyConn) verdict(command []string) Verdict {
	c.proxy.hook.Lock()
	defer c.proxy.hook.Unlock()
	if c.proxy.onCommand == nil {
		return Pass
	}
	return c.proxy.onCommand(c, command)
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

// Read hands on the bytes of the Read before and reads more.
func (s *stream) Read(buf []byte) (n int, err error) {
	c := s.c
	if s.err != nil {
		return 0, s.err
	}
	s.hand()
	err = net.ErrClosed
	if c.await(func() time.Duration { return whether(c.fault.Stall) }) {
		n, err = s.from.Read(buf[:min(len(buf), chunkSize)])
	}
	var cut chan struct{}
	c.proxy.change(func() {
		c.left = c.left || err != nil && s.way == Requests
		if s.way == Replies && n > 0 {
			c.answered, cut = true, c.losing
		}
	})
	if cut != nil {
		select {
		case <-cut:
		case <-c.done:
		}
		c.Reset()
		n, err = 0, net.ErrClosed
	}
	s.last, s.err = chunk{data: append([]byte(nil), buf[:n]...), at: time.Now()}, err
	return n, err
}

// hand gives write the last chunk.
func (s *stream) hand() {
	if len(s.last.data) > 0 {
		select {
		case s.line <- s.last:
		case <-s.c.done:
		}
	}
	s.last = chunk{}
}

// write delivers chunks, and the end of the stream.
func (s *stream) write() {
	c, p := s.c, s.c.proxy
	for next := range s.line {
		var f Fault
		began := time.Now()
		if !c.await(func() time.Duration { f = c.fault; return s.wait(next, began) }) {
			return
		}
		if f.Drop&s.way == 0 {
			losing := make(chan struct{})
			if next.lose {
				p.change(func() { c.losing = losing })
			}
			_, _ = s.to.Write(next.data) // a failure shows as the end of the other way
			close(losing)
		}
	}
	end := chunk{at: time.Now()}
	if c.await(func() time.Duration { return max(whether(c.fault.Drop&s.way != 0), s.wait(end, end.at)) }) {
		s.end()
	}
}

// wait returns how much longer a chunk waits after its delivery began. It needs mu.
func (s *stream) wait(next chunk, began time.Time) time.Duration {
	f, due := s.c.fault, began
	switch {
	case f.Stall:
		return forever
	case f.Bandwidth > 0:
		due = due.Add(time.Duration(float64(len(next.data)) / float64(f.Bandwidth) * float64(time.Second)))
	}
	if late := next.at.Add(f.Delay); s.way == Replies && late.After(due) {
		due = late
	}
	return time.Until(due)
}

// end closes the other side: after the server has read all if the client has closed, at once if the server has.
func (s *stream) end() {
	half, ok := s.to.(interface{ CloseWrite() error })
	switch {
	case s.way == Requests && ok:
		_ = half.CloseWrite()
	case s.way == Replies && !errors.Is(s.err, io.EOF):
		reset(s.to)
	default:
		_ = s.to.Close()
	}
}
