package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// answerTimeout bounds the wait for one answer, or for MONITOR to show a command.
const answerTimeout = 10 * time.Second

// conn is a connection that sends exactly the bytes it is given: client
// libraries change the case of names and choose connections themselves.
type conn struct {
	socket net.Conn
	in     *resp.Reader
}

// dial opens a connection to the server of a redis:// address, authenticates
// and selects a database.
func dial(ctx context.Context, options *redis.Options, db int) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	socket, err := dialSocket(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", options.Addr, err)
	}
	c := &conn{socket: socket, in: resp.NewReader(socket, 0)}
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
	c.socket.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, err := c.socket.Write(resp.AppendCommand(nil, args...))
	return err
}

// do sends a command and returns its answer; an error answer is a resp.Error.
func (c *conn) do(args ...string) (any, error) {
	if err := c.send(args); err != nil {
		return nil, err
	}
	c.socket.SetReadDeadline(time.Now().Add(answerTimeout))
	defer c.socket.SetReadDeadline(time.Time{})
	reply, err := c.in.Read()
	if err != nil {
		return nil, err
	}
	if e, ok := reply.(resp.Error); ok {
		return nil, e
	}
	return reply, nil
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
