package embedded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strconv"
	"strings"
	"sync"

	mini "github.com/alicebob/miniredis/v2/server"
)

const (
	// maxBehind is how many bytes a client may leave unread, as a monitor that
	// does not keep up does, before the server drops it.
	maxBehind = 64 << 20
	// maxBulk and maxArgs are the limits of Redis's own protocol reader.
	maxBulk = 512 << 20
	maxArgs = 1 << 20
)

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
		r := bufio.NewReader(c.conn)
		for {
			args, err := readCommand(r)
			if errors.Is(err, errProtocol) {
				c.send([]byte("-ERR P" + err.Error()[1:] + "\r\n"))
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

var errProtocol = errors.New("protocol error")

// readCommand reads one command: an array of bulk strings, or words on a line
// as people type them. An empty line gives no words and no error.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, words, err := readHeader(r, '*', maxArgs)
	if err != nil || words != nil {
		return words, err
	}
	args := make([]string, 0, min(max(n, 0), 64))
	for range n {
		size, other, err := readHeader(r, '$', maxBulk)
		if err != nil {
			return nil, err
		}
		if other != nil || size < 0 {
			return nil, fmt.Errorf("%w: expected '$'", errProtocol)
		}
		var buf bytes.Buffer // grows with what comes, not with what is announced
		if _, err := io.CopyN(&buf, r, int64(size)+2); err != nil {
			return nil, err
		}
		args = append(args, string(buf.Bytes()[:size]))
	}
	return args, nil
}

// readHeader reads a line: a number after kind, or else the words on it.
func readHeader(r *bufio.Reader, kind byte, limit int) (int, []string, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return 0, nil, fmt.Errorf("%w: too big inline request", errProtocol)
	}
	if err != nil {
		return 0, nil, err
	}
	text := strings.TrimRight(string(line), "\r\n")
	if text == "" || text[0] != kind {
		return 0, append([]string{}, strings.Fields(text)...), nil
	}
	n, err := strconv.Atoi(text[1:])
	if err != nil || n > limit {
		return 0, nil, fmt.Errorf("%w: invalid length", errProtocol)
	}
	return n, nil, nil
}
