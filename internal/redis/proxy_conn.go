package redis

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"
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

// connectTimeout bounds Dial.
const connectTimeout = 10 * time.Second

// serve carries both ways until both have ended.
func (c *ProxyConn) serve() {
	defer c.forget()
	defer c.client.Close()
	ctx, cancel := context.WithTimeout(c.proxy.ctx, connectTimeout)
	server, err := c.proxy.dial(ctx)
	cancel()
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
