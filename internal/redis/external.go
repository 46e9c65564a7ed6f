package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"

	goredis "github.com/redis/go-redis/v9"
)

func startExternal(ctx context.Context, t Address) (*Server, error) {
	t, err := t.loaded()
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: t.Hosts[0], How: "external", address: t}
	if t.Topology == Sentinel {
		addr, err := t.masterAddr(ctx)
		if err != nil {
			return nil, err
		}
		s.Addr = addr
		probe := &Server{Addr: addr, address: t.At(addr)}
		if err := probe.identify(ctx); err != nil {
			return nil, err
		}
		s.Product, s.Version = probe.Product, probe.Version
		return s, nil
	}
	if err := s.identify(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// NodeOf gives the server that has a key, by itself and as the same user: of a cluster the master of the key's
// slot, behind sentinels the master of this moment; any other server itself.
func (s *Server) NodeOf(ctx context.Context, key string) (*Server, error) {
	addr := s.Addr
	switch s.address.Topology {
	case Single:
		return s, nil
	case Cluster:
		client := goredis.NewClusterClient(clusterOptions(s.address))
		defer client.Close()
		master, err := client.MasterForKey(ctx, key)
		if err != nil {
			return nil, s.address.explain(err)
		}
		addr = master.Options().Addr
	case Sentinel:
	}
	n := &Server{Addr: addr, How: s.How, address: s.address.At(addr)}
	return n, n.identify(ctx)
}

// masterAddr asks the sentinels in turn where the master is.
func (t Address) masterAddr(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var last error
	for _, addr := range t.Hosts {
		conn, err := t.dial(ctx, addr)
		if err != nil {
			last = err
			continue
		}
		c := goredis.NewSentinelClient(&goredis.Options{
			Password: t.sentinelPassword, MaxRetries: -1, DisableIdentity: true,
			Dialer: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		})
		hp, err := c.GetMasterAddrByName(ctx, t.master).Result()
		_ = c.Close()
		_ = conn.Close()
		if err == nil && len(hp) == 2 {
			return net.JoinHostPort(hp[0], hp[1]), nil
		}
		last = err
	}
	if errors.Is(last, goredis.Nil) {
		return "", fmt.Errorf("the sentinels at %s watch no master %q: check the name", strings.Join(t.Hosts, ","), t.master)
	}
	return "", t.explain(last)
}

// explain turns what a client met into one line: what was expected, what came,
// what to do. No line repeats the password; %w keeps the cause for errors.Is.
func (t Address) explain(err error) error {
	at := strings.Join(t.Hosts, ",")
	var dns *net.DNSError
	var netErr net.Error
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	msg := err.Error()
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
	case errors.As(err, &record), strings.Contains(msg, "first record does not look like a TLS handshake"):
		hint = "the server speaks no TLS; use redis:// instead of rediss://"
	case errors.As(err, &unknown), errors.As(err, &host), strings.Contains(msg, "x509:"):
		hint = "its TLS certificate is not trusted here; name its authority with ?tls_ca=FILE in the address, or use the host it was issued for"
	case strings.Contains(msg, "certificate required"), strings.Contains(msg, "tls: bad certificate"), strings.Contains(msg, "tls: unknown certificate authority"):
		hint = "it wants a client's certificate that it trusts; name one with ?tls_cert=FILE&tls_key=FILE in the address"
	case strings.Contains(msg, "WRONGPASS"), strings.Contains(msg, "invalid password"):
		hint = "it refuses the user or password of the URL; correct them"
	case strings.Contains(msg, "NOAUTH"):
		hint = "it wants a password; put it into a file for --redis-password-file, or the whole URL into DQ_REDIS"
	case strings.Contains(msg, "unknown command") && t.Topology == Sentinel:
		hint = "that is no sentinel; name the sentinels' port, usually 26379"
	case strings.Contains(msg, "NOPERM"):
		hint = "the user may not run PING and INFO; grant +@connection +info"
	case strings.Contains(msg, "DB index is out of range"):
		hint = "it has no database of that number; choose another"
	case strings.HasPrefix(msg, "LOADING"), strings.HasPrefix(msg, "MASTERDOWN"), strings.HasPrefix(msg, "BUSY"):
		hint = "it is not ready yet; try again shortly"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		hint = fmt.Sprintf("no answer within %s; check the address, a firewall, and %s", probeTimeout, t.otherScheme())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		hint = "it closed the connection at once: no Redis; check the port, and " + t.otherScheme()
	default:
		hint = "that is no Redis answer; check the port, and " + t.otherScheme()
	}
	return fmt.Errorf("expected a Redis at %s, got: %w: %s", at, &oneLine{err}, hint)
}

// otherScheme is the advice where the two ends may disagree about TLS.
func (t Address) otherScheme() string {
	switch {
	case t.Unix:
		return "whose socket it is"
	case t.TLS:
		return "redis:// if it speaks no TLS"
	}
	return "rediss:// if it speaks TLS"
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
