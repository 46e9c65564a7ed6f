package guest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/resp"
)

// dialTimeout bounds the way to the server; closeTimeout what the server may take
// to close a connection whose client is gone.
const (
	dialTimeout  = 10 * time.Second
	closeTimeout = 10 * time.Second
)

// Relay stands between a program and the server, so that the program's connections
// can be told from everybody else's, whoever the program is and however many it
// opens: each one begins with an ECHO that only the relay can send.
//
//	program ──► Relay ── ECHO <mark>, then byte for byte ──► Redis
//	                                                           │ MONITOR
//	            Marks ◄────────────────────────────────────────┘ the peer is the program
type Relay struct {
	listener net.Listener
	options  *redis.Options
	mark     string

	mu   sync.Mutex
	open map[net.Conn]bool
	// changed is closed and replaced when a connection ends.
	changed chan struct{}
	closed  bool
	work    sync.WaitGroup
}

// NewRelay listens on this machine for what is to reach the server of options.
func NewRelay(ctx context.Context, options *redis.Options) (*Relay, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the program's connections: %w", err)
	}
	r := &Relay{
		listener: listener, options: options, mark: "dq-bench:program:" + rand.Text(),
		open: map[net.Conn]bool{}, changed: make(chan struct{}),
	}
	r.work.Go(r.accept)
	return r, nil
}

// URL is the server's address by way of the relay, with the same user, password
// and database. It speaks no TLS: the relay does.
func (r *Relay) URL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the server's address is no URL")
	}
	u.Scheme, u.Host, u.RawQuery = "redis", r.listener.Addr().String(), "" // which names files for TLS
	return u.String(), nil
}

// Marks reports whether a line of MONITOR is the first of a connection of the relay.
func (r *Relay) Marks(l monitor.Line) bool {
	return l.Name() == "echo" && len(l.Args) == 2 && l.Args[1] == r.mark
}

// WaitIdle waits until the program has no connection left and the server has closed
// its end of each.
func (r *Relay) WaitIdle(ctx context.Context) error {
	for {
		r.mu.Lock()
		n, changed := len(r.open), r.changed
		r.mu.Unlock()
		if n == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("expected the program's connections to end, %d are left: %w", n, ctx.Err())
		}
	}
}

// Close ends all connections.
func (r *Relay) Close() error {
	err := r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for conn := range r.open {
		conn.Close()
	}
	r.mu.Unlock()
	r.work.Wait()
	return err
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		if !r.add(client) {
			client.Close()
			return
		}
		r.work.Go(func() {
			defer r.remove(client)
			// A program whose connection ends says so itself.
			_ = r.serve(client)
		})
	}
}

func (r *Relay) add(client net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.open[client] = true
	}
	return !r.closed
}

func (r *Relay) remove(client net.Conn) {
	client.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, client)
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Relay) serve(client net.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	server, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	replies := resp.NewReader(server, 0)
	if err := r.introduce(server, replies); err != nil {
		return err
	}
	fromServer := replies.Rest()
	var upwards sync.WaitGroup
	upwards.Go(func() {
		_, _ = io.Copy(server, client) // ends with either of them
		if half, ok := server.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the server may have closed it already
		}
		server.SetReadDeadline(time.Now().Add(closeTimeout))
	})
	if _, err := io.Copy(client, fromServer); err != nil {
		// The client takes no more, but what it sent last must reach the server, which
		// closes the connection when it has read it all.
		_, _ = io.Copy(io.Discard, fromServer)
	}
	client.Close()
	upwards.Wait()
	return nil
}

func (r *Relay) dial(ctx context.Context) (net.Conn, error) {
	if r.options.TLSConfig != nil {
		return (&tls.Dialer{Config: r.options.TLSConfig}).DialContext(ctx, r.options.Network, r.options.Addr)
	}
	return (&net.Dialer{}).DialContext(ctx, r.options.Network, r.options.Addr)
}

// introduce sends the mark, which takes a login where the server wants one. The
// program's own login follows.
func (r *Relay) introduce(server net.Conn, replies *resp.Reader) error {
	server.SetDeadline(time.Now().Add(dialTimeout))
	defer server.SetDeadline(time.Time{})
	if o := r.options; o.Password != "" {
		auth := []string{"AUTH", o.Password}
		if o.Username != "" {
			auth = []string{"AUTH", o.Username, o.Password}
		}
		if err := ask(server, replies, auth, "OK"); err != nil {
			return err
		}
	}
	return ask(server, replies, []string{"ECHO", r.mark}, r.mark)
}

// ask sends a command that has to be answered by a string.
func ask(server io.Writer, replies *resp.Reader, args []string, want string) error {
	if _, err := server.Write(resp.AppendCommand(nil, args...)); err != nil {
		return err
	}
	reply, err := replies.Read()
	if err == nil && reply != want {
		err = fmt.Errorf("%s: the server answered %.80q", args[0], fmt.Sprint(reply))
	}
	return err
}
