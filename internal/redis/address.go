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
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/dq-bench/dq-bench/internal/text"
)

// Topology is the kind of servers that an address names.
type Topology int

// The topologies: one server, a Cluster, the master behind sentinels.
const (
	Single Topology = iota
	Cluster
	Sentinel
)

// Address says where a server or a set of servers runs, and has the user and the password. String shows the password.
type Address struct {
	Topology Topology
	TLS      bool
	Unix     bool // Hosts has the path of a socket
	Files    Files
	// Hosts are host:port of one server, of some nodes of a Cluster, or of sentinels; at least one.
	Hosts    []string
	Database int
	Master   string // the master's name at the sentinels

	username, password string
	sentinelPassword   string
	trust              *tls.Config // the contents of Files, once they are read
}

// parseAddress reads
//
//	redis[s]://[user[:password]@]host[:port][/db]
//	redis[s]+cluster://[user[:password]@]host[:port][,host[:port]…]
//	redis[s]+sentinel://[user[:password]@]host[:port][,…]/master[/db][?sentinel_password=…]
//
// each of rediss with ?tls_ca=file&tls_cert=file&tls_key=file, and
//
//	unix://[user[:password]@]/path/of/redis.sock[?db=number]
//
// An error shows no part of the address, because the part may belong to a password.
func parseAddress(s string) (a Address, err error) {
	scheme, rest, _ := strings.Cut(s, "://")
	scheme = strings.ToLower(scheme)
	a.TLS, a.Unix = strings.HasPrefix(scheme, "rediss"), scheme == "unix"
	port := "6379"
	switch strings.Replace(scheme, "rediss", "redis", 1) {
	case "redis", "unix":
	case "redis+cluster":
		a.Topology = Cluster
	case "redis+sentinel":
		a.Topology, port = Sentinel, "26379"
	default:
		return a, errors.New("unknown scheme")
	}
	hosts, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		hosts, tail = rest[:i], rest[i:]
	}
	user := hosts[:strings.LastIndexByte(hosts, '@')+1]
	hosts = hosts[len(user):]
	if strings.Contains(tail, "@") { // perhaps the tail belongs to a password
		return a, errors.New("an @ follows a /, ? or #: in a user and a password these are %2F, %3F and %23, and in a path an @ is %40")
	}
	u, err := url.Parse("redis://" + user + "h" + tail) // net/url accepts no list of hosts
	if err != nil || strings.Contains(tail, "#") {
		return a, errors.New("the address is no URL: in a user, a password and a path %, /, ? and # are percent-encoded")
	}
	a.username = u.User.Username()
	a.password, _ = u.User.Password()
	if a.Unix {
		if hosts != "" || strings.Trim(u.Path, "/") == "" {
			return a, errors.New("the path of the socket is missing: unix:///path/of/redis.sock")
		}
		a.Hosts = []string{u.Path}
		return a, a.parseTail(u)
	}
	for h := range strings.SplitSeq(hosts, ",") {
		host, err := hostPort(h, port)
		if err != nil {
			return a, err
		}
		a.Hosts = append(a.Hosts, host)
	}
	if a.Topology == Single && len(a.Hosts) > 1 {
		return a, errors.New("several hosts need redis+cluster:// or redis+sentinel://")
	}
	return a, a.parseTail(u)
}

// parseTail reads what follows the hosts: /db, /master/db and the parameters.
func (a *Address) parseTail(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("its parameters are not percent-encoded")
	}
	var database string
	known := a.parameters(&database)
	for key := range query {
		if known[key] == nil {
			return errors.New("it has an unknown parameter") // perhaps the end of a password with an & in it
		}
		*known[key] = query.Get(key)
	}
	switch path := strings.Trim(u.Path, "/"); {
	case a.Files != Files{} && !a.TLS:
		return errors.New("files for TLS need rediss://, rediss+cluster:// or rediss+sentinel://")
	case (a.Files.Cert == "") != (a.Files.Key == ""):
		return errors.New("a client's certificate and its key belong together, one of them is missing")
	case a.Unix:
	case a.Topology == Single:
		database = path
	case a.Topology == Sentinel:
		if a.Master, database, _ = strings.Cut(path, "/"); a.Master == "" || strings.Contains(a.Master, "@") {
			return errors.New("the master's name is missing: redis+sentinel://host:26379/mymaster")
		}
	case path != "":
		return errors.New("a cluster has no database numbers, the path is too much")
	}
	if database != "" {
		if a.Database, err = strconv.Atoi(database); err != nil || a.Database < 0 {
			return errors.New("the database is not a number")
		}
	}
	return nil
}

// parameters returns the places of the parameters that an address may have.
func (a *Address) parameters(database *string) map[string]*string {
	all := map[string]*string{"tls_ca": &a.Files.CA, "tls_cert": &a.Files.Cert, "tls_key": &a.Files.Key}
	switch {
	case a.Unix:
		all["db"] = database
	case a.Topology == Sentinel:
		all["sentinel_password"] = &a.sentinelPassword
	}
	return all
}

func hostPort(h, usual string) (string, error) {
	u := &url.URL{Host: h}
	host, port := u.Hostname(), cmp.Or(u.Port(), usual)
	n, _ := strconv.Atoi(port)
	_, notIP := netip.ParseAddr(host)
	switch bracketed := strings.HasPrefix(h, "["); {
	case u.Port() == "" && (strings.HasSuffix(h, ":") || strings.Count(h, ":") == 1):
		return "", errors.New("the port is not a number")
	case n < 1 || n > 65535:
		return "", errors.New("the port is not within 1-65535")
	case host == "":
		return "", errors.New("the host is missing")
	case bracketed && notIP != nil:
		return "", errors.New("expected an IPv6 address within brackets")
	case !bracketed && strings.Trim(host, ".-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return "", errors.New("expected a host name")
	}
	return net.JoinHostPort(host, port), nil
}

// String returns the address as Parse reads it, with the password: do not print it.
func (a Address) String() string {
	database, q := strconv.Itoa(a.Database), url.Values{}
	u := url.URL{Scheme: "redis", Path: "/" + database, Host: strings.Join(a.Hosts, ",")}
	if a.TLS {
		u.Scheme = "rediss"
	}
	for name, value := range a.parameters(&database) {
		if *value != "" {
			q.Set(name, *value)
		}
	}
	switch {
	case a.Unix:
		u = url.URL{Scheme: "unix", Path: a.Hosts[0]}
		u.RawPath = strings.ReplaceAll(u.EscapedPath(), "@", "%40")
	case a.Topology == Cluster:
		u.Scheme, u.Path = u.Scheme+"+cluster", ""
	case a.Topology == Sentinel:
		u.Scheme, u.Path = u.Scheme+"+sentinel", "/"+a.Master+u.Path
	}
	switch {
	case a.password != "":
		u.User = url.UserPassword(a.username, a.password)
	case a.username != "":
		u.User = url.User(a.username)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// At returns the address of one server of the set, for the same user.
func (a Address) At(host string) Address {
	a.Topology, a.Hosts, a.Master, a.sentinelPassword = Single, []string{host}, "", ""
	return a
}

// WithPassword returns the address with a password. It fails with a *SpecError if the address has one.
func (a Address) WithPassword(password string) (Address, error) {
	if a.password != "" {
		return a, &SpecError{Spec: Redact(a.String()), Reason: "it has a password already"}
	}
	a.password = password
	return a, nil
}

// Flags are the flags of dq-bench for the address in a printed command, with a file in the place of the password.
func (a Address) Flags(file string) (flags []string) {
	if a.password != "" {
		flags, a.password = []string{"--redis-password-file", text.Shell(file)}, ""
	}
	return append(flags, "--redis", text.Shell(sentinelPassword.ReplaceAllString(a.String(), "$1***")))
}

// CLI is redis-cli with the options for the address, or the first of its hosts, in a printed command. It asks for the password.
func (a Address) CLI() string {
	words := []string{"redis-cli"}
	add := func(option, value string) {
		if value != "" {
			words = append(words, option, text.Shell(value))
		}
	}
	first, _, _ := strings.Cut(strings.Join(a.Hosts, ","), ",")
	if host, port, err := net.SplitHostPort(first); err == nil {
		add("-h", host)
		add("-p", port)
	} else {
		add("-s", first)
	}
	if a.Topology == Cluster {
		words = append(words, "-c")
	}
	if a.Database > 0 {
		add("-n", strconv.Itoa(a.Database))
	}
	if a.TLS {
		words = append(words, "--tls")
		add("--cacert", a.Files.CA)
		add("--cert", a.Files.Cert)
		add("--key", a.Files.Key)
	}
	if add("--user", a.username); a.username+a.password != "" {
		words = append(words, "--askpass")
	}
	return strings.Join(words, " ")
}

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
		{has("NOPERM"), fmt.Sprintf("the user %q may not run PING, INFO or SELECT; grant +@connection +select +info", user)},
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
