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
	"slices"
	"strings"
	"syscall"
)

// explain turns a client's error into one line without a password: expected, got, and what to do. %w keeps the cause for errors.Is.
func (a Address) explain(err error) error {
	msg := err.Error()
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(msg, part) })
	}
	is := func(targets ...error) bool {
		return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
	}
	scheme := "rediss:// if it speaks TLS"
	switch {
	case a.Unix:
		scheme = "whose socket it is"
	case a.TLS:
		scheme = "redis:// if it speaks no TLS"
	}
	user := cmp.Or(a.username, "default")
	for _, h := range []struct {
		holds bool
		hint  string
	}{
		{is(syscall.ECONNREFUSED), "nothing listens there; start a Redis there or choose another with --redis"},
		{a.Unix && is(fs.ErrNotExist), "there is no such socket; check the path, and unixsocket in the server's configuration"},
		{a.Unix && is(fs.ErrPermission), "this user may not write to the socket; see unixsocketperm in the server's configuration"},
		{errors.As(err, new(*net.DNSError)), "the host name does not resolve; check it"},
		{errors.As(err, new(tls.RecordHeaderError)) || has("first record does not look like a TLS handshake"), "the server speaks no TLS; use redis:// instead of rediss://"},
		{errors.As(err, new(x509.UnknownAuthorityError)) || has("x509:"),
			"its TLS certificate is not trusted here; name its authority with ?tls_ca=FILE in the address, or use the host it was issued for"},
		{has("certificate required", "tls: bad certificate", "tls: unknown certificate authority"),
			"it wants a client's certificate that it trusts; name one with ?tls_cert=FILE&tls_key=FILE in the address"},
		{has("WRONGPASS", "invalid password"),
			fmt.Sprintf("it refuses the user %q with this password, or that user is off; correct the password, or name another user, redis://USER:PASSWORD@HOST", user)},
		{has("NOAUTH"), "it wants a password of the user \"default\", or another user with a password; " +
			"put the password into a file for --redis-password-file, and the user into the address, redis://USER@HOST"},
		{has("AUTH: ERR"), fmt.Sprintf("it takes no password from the user %q; leave the password out, or name the user it belongs to", user)},
		{has("unknown command") && a.Topology == Sentinel, "that is no sentinel; name the sentinels' port, usually 26379"},
		{has("NOPERM"), fmt.Sprintf("the user %q may not run PING and INFO; grant +@connection +info", user)},
		{has("DB index is out of range"), "it has no database of that number; choose another"},
		{has("BUSY"), "a script runs there for long; redis-cli SCRIPT KILL ends one that has written nothing"},
		{has("LOADING", "MASTERDOWN"), "it is not ready yet; try again shortly"},
		{errors.As(err, new(Error)) && !has("HTTP"), "it refuses clients; look into its configuration and its log"},
		{is(os.ErrDeadlineExceeded, context.DeadlineExceeded) || has("i/o timeout"), fmt.Sprintf("no answer within %s; check the address, a firewall, and %s", probeTimeout, scheme)},
		{is(io.EOF, syscall.ECONNRESET, syscall.EPIPE), "it closed the connection at once: no Redis; check the port, and " + scheme},
		{true, "that is no Redis answer; check the port, and " + scheme},
	} {
		if h.holds {
			return fmt.Errorf("expected a Redis at %s, got: %w: %s", strings.Join(a.Hosts, ","), OneLine(err), h.hint)
		}
	}
	return err
}

type oneLine struct{ error }

// OneLine returns an error with the chain of err and its text on one line, shortened.
func OneLine(err error) error { return &oneLine{err} }

func (e *oneLine) Unwrap() error { return e.error }

func (e *oneLine) Error() string {
	s := strings.Join(strings.Fields(e.error.Error()), " ")
	if len(s) > 160 {
		s = s[:160] + "…"
	}
	return s
}
