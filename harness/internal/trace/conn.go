package trace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// handshakeTimeout bounds connecting, authentication and the MONITOR command.
const handshakeTimeout = 10 * time.Second

// ErrClosed says that the server, or the network, ended a MONITOR connection. Commands that ran after the last line read were not seen.
var ErrClosed = errors.New("the server closed the MONITOR connection; later commands were not seen " +
	"(a reader that is too slow is cut off: see client-output-buffer-limit)")

// ErrRefused says that the server did not take MONITOR.
var ErrRefused = errors.New("the server refuses MONITOR")

// Conn is a connection in MONITOR mode. One goroutine may read it.
type Conn struct {
	socket net.Conn
	in     *resp.Reader
	err    error
}

// Dial connects to the server of a redis:// or rediss:// address, which may hold user and password, and puts the
// connection in MONITOR mode: every command that runs after Dial returned is seen. A MONITOR connection costs the
// server time and sees every client's data; keep it short on a server in production.
func Dial(ctx context.Context, redisURL string) (*Conn, error) {
	address, err := redis.ParseAddress(redisURL)
	if err != nil || address.Topology != redis.Single {
		return nil, errors.Join(errors.New("MONITOR needs the address of one server, redis://host:port or rediss://host:port"), err)
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	socket, err := redis.Dial(ctx, redisURL)
	if err != nil {
		return nil, fmt.Errorf("MONITOR: %w", err)
	}
	c := &Conn{socket: socket, in: resp.NewReader(socket, 64<<10)}
	if err := c.begin(ctx); err != nil {
		socket.Close()
		return nil, fmt.Errorf("MONITOR on %s: %w", address.Hosts[0], err)
	}
	return c, nil
}

// begin sends MONITOR, whose answer is +OK.
func (c *Conn) begin(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	c.socket.SetWriteDeadline(deadline)
	if _, err := c.socket.Write(resp.AppendCommand(nil, "MONITOR")); err != nil {
		return err
	}
	kind, text, err := c.readLine(ctx)
	if err != nil {
		return err
	}
	if kind != '+' || text != "OK" {
		return fmt.Errorf("%w: it answered %.200q", ErrRefused, string(kind)+text)
	}
	return nil
}

// Read returns the next line. It waits until there is one, or the connection ends, as it does with ctx. A connection that ended gives
// ErrClosed; ErrLineTooLong and a line that cannot be parsed, a *SyntaxError, end the connection too.
func (c *Conn) Read(ctx context.Context) (Line, error) {
	if c.err != nil {
		return Line{}, c.err
	}
	kind, text, err := c.readLine(ctx)
	if err == nil && kind != '+' {
		err = fmt.Errorf("MONITOR: expected a line, the server sent %.200q", string(kind)+text)
	}
	if c.err = err; err != nil {
		return Line{}, err
	}
	line, err := ParseLine(text)
	if err != nil {
		c.err = fmt.Errorf("MONITOR: %w", err)
	}
	return line, c.err
}

// readLine reads a reply of one line: its type byte and what follows it.
func (c *Conn) readLine(ctx context.Context) (kind byte, text string, err error) {
	if !c.in.HasLine() { // it has one in most calls under load
		defer context.AfterFunc(ctx, func() { c.socket.Close() })()
	}
	kind, text, err = c.in.ReadLine(MaxLineBytes)
	switch {
	case ctx.Err() != nil:
		return 0, "", ctx.Err()
	case err == nil:
		return kind, text, nil
	case errors.Is(err, resp.ErrLineTooLong):
		return 0, "", ErrLineTooLong
	case errors.Is(err, resp.ErrProtocol):
		return 0, "", fmt.Errorf("MONITOR: %w", err)
	}
	return 0, "", fmt.Errorf("%w: %w", ErrClosed, err)
}

// Close ends the connection.
func (c *Conn) Close() error { return c.socket.Close() }

// Unreadable says why the lines of a server's MONITOR cannot be read back, or "" if they can: Valkey 8.1.0 and 8.1.1
// write quotes and backslashes of an argument as they are (issue 2035 of its tracker).
func Unreadable(product, version string) string {
	if product == "valkey" && slices.Contains([]string{"8.1.0", "8.1.1"}, version) {
		return fmt.Sprintf("MONITOR of Valkey %s does not escape quotes and backslashes, so that its lines are ambiguous; 8.1.2 does", version)
	}
	return ""
}
