package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
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

// dial opens a connection to the server of an address, and selects a database.
func dial(ctx context.Context, address string, db int) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	socket, err := redis.Dial(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &conn{socket: socket, in: resp.NewReader(socket, 0)}
	if db != 0 {
		_, err = c.do("SELECT", strconv.Itoa(db))
	}
	if err != nil {
		socket.Close()
		return nil, fmt.Errorf("connecting to %s: %w", redis.Place(address), err)
	}
	return c, nil
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
