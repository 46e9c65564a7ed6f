package embedded

import (
	"bufio"
	"errors"
	"fmt"
	"iter"
	"net"
	"sync"

	mini "github.com/alicebob/miniredis/v2/server"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// maxBehind is how many bytes a client may leave unread, as a monitor that
// does not keep up does, before the server drops it.
const maxBehind = 64 << 20

// client is one connection to the embedded server. Replies, published messages
// and MONITOR lines go through one buffer, so they keep their order and no slow
// reader holds up the server.
type client struct {
	id   int64
	conn net.Conn
	addr string // host:port as MONITOR shows it
	db   string
	peer *mini.Peer
	tx   *transaction
	gone chan struct{} // closed when the connection's input has ended

	mu        sync.Mutex
	capturing bool
	taken     []byte // what the running command has replied
	out       []byte // what the connection has still to send
	finished  bool
	wake      chan struct{}
}

func newClient(conn net.Conn) *client {
	c := &client{conn: conn, addr: conn.RemoteAddr().String(), db: "0", gone: make(chan struct{}), wake: make(chan struct{}, 1)}
	c.peer = mini.NewPeer(bufio.NewWriter(c))
	return c
}

// Write takes what miniredis sends to this client.
func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.capturing {
		c.taken = append(c.taken, p...)
	} else {
		c.queue(p)
	}
	return len(p), nil
}

// capture makes replies wait until captured gives them.
func (c *client) capture() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capturing, c.taken = true, nil
}

func (c *client) captured() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capturing = false
	return c.taken
}

func (c *client) send(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue(p)
}

func (c *client) queue(p []byte) {
	if len(c.out)+len(p) > maxBehind {
		_ = c.conn.Close()
		return
	}
	c.out = append(c.out, p...)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// finish closes the connection once everything is sent.
func (c *client) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	c.queue(nil)
}

func (c *client) writeLoop() {
	defer c.conn.Close()
	for range c.wake {
		c.mu.Lock()
		out, finished := c.out, c.finished
		c.out = nil
		c.mu.Unlock()
		if _, err := c.conn.Write(out); err != nil || finished {
			return
		}
	}
}

// commands yields the client's commands. Reading goes on while a command
// blocks, so that a client that leaves ends its wait.
func (c *client) commands() iter.Seq[[]string] {
	read := make(chan []string)
	stop := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.gone)
		in := resp.NewReader(c.conn, 0)
		for {
			args, err := in.ReadCommand()
			if errors.Is(err, resp.ErrProtocol) {
				c.send(fmt.Appendf(nil, "-ERR Protocol error: %v\r\n", err))
			}
			if err != nil {
				return
			}
			if len(args) == 0 {
				continue
			}
			select {
			case read <- args:
			case <-stop:
				return
			}
		}
	}()
	return func(yield func([]string) bool) {
		defer close(stop)
		for args := range read {
			if !yield(args) {
				return
			}
		}
	}
}
