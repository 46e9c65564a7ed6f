package replay

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// answerTimeout bounds the wait for one answer, or for MONITOR to show a command.
const answerTimeout = 10 * time.Second

// Bounds of an answer: what Redis itself allows for a value, and far more
// nesting and elements than any command answers with.
const (
	maxBulk     = 512 << 20
	maxElements = 1 << 24
	maxDepth    = 8
)

// conn is a connection that sends exactly the bytes it is given: client
// libraries change the case of names and choose connections themselves.
type conn struct {
	socket net.Conn
	in     *bufio.Reader
}

// serverError is an error that the server answered with.
type serverError string

func (e serverError) Error() string { return string(e) }

// RedisError makes it a redis.Error.
func (e serverError) RedisError() {}

// dial opens a connection to the server of a redis:// address, authenticates
// and selects a database.
func dial(ctx context.Context, options *redis.Options, db int) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	socket, err := dialSocket(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", options.Addr, err)
	}
	c := &conn{socket: socket, in: bufio.NewReader(socket)}
	if options.Password != "" {
		auth := []string{"AUTH", options.Password}
		if options.Username != "" {
			auth = []string{"AUTH", options.Username, options.Password}
		}
		_, err = c.do(auth...)
	}
	if err == nil && db != 0 {
		_, err = c.do("SELECT", strconv.Itoa(db))
	}
	if err != nil {
		socket.Close()
		return nil, fmt.Errorf("connecting to %s: %w", options.Addr, err)
	}
	return c, nil
}

func dialSocket(ctx context.Context, options *redis.Options) (net.Conn, error) {
	if options.TLSConfig != nil {
		return (&tls.Dialer{Config: options.TLSConfig}).DialContext(ctx, options.Network, options.Addr)
	}
	return (&net.Dialer{}).DialContext(ctx, options.Network, options.Addr)
}

// send writes a command.
func (c *conn) send(args []string) error {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		b = fmt.Appendf(b, "$%d\r\n", len(arg))
		b = append(append(b, arg...), "\r\n"...)
	}
	c.socket.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, err := c.socket.Write(b)
	return err
}

// do sends a command and returns its answer; an error answer is a serverError.
func (c *conn) do(args ...string) (any, error) {
	if err := c.send(args); err != nil {
		return nil, err
	}
	c.socket.SetReadDeadline(time.Now().Add(answerTimeout))
	defer c.socket.SetReadDeadline(time.Time{})
	reply, err := c.read(0)
	if err != nil {
		return nil, err
	}
	if e, ok := reply.(serverError); ok {
		return nil, e
	}
	return reply, nil
}

// push is out-of-band data of RESP3.
type push []any

// read reads one answer of RESP2 or RESP3: string, int64, nil, serverError,
// []any or push. Types that no command here needs come as their text.
func (c *conn) read(depth int) (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < 3 || depth > maxDepth {
		return nil, fmt.Errorf("the server's answer is no RESP: %.40q", line)
	}
	kind, text := line[0], line[1:len(line)-2]
	switch kind {
	case '+', ',', '(', '#':
		return text, nil
	case '-':
		return serverError(text), nil
	case '_':
		return nil, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the server's answer is no RESP: %.40q", line)
	}
	switch kind {
	case ':':
		return n, nil
	case '$', '!', '=':
		return c.readBulk(n)
	case '*', '~':
		return c.readElements(n, depth)
	case '%':
		return c.readElements(2*n, depth)
	case '>':
		elements, err := c.readElements(n, depth)
		list, _ := elements.([]any)
		return push(list), err
	}
	return nil, fmt.Errorf("the server's answer is no RESP: %.40q", line)
}

func (c *conn) readBulk(n int64) (any, error) {
	if n < 0 {
		return nil, nil
	}
	if n > maxBulk {
		return nil, fmt.Errorf("the server's answer of %d bytes is too long", n)
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return nil, err
	}
	return string(b[:n]), nil
}

func (c *conn) readElements(n int64, depth int) (any, error) {
	if n < 0 {
		return nil, nil
	}
	if n > maxElements {
		return nil, fmt.Errorf("the server's answer of %d elements is too long", n)
	}
	elements := make([]any, 0, min(n, 1024))
	for range n {
		e, err := c.read(depth + 1)
		if err != nil {
			return nil, err
		}
		elements = append(elements, e)
	}
	return elements, nil
}

// integer returns an answer that has to be one.
func integer(reply any, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	n, ok := reply.(int64)
	if !ok {
		return 0, fmt.Errorf("expected a number as answer, got %v", reply)
	}
	return n, nil
}

// texts returns the elements of an answer that has to be a list of strings.
func texts(reply any, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	list, ok := reply.([]any)
	if !ok {
		return nil, fmt.Errorf("expected a list as answer, got %v", reply)
	}
	all := make([]string, len(list))
	for i, e := range list {
		if all[i], ok = e.(string); !ok {
			return nil, errors.New("expected a list of strings as answer")
		}
	}
	return all, nil
}
