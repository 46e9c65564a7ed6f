package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dq-bench/dq-bench/internal/resp"
)

// probeTimeout bounds one attempt to reach a server that should be there.
const probeTimeout = 3 * time.Second

// Dial connects to one server of an address and logs in: for MONITOR, and for who sends his own bytes. Behind sentinels it
// is the master, of a Cluster the first node that is named. It takes 3 s at most.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	t, err := loaded(address)
	if err != nil {
		return nil, err
	}
	addr := t.Hosts[0]
	if t.Topology == Sentinel {
		if addr, err = t.masterAddr(ctx); err != nil {
			return nil, err
		}
		t = t.At(addr)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := t.open(ctx, addr, maxReply) // a line of MONITOR is as long as a command
	if err != nil {
		return nil, t.explain(err)
	}
	return c, nil
}

// dial connects to one of t's servers, and bounds the replies, and those of one line by line.
func (t Address) dial(ctx context.Context, addr string, line int64) (net.Conn, error) {
	network := "tcp"
	if t.Unix {
		network = "unix"
	}
	var c net.Conn
	var err error
	if t.TLS {
		c, err = (&tls.Dialer{Config: t.tlsConfig()}).DialContext(ctx, network, addr)
	} else {
		c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	if err != nil {
		return nil, err
	}
	return newBounded(c, maxReply, line), nil
}

// open is dial with AUTH and SELECT done.
func (t Address) open(ctx context.Context, addr string, line int64) (net.Conn, error) {
	c, err := t.dial(ctx, addr, line)
	if err != nil {
		return nil, err
	}
	if t.username != "" || t.password != "" {
		// A server whose default user has no password takes any by this form, as it does by go-redis's HELLO.
		_, err = ask(ctx, c, "AUTH", cmp.Or(t.username, "default"), t.password)
		if err != nil && t.username == "" && strings.Contains(err.Error(), "wrong number of arguments") { // Redis before 6.0
			_, err = ask(ctx, c, "AUTH", t.password)
		}
	}
	if err == nil && t.Database != 0 {
		_, err = ask(ctx, c, "SELECT", strconv.Itoa(t.Database))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// ask sends a command and reads its reply. Nothing may follow the reply unasked. An error reply is an error.
func ask(ctx context.Context, c net.Conn, command ...string) (any, error) {
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	_, err := c.Write(resp.AppendCommand(nil, command...))
	if err != nil {
		return nil, err
	}
	reply, err := resp.NewReader(c, 0).Read()
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	if refused, ok := reply.(resp.Error); ok {
		return nil, fmt.Errorf("%s: %w", command[0], refused)
	}
	return reply, nil
}

// info is the INFO server of one of t's servers.
func (t Address) info(ctx context.Context, addr string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	c, err := t.open(ctx, addr, maxLine)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := ask(ctx, c, "PING"); err != nil {
		return "", err
	}
	info, err := ask(ctx, c, "INFO", "server")
	return fmt.Sprint(info), err
}

// masterAddr asks the sentinels in turn where the master is.
func (t Address) masterAddr(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	sentinel := t
	sentinel.username, sentinel.password, sentinel.Database = "", t.sentinelPassword, 0
	var last error
	for _, addr := range t.Hosts {
		c, err := sentinel.open(ctx, addr, maxLine)
		if last = err; err != nil {
			continue
		}
		reply, err := ask(ctx, c, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", t.Master)
		c.Close()
		if at, ok := reply.([]any); ok && len(at) == 2 {
			return net.JoinHostPort(fmt.Sprint(at[0]), fmt.Sprint(at[1])), nil
		}
		last = err
	}
	if last == nil {
		return "", fmt.Errorf("the sentinels at %s watch no master %q: check the name", strings.Join(t.Hosts, ","), t.Master)
	}
	return "", t.explain(last)
}

// explain turns an error of a client into one line: expected, got, and what to do. The line has no password; %w keeps the
// cause for errors.Is.
func (t Address) explain(err error) error {
	var dns *net.DNSError
	var netErr net.Error
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var refusal Error
	msg := err.Error()
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(msg, part) {
				return true
			}
		}
		return false
	}
	scheme := "rediss:// if it speaks TLS"
	switch {
	case t.Unix:
		scheme = "whose socket it is"
	case t.TLS:
		scheme = "redis:// if it speaks no TLS"
	}
	user := cmp.Or(t.username, "default")
	hint := ""
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "nothing listens there; start a Redis there or choose another with --redis"
	case t.Unix && errors.Is(err, fs.ErrNotExist):
		hint = "there is no such socket; check the path, and unixsocket in the server's configuration"
	case t.Unix && errors.Is(err, fs.ErrPermission):
		hint = "this user may not write to the socket; see unixsocketperm in the server's configuration"
	case errors.As(err, &dns):
		hint = "the host name does not resolve; check it"
	case errors.As(err, &record), has("first record does not look like a TLS handshake"):
		hint = "the server speaks no TLS; use redis:// instead of rediss://"
	case errors.As(err, &unknown), errors.As(err, &host), has("x509:"):
		hint = "its TLS certificate is not trusted here; name its authority with ?tls_ca=FILE in the address, or use the host it was issued for"
	case has("certificate required", "tls: bad certificate", "tls: unknown certificate authority"):
		hint = "it wants a client's certificate that it trusts; name one with ?tls_cert=FILE&tls_key=FILE in the address"
	case has("WRONGPASS", "invalid password"):
		hint = fmt.Sprintf("it refuses the user %q with this password, or that user is off; correct the password, or name another user, redis://USER:PASSWORD@HOST", user)
	case has("NOAUTH"):
		hint = "it wants a password of the user \"default\", or another user with a password; put the password into a file for --redis-password-file, and the user into the address, redis://USER@HOST"
	case has("AUTH: ERR"):
		hint = fmt.Sprintf("it takes no password from the user %q; leave the password out, or name the user it belongs to", user)
	case has("unknown command") && t.Topology == Sentinel:
		hint = "that is no sentinel; name the sentinels' port, usually 26379"
	case has("NOPERM"):
		hint = fmt.Sprintf("the user %q may not run PING and INFO; grant +@connection +info", user)
	case has("DB index is out of range"):
		hint = "it has no database of that number; choose another"
	case has("LOADING", "MASTERDOWN", "BUSY"):
		hint = "it is not ready yet; try again shortly"
	case errors.As(err, &refusal) && !has("HTTP"):
		hint = "it refuses clients; look into its configuration and its log"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		hint = fmt.Sprintf("no answer within %s; check the address, a firewall, and %s", probeTimeout, scheme)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		hint = "it closed the connection at once: no Redis; check the port, and " + scheme
	default:
		hint = "that is no Redis answer; check the port, and " + scheme
	}
	return fmt.Errorf("expected a Redis at %s, got: %w: %s", strings.Join(t.Hosts, ","), &oneLine{err}, hint)
}

// oneLine keeps an error's chain and prints it on one line, shortened.
type oneLine struct{ error }

func (e *oneLine) Unwrap() error { return e.error }

func (e *oneLine) Error() string {
	s := strings.Join(strings.Fields(e.error.Error()), " ")
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return s
}

const (
	// maxReply is how much one reply may be, in bytes and, for each element of a list, elementCost.
	maxReply, elementCost = 256 << 20, 16
	// maxLine is how long a status or an error may be.
	maxLine = 1 << 20
	// maxDepth is how many lists a value may be in.
	maxDepth = 32
)

// errReply ends a connection.
var errReply = errors.New("the server's reply does not end, or is none: its connection was closed")

// bounded ends a connection in the middle of a reply that is too large: by what the reply says of itself, before a client
// sets memory aside for it, or by its bytes.
type bounded struct {
	net.Conn
	most, line int64

	left int64   // of the reply under way
	bulk int64   // bytes of a string that are to come, its CR LF included
	read int64   // bytes of the line under way
	head []byte  // their beginning
	open []int64 // elements to come, of each list that the reply is in
	err  error
}

func newBounded(c net.Conn, most, line int64) *bounded {
	return &bounded{Conn: c, most: most, line: line, left: most}
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.Conn.Read(p)
	if b.err = b.pass(p[:n]); b.err != nil {
		_ = b.Close()
		return 0, b.err
	}
	return n, err
}

// Write says why the server has closed the connection, where the server has said so before: it wants a certificate.
func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.Conn.Write(p)
	if err != nil {
		_ = b.SetReadDeadline(time.Now().Add(time.Second))
		if _, why := b.Conn.Read(make([]byte, 1)); why != nil && strings.Contains(why.Error(), "tls: ") {
			err = why
		}
	}
	return n, err
}

// pass follows the replies in bytes.
func (b *bounded) pass(p []byte) error {
	for len(p) > 0 {
		if b.bulk > 0 {
			n := min(int64(len(p)), b.bulk)
			p, b.bulk, b.left = p[n:], b.bulk-n, b.left-n
			if b.bulk == 0 {
				b.ended()
			}
			continue
		}
		c := p[0]
		p, b.left, b.read = p[1:], b.left-1, b.read+1
		if b.left < 0 || b.read > b.line {
			return fmt.Errorf("%w: expected at most %d bytes, and %d in a line", errReply, b.most, b.line)
		}
		if c != '\n' {
			if len(b.head) < 24 { // the type and a number
				b.head = append(b.head, c)
			}
			continue
		}
		if err := b.header(); err != nil {
			return err
		}
		b.head, b.read = b.head[:0], 0
	}
	return nil
}

// header follows a whole line.
func (b *bounded) header() error {
	if len(b.head) == 0 {
		return errReply
	}
	width := int64(0)
	switch b.head[0] {
	case '$', '=', '!':
	case '*', '~', '>':
		width = 1
	case '%', '|':
		width = 2
	default: // a reply of one line
		b.ended()
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(b.head[1:]), "\r"), 10, 64)
	switch {
	case err != nil, len(b.open) == maxDepth:
		return errReply
	case n < 0 || n == 0 && width > 0:
		b.ended()
		return nil
	case width == 0 && n+2 > b.left, width > 0 && n > b.left/(width*elementCost):
		return fmt.Errorf("%w: expected at most %d bytes, its header says %d", errReply, b.most, n)
	case width == 0:
		b.bulk = n + 2
		return nil
	}
	b.left -= n * width * elementCost
	n *= width
	if b.head[0] == '|' {
		n++ // an attribute stands before the value that it describes
	}
	b.open = append(b.open, n)
	return nil
}

// ended counts a value that has come, and the lists that end with it.
func (b *bounded) ended() {
	for len(b.open) > 0 {
		last := len(b.open) - 1
		if b.open[last]--; b.open[last] > 0 {
			return
		}
		b.open = b.open[:last]
	}
	b.left = b.most
}
