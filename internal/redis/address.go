package redis

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Topology is the kind of servers that an address names.
type Topology int

// The topologies: one server, a Cluster, the master behind sentinels.
const (
	Single Topology = iota
	Cluster
	Sentinel
)

// Address is where a server runs, or some of the servers of a set, and who asks. Its text holds the password.
type Address struct {
	Topology Topology
	TLS      bool
	Unix     bool // the one of Hosts is the path of a socket
	Files    Files
	// Hosts are host:port of one server, of some nodes of a Cluster, or of sentinels; at least one.
	Hosts    []string
	Database int
	Master   string // the name of the master that the sentinels watch

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
func parseAddress(s string) (t Address, err error) {
	scheme, rest, _ := strings.Cut(s, "://")
	port := "6379"
	switch strings.Replace(scheme, "rediss", "redis", 1) {
	case "unix":
		return parseSocket(s)
	case "redis":
	case "redis+cluster":
		t.Topology = Cluster
	case "redis+sentinel":
		t.Topology, port = Sentinel, "26379"
	default:
		return t, errors.New("unknown scheme")
	}
	t.TLS = strings.HasPrefix(scheme, "rediss")
	hosts, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		hosts, tail = rest[:i], rest[i:]
	}
	if strings.Contains(tail, "@") {
		return t, errors.New("an @ stands behind a /, ? or #: in a user and a password these are %2F, %3F and %23")
	}
	if i := strings.LastIndexByte(hosts, '@'); i >= 0 {
		// Only the user information goes through net/url here: it does not accept a list of hosts.
		u, err := url.Parse("redis://" + hosts[:i+1] + "h")
		if err != nil {
			return t, errors.New("user or password is not percent-encoded")
		}
		t.user(u)
		hosts = hosts[i+1:]
	}
	for h := range strings.SplitSeq(hosts, ",") {
		addr, err := hostPort(h, port)
		if err != nil {
			return t, err
		}
		t.Hosts = append(t.Hosts, addr)
	}
	if t.Topology == Single && len(t.Hosts) > 1 {
		return t, errors.New("several hosts need redis+cluster:// or redis+sentinel://")
	}
	return t, t.parsePath(tail)
}

func (t *Address) user(u *url.URL) {
	t.username = u.User.Username()
	t.password, _ = u.User.Password()
}

// parseSocket reads the address of a Unix socket.
func parseSocket(s string) (t Address, err error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return t, errors.New("the address is no URL: in a user and a password %, /, ? and # are percent-encoded")
	case u.Host != "" || strings.TrimRight(u.Path, "/") == "":
		return t, errors.New("the path of the socket is missing: unix:///path/of/redis.sock")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return t, errors.New("a # in the path of a socket is %23")
	}
	t.Unix, t.Hosts = true, []string{u.Path}
	t.user(u)
	query, err := url.ParseQuery(u.RawQuery)
	if db := query["db"]; err == nil && db != nil {
		if t.Database, err = strconv.Atoi(db[0]); err != nil || t.Database < 0 || len(db) > 1 {
			return t, errors.New("the parameter db is not one number")
		}
		query.Del("db")
	}
	if err != nil || len(query) > 0 {
		return t, errors.New("it has an unknown parameter, a socket has ?db=number alone")
	}
	return t, nil
}

// parsePath reads what follows the hosts: /db, /master/db and the query.
func (t *Address) parsePath(tail string) error {
	u, err := url.Parse(tail)
	if err != nil {
		return errors.New("the path cannot be read")
	}
	query := u.Query()
	t.Files.each(func(name string, file *string) { *file = query.Get(name); query.Del(name) })
	if err := t.Files.check(t.TLS); err != nil {
		return err
	}
	if t.Topology == Sentinel {
		t.sentinelPassword = query.Get("sentinel_password")
		query.Del("sentinel_password")
	}
	for key := range query {
		if key == "addr" || key == "master_name" {
			return fmt.Errorf("the parameter %q is go-redis's: name all hosts before the path, and write redis+cluster://host,host or redis+sentinel://host,host/master", key)
		}
		return errors.New("it has an unknown parameter") // which may be the end of a password with an & in it
	}
	path := strings.Trim(u.Path, "/")
	if t.Topology == Sentinel {
		if t.Master, path, _ = strings.Cut(path, "/"); t.Master == "" || strings.Contains(t.Master, "@") {
			return errors.New("the master's name is missing: redis+sentinel://host:26379/mymaster")
		}
	}
	switch {
	case path == "":
		return nil
	case t.Topology == Cluster:
		return errors.New("a cluster has no database numbers, the path is too much")
	}
	if t.Database, err = strconv.Atoi(path); err != nil || t.Database < 0 {
		return errors.New("the database is not a number")
	}
	return nil
}

func hostPort(h, port string) (string, error) {
	u := &url.URL{Host: h}
	host := u.Hostname()
	if p := u.Port(); p != "" {
		port = p
	} else if strings.HasSuffix(h, ":") || strings.Count(h, ":") == 1 {
		return "", errors.New("the port is not a number")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", errors.New("the port is not within 1-65535")
	}
	if host == "" {
		return "", errors.New("the host is missing")
	}
	if strings.HasPrefix(h, "[") {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", errors.New("that is no IPv6 address")
		}
	} else if strings.ContainsFunc(host, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_", r)
	}) {
		return "", errors.New("that is no host name")
	}
	return net.JoinHostPort(host, port), nil
}

// String is the address as Parse reads it, with the password: do not print it.
func (t Address) String() string {
	u := url.URL{Scheme: "redis", Path: "/" + strconv.Itoa(t.Database), Host: strings.Join(t.Hosts, ",")}
	if t.TLS {
		u.Scheme = "rediss"
	}
	q := url.Values{}
	t.Files.each(func(name string, file *string) {
		if *file != "" {
			q.Set(name, *file)
		}
	})
	switch {
	case t.Unix:
		u = url.URL{Scheme: "unix", Path: t.Hosts[0]}
		q.Set("db", strconv.Itoa(t.Database))
	case t.Topology == Cluster:
		u.Scheme, u.Path = u.Scheme+"+cluster", ""
	case t.Topology == Sentinel:
		u.Scheme, u.Path = u.Scheme+"+sentinel", "/"+t.Master+u.Path
		if t.sentinelPassword != "" {
			q.Set("sentinel_password", t.sentinelPassword)
		}
	}
	if t.username != "" || t.password != "" {
		u.User = url.UserPassword(t.username, t.password)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Plain reports whether it is one server by TCP without TLS, before which a proxy can stand.
func (t Address) Plain() bool { return t.Topology == Single && !t.TLS && !t.Unix }

// At is one of the servers by itself, as the same user.
func (t Address) At(host string) Address {
	t.Topology, t.Hosts, t.Master, t.sentinelPassword = Single, []string{host}, "", ""
	return t
}

// WithPassword returns the address with a password in it. The error is a *SpecError, also where the address has one already.
func (t Address) WithPassword(password string) (Address, error) {
	if t.password != "" {
		return t, &SpecError{Spec: Redact(t.String()), Reason: "it has a password already"}
	}
	t.password = password
	return t, nil
}
