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

	"github.com/dq-bench/dq-bench/internal/redisurl"
	"github.com/dq-bench/dq-bench/internal/text"
)

// SpecError reports a --redis value that can never be right, whatever the
// machine: an unknown word or a broken URL. Commands exit 2 on it.
type SpecError struct {
	// Spec is the value as given, its password hidden.
	Spec string
	// Reason says what is wrong with it.
	Reason string
}

// Error names the value, what is wrong with it and what is allowed.
func (e *SpecError) Error() string {
	return fmt.Sprintf("redis %q: %s; want auto, container[:image], process[:path], embedded or a redis://, redis+cluster://, redis+sentinel:// URL, rediss… for TLS, unix:// for a socket", e.Spec, e.Reason)
}

type mode string

const (
	modeAuto      mode = "auto"
	modeContainer mode = "container"
	modeProcess   mode = "process"
	modeEmbedded  mode = "embedded"
	modeExternal  mode = "external"
)

// words are the modes that a --redis value names.
var words = []string{string(modeAuto), string(modeContainer), string(modeProcess), string(modeEmbedded)}

// spec is a --redis value taken apart.
type spec struct {
	mode mode
	arg  string // image or path; empty means the default
	url  target // for modeExternal
}

// CheckSpec reports whether spec could be right on some machine. It touches no
// network and no file; the error is always a *SpecError.
func CheckSpec(spec string) error {
	_, err := parseSpec(spec)
	return err
}

func parseSpec(s string) (spec, error) {
	if strings.Contains(s, "://") {
		t, err := parseTarget(s)
		if err != nil {
			return spec{}, broken(s, err.Error())
		}
		return spec{mode: modeExternal, url: t}, nil
	}
	word, arg, hasArg := strings.Cut(s, ":")
	switch m := mode(word); m {
	case modeContainer, modeProcess:
		if hasArg && arg == "" {
			return spec{}, broken(s, "nothing follows the colon")
		}
		return spec{mode: m, arg: arg}, nil
	case modeAuto, modeEmbedded:
		if hasArg {
			return spec{}, broken(s, word+" takes no argument")
		}
		return spec{mode: m}, nil
	case "":
		return spec{}, broken(s, "empty")
	default:
		return spec{}, broken(s, "unknown word"+text.DidYouMean(word, words))
	}
}

// broken refuses a value without showing a password in it.
func broken(s, reason string) *SpecError {
	if strings.Contains(s, "://") && redisurl.Misplaced(s) {
		reason = redisurl.Unencoded
	}
	return &SpecError{Spec: redisurl.Redact(s), Reason: reason}
}

type topology int

const (
	single topology = iota
	cluster
	sentinel
)

// target is a parsed URL of an external Redis.
type target struct {
	topology           topology
	tls                bool
	unix               bool           // addrs is the path of a socket
	files              redisurl.Files // for TLS
	trust              *tls.Config    // what is in them, once they are read
	addrs              []string       // at least one host:port, or the path of a socket
	username, password string
	db                 int
	master             string // sentinel: name of the watched master
	sentinelPassword   string
}

// parseTarget reads
//
//	redis[s]://[user[:password]@]host[:port][/db]
//	redis[s]+cluster://[user[:password]@]host[:port][,host[:port]…]
//	redis[s]+sentinel://[user[:password]@]host[:port][,…]/master[/db][?sentinel_password=…]
//
// each of rediss with ?tls_ca=file&tls_cert=file&tls_key=file, and
//
//	unix://[user[:password]@]/path/of/redis.sock[?db=number]
func parseTarget(s string) (target, error) {
	scheme, rest, _ := strings.Cut(s, "://")
	if scheme == "unix" {
		return parseSocket(s)
	}
	t := target{tls: scheme == "rediss" || strings.HasPrefix(scheme, "rediss+")}
	port := "6379"
	switch scheme {
	case "redis", "rediss":
	case "redis+cluster", "rediss+cluster":
		t.topology = cluster
	case "redis+sentinel", "rediss+sentinel":
		t.topology, port = sentinel, "26379"
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
		t.addrs = append(t.addrs, addr)
	}
	if t.topology == single && len(t.addrs) > 1 {
		return t, fmt.Errorf("several hosts need redis+cluster:// or redis+sentinel://")
	}
	return t, t.parsePath(tail)
}

// parseSocket reads the address of a Unix socket.
func parseSocket(s string) (target, error) {
	t := target{unix: true}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return t, errors.New("the address is no URL: in a user and a password %, /, ? and # are percent-encoded")
	case u.Host != "" || strings.TrimRight(u.Path, "/") == "":
		return t, errors.New("the path of the socket is missing: unix:///path/of/redis.sock")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return t, errors.New("a # in the path of a socket is %23")
	}
	t.username, t.addrs = u.User.Username(), []string{u.Path}
	t.password, _ = u.User.Password()
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return t, errors.New("its parameters cannot be read")
	}
	for key, values := range query {
		if key != "db" {
			return t, errors.New("it has an unknown parameter, a socket has ?db=number alone")
		}
		if t.db, err = strconv.Atoi(values[0]); err != nil || t.db < 0 || len(values) > 1 {
			return t, errors.New("the parameter db is not one number")
		}
	}
	return t, nil
}

// parsePath reads what follows the hosts: /db, /master/db and the query.
func (t *target) parsePath(tail string) error {
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
	if t.topology == sentinel {
		if len(parts) == 0 {
			return fmt.Errorf("the master's name is missing: redis+sentinel://host:26379/mymaster")
		}
		t.master, parts = parts[0], parts[1:]
	}
	if len(parts) == 0 {
		return nil
	}
	if t.topology == cluster {
		return fmt.Errorf("a cluster has no database numbers, path %q is too much", u.Path)
	}
	db, err := strconv.Atoi(parts[0])
	if err != nil || db < 0 || len(parts) > 1 {
		return fmt.Errorf("database %q is not a number", strings.Join(parts, "/"))
	}
	t.db = db
	return nil
}

func (t *target) parseQuery(query url.Values) error {
	t.files = redisurl.TakeFiles(query)
	if err := t.files.Check(t.tls); err != nil {
		return err
	}
	for key := range query {
		switch {
		case key == "sentinel_password" && t.topology == sentinel:
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

// url renders t for go-redis: ParseURL, ParseClusterURL or ParseFailoverURL,
// as the topology asks; with files for TLS for redisurl.Parse.
func (t target) url() string {
	if t.unix {
		u := url.URL{Scheme: "unix", Path: t.addrs[0], RawQuery: "db=" + strconv.Itoa(t.db)}
		if t.username != "" || t.password != "" {
			u.User = url.UserPassword(t.username, t.password)
		}
		return u.String()
	}
	u := url.URL{Scheme: "redis", Host: t.addrs[0]}
	if t.tls {
		u.Scheme = "rediss"
	}
	switch {
	case t.topology == sentinel && t.sentinelPassword != "":
		u.User = url.UserPassword("", t.sentinelPassword)
	case t.topology != sentinel && (t.username != "" || t.password != ""):
		u.User = url.UserPassword(t.username, t.password)
	}
	if t.topology != cluster {
		u.Path = "/" + strconv.Itoa(t.db)
	}
	q := url.Values{}
	for _, a := range t.addrs[1:] {
		q.Add("addr", a)
	}
	if t.topology == sentinel {
		// go-redis reads the user information of such a URL as the sentinels' own.
		q.Set("master_name", t.master)
		if t.username != "" {
			q.Set("username", t.username)
		}
		if t.password != "" {
			q.Set("password", t.password)
		}
	}
	t.files.Put(q)
	u.RawQuery = q.Encode()
	return u.String()
}

// loaded is t with its files for TLS read.
func (t target) loaded() (target, error) {
	if t.files == (redisurl.Files{}) {
		return t, nil
	}
	var err error
	t.trust, err = t.files.Config()
	return t, err
}

// NamesFiles reports whether a --redis value is an address that names files for TLS.
func NamesFiles(spec string) bool {
	s, err := parseSpec(spec)
	return err == nil && s.url.files != redisurl.Files{}
}

// Socket reports whether a --redis value is the address of a Unix socket.
func Socket(spec string) bool {
	s, err := parseSpec(spec)
	return err == nil && s.url.unix
}

// WithFiles returns the address of an external server with the files in it that are not empty. The error
// is a *SpecError, also where the address has any already.
func WithFiles(spec string, files redisurl.Files) (string, error) {
	s, err := parseSpec(spec)
	switch {
	case err != nil:
		return "", err
	case s.mode != modeExternal:
		return "", &SpecError{Spec: spec, Reason: "not the address of a server"}
	case s.url.files != redisurl.Files{}:
		return "", &SpecError{Spec: Redact(spec), Reason: "it names files for TLS already"}
	}
	if err := files.Check(s.url.tls); err != nil {
		return "", &SpecError{Spec: Redact(spec), Reason: err.Error()}
	}
	s.url.files = files
	return s.url.spec(), nil
}

// WithPassword returns the address of an external server with a password in it. The error is
// a *SpecError, also where the address has one already.
func WithPassword(spec, password string) (string, error) {
	s, err := parseSpec(spec)
	switch {
	case err != nil:
		return "", err
	case s.mode != modeExternal:
		return "", &SpecError{Spec: spec, Reason: "not the address of a server"}
	case s.url.password != "":
		return "", &SpecError{Spec: Redact(spec), Reason: "it has a password already"}
	}
	s.url.password = password
	return s.url.spec(), nil
}

// Redact hides what may be a password in a --redis value, also in one that cannot be parsed.
func Redact(s string) string {
	if sp, err := parseSpec(s); err == nil && sp.mode != modeExternal {
		return s // an image may have an @ too
	}
	return redisurl.Redact(s)
}

// Place is where a --redis value has its server, for people: host:port of one that runs elsewhere, the first of several, and
// else the value itself. It has no password.
func Place(spec string) string {
	if s, err := parseSpec(spec); err == nil && s.mode == modeExternal && !redisurl.Misplaced(spec) {
		return s.url.addrs[0]
	}
	return Redact(spec)
}
