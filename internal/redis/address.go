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
	// Unix says that the one of Hosts is the path of a socket.
	Unix  bool
	Files Files
	// Hosts are host:port of one server, of some nodes of a Cluster, or of sentinels; at least one.
	Hosts    []string
	Database int

	username, password string
	master             string // sentinel: name of the watched master
	sentinelPassword   string
	trust              *tls.Config // what is in the Files, once they are read

	// connections is the least size of a pool, and once has each command sent once; for single servers.
	connections int
	once        bool
	protocol    int // of RESP; 0 for go-redis's own choice
}

// ParseAddress reads the address of a server. The error is a *SpecError.
func ParseAddress(s string) (Address, error) {
	spec, err := Parse(s)
	if err == nil && spec.Kind != External {
		err = &SpecError{Spec: Redact(s), Reason: "not the address of a server"}
	}
	return spec.Address, err
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
func parseAddress(s string) (Address, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	if scheme == "unix" {
		return parseSocket(s)
	}
	t := Address{TLS: scheme == "rediss" || strings.HasPrefix(scheme, "rediss+")}
	port := "6379"
	switch scheme {
	case "redis", "rediss":
	case "redis+cluster", "rediss+cluster":
		t.Topology = Cluster
	case "redis+sentinel", "rediss+sentinel":
		t.Topology, port = Sentinel, "26379"
	default:
		return t, fmt.Errorf("unknown scheme")
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	hosts := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		// Only the user information goes through net/url here: it does not accept a list of hosts.
		u, err := url.Parse("redis://" + authority[:i+1] + "h")
		if err != nil {
			return t, fmt.Errorf("user or password is not percent-encoded")
		}
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
		hosts = authority[i+1:]
	}
	for h := range strings.SplitSeq(hosts, ",") {
		addr, err := hostPort(h, port)
		if err != nil {
			return t, err
		}
		t.Hosts = append(t.Hosts, addr)
	}
	if t.Topology == Single && len(t.Hosts) > 1 {
		return t, fmt.Errorf("several hosts need redis+cluster:// or redis+sentinel://")
	}
	return t, t.parsePath(tail)
}

// parseSocket reads the address of a Unix socket.
func parseSocket(s string) (Address, error) {
	t := Address{Unix: true}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return t, errors.New("the address is no URL: in a user and a password %, /, ? and # are percent-encoded")
	case u.Host != "" || strings.TrimRight(u.Path, "/") == "":
		return t, errors.New("the path of the socket is missing: unix:///path/of/redis.sock")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return t, errors.New("a # in the path of a socket is %23")
	}
	t.username, t.Hosts = u.User.Username(), []string{u.Path}
	t.password, _ = u.User.Password()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, errors.New("its parameters cannot be read")
	}
	for key, values := range query {
		if key != "db" {
			return t, errors.New("it has an unknown parameter, a socket has ?db=number alone")
		}
		if t.Database, err = strconv.Atoi(values[0]); err != nil || t.Database < 0 || len(values) > 1 {
			return t, errors.New("the parameter db is not one number")
		}
	}
	return t, nil
}

// parsePath reads what follows the hosts: /db, /master/db and the query.
func (t *Address) parsePath(tail string) error {
	u, err := url.Parse(tail)
	if err != nil {
		return fmt.Errorf("the path cannot be read")
	}
	var parts []string
	if p := strings.Trim(u.Path, "/"); p != "" {
		parts = strings.Split(p, "/")
	}
	if err := t.parseQuery(u.Query()); err != nil {
		return err
	}
	if t.Topology == Sentinel {
		if len(parts) == 0 {
			return fmt.Errorf("the master's name is missing: redis+sentinel://host:26379/mymaster")
		}
		t.master, parts = parts[0], parts[1:]
	}
	if len(parts) == 0 {
		return nil
	}
	if t.Topology == Cluster {
		return fmt.Errorf("a cluster has no database numbers, path %q is too much", u.Path)
	}
	db, err := strconv.Atoi(parts[0])
	if err != nil || db < 0 || len(parts) > 1 {
		return fmt.Errorf("database %q is not a number", strings.Join(parts, "/"))
	}
	t.Database = db
	return nil
}

func (t *Address) parseQuery(query url.Values) error {
	t.Files = takeFiles(query)
	if err := t.Files.check(t.TLS); err != nil {
		return err
	}
	for key := range query {
		switch {
		case key == "sentinel_password" && t.Topology == Sentinel:
			t.sentinelPassword = query.Get(key)
		case key == "addr" || key == "master_name":
			return fmt.Errorf("the parameter %q is go-redis's: name all hosts before the path, and write redis+cluster://host,host or redis+sentinel://host,host/master", key)
		default:
			return errors.New("it has an unknown parameter") // which may be the end of a password with an & in it
		}
	}
	return nil
}

func hostPort(h, port string) (string, error) {
	if h == "" {
		return "", fmt.Errorf("the host is missing")
	}
	u := &url.URL{Host: h}
	host := u.Hostname()
	if p := u.Port(); p != "" {
		port = p
	} else if strings.HasSuffix(h, ":") || strings.Count(h, ":") == 1 {
		return "", fmt.Errorf("the port is not a number")
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("port %q is not within 1-65535", port)
	}
	if host == "" {
		return "", fmt.Errorf("the host is missing")
	}
	if strings.HasPrefix(h, "[") {
		if _, err := netip.ParseAddr(host); err != nil {
			return "", fmt.Errorf("%q is no IPv6 address", host)
		}
	} else if strings.ContainsFunc(host, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(".-_", r)
	}) {
		return "", fmt.Errorf("%q is no host name", host)
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
	t.Files.put(q)
	switch {
	case t.Unix:
		u = url.URL{Scheme: "unix", Path: t.Hosts[0]}
		q.Set("db", strconv.Itoa(t.Database))
	case t.Topology == Cluster:
		u.Scheme, u.Path = u.Scheme+"+cluster", ""
	case t.Topology == Sentinel:
		u.Scheme, u.Path = u.Scheme+"+sentinel", "/"+t.master+u.Path
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

// Redacted is the address without passwords.
func (t Address) Redacted() string { return hide(t.String()) }

// Plain reports whether it is one server by TCP without TLS, before which a proxy can stand.
func (t Address) Plain() bool { return t.Topology == Single && !t.TLS && !t.Unix }

// At is one of the servers by itself, as the same user.
func (t Address) At(host string) Address {
	t.Topology, t.Hosts, t.master, t.sentinelPassword = Single, []string{host}, "", ""
	return t
}

// Watched is the address with the name of the master that its sentinels watch.
func (t Address) Watched(master string) Address {
	t.master = master
	return t
}

// WithFiles returns the address with the files in it that are not empty. The error is a *SpecError, also where the address
// has any already.
func (t Address) WithFiles(files Files) (Address, error) {
	if t.Files != (Files{}) {
		return t, &SpecError{Spec: t.Redacted(), Reason: "it names files for TLS already"}
	}
	if err := files.check(t.TLS); err != nil {
		return t, &SpecError{Spec: t.Redacted(), Reason: err.Error()}
	}
	t.Files = files
	return t, nil
}

// WithPassword returns the address with a password in it. The error is a *SpecError, also where the address has one already.
func (t Address) WithPassword(password string) (Address, error) {
	if t.password != "" {
		return t, &SpecError{Spec: t.Redacted(), Reason: "it has a password already"}
	}
	t.password = password
	return t, nil
}

// loaded is t with its files for TLS read.
func (t Address) loaded() (Address, error) {
	if t.Files == (Files{}) {
		return t, nil
	}
	var err error
	t.trust, err = t.Files.config()
	return t, err
}
