package guest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
)

// Relay stands between a program and the server and marks the program's connections:
// each one begins with an ECHO that only the Relay can send.
//
//	program ──► Relay ── ECHO <mark>, then byte for byte ──► Redis
//	                                                           │ MONITOR
//	            Marks ◄────────────────────────────────────────┘ the peer is the program
type Relay struct {
	*proxy.Proxy

	mark string
}

// NewRelay listens on this machine and connects to the server of an address.
func NewRelay(address string) (*Relay, error) {
	r := &Relay{mark: "dq-bench:program:" + rand.Text() + ":"}
	// A server may want a login before ECHO. The program's own login follows.
	dial := func(ctx context.Context, _ int) (net.Conn, error) { return redis.Dial(ctx, address) }
	greet := func(id int) [][]string { return [][]string{{"ECHO", r.mark + strconv.Itoa(id)}} }
	var err error
	r.Proxy, err = proxy.New(proxy.Greet(dial, greet))
	return r, err
}

// URL is the server's address by way of the Relay, with the same user, password and
// database. The program speaks no TLS: the Relay does.
func (r *Relay) URL(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the server's address is no URL")
	}
	u.Scheme, u.Host, u.RawQuery = "redis", r.Addr, "" // the query names files for TLS
	return u.String(), nil
}

// Marks reports whether a line of MONITOR is the first of a connection of the Relay.
func (r *Relay) Marks(l monitor.Line) bool {
	return l.Name() == "echo" && len(l.Args) == 2 && strings.HasPrefix(l.Args[1], r.mark)
}

// WaitIdle waits until the program has no connection left and the server has closed
// its end of each.
func (r *Relay) WaitIdle(ctx context.Context) error {
	if r.Until(ctx, func() bool { return r.Open() == 0 }) != nil { // its text has commands, AUTH among them
		return fmt.Errorf("expected the program's connections to end, %d are left: %w", r.Open(), ctx.Err())
	}
	return nil
}
