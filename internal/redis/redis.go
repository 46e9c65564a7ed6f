// Package redis answers: which Redis?
//
// Start takes the value of --redis and gives back a running server, whichever
// way it came to be: an external one, a container, a local process, or the
// embedded one. StartProcess starts a local process whose Node can be killed, paused and
// started again. Connect gives a Conn of a server, and Dial a plain connection.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// probeTimeout bounds one attempt to reach a server that should be there.
const probeTimeout = 3 * time.Second

// Server is a Redis ready for use.
type Server struct {
	// Addr is host:port of the server, or the path of its Unix socket; of the current
	// master behind sentinels, of the first seed of a cluster.
	Addr string
	// Product is "redis", "valkey" or another name INFO server gives; "miniredis" when embedded.
	Product string
	// Version is the product's version as INFO server gives it, "7.0.15".
	Version string
	// How says how the server came to be: "external", "container redis:7.0",
	// "process /usr/bin/redis-server", "embedded".
	How string
	// PID is the process id of a local process as started, 0 for every other form.
	PID int

	address Address
	nodes   []*Node
	closer  func() error
	once    sync.Once
	err     error
}

// Start gives the Redis that spec asks for:
//
//	auto                        the first that works of container, process, embedded
//	container[:image]           a container, DefaultImage if no image is named
//	process[:path]              redis-server or valkey-server, from PATH or at path
//	embedded                    in this process
//	redis:// rediss://          a server that runs elsewhere
//	unix:///path?db=n           the same by a Unix socket
//	redis+cluster://h,h         a cluster, by some of its nodes
//	redis+sentinel://h,h/name   the master that sentinels watch under that name
//	rediss+cluster:// rediss+sentinel://   the same by TLS
//	rediss…?tls_ca=file&tls_cert=file&tls_key=file   by an authority and with a certificate of one's own
//
// A spec that can never be right gives a *SpecError; an environment that cannot
// serve gives another error of one line, without passwords. notice, which may
// be nil, gets the line that says what auto took. ctx bounds the start only.
func Start(ctx context.Context, spec string, notice func(string)) (*Server, error) {
	sp, err := Parse(spec)
	if err != nil {
		return nil, err
	}
	if notice == nil {
		notice = func(string) {}
	}
	switch sp.Kind {
	case Auto:
		return startAuto(ctx, notice)
	case Container:
		return startContainer(ctx, sp.Arg)
	case Process:
		return StartProcess(ctx, sp.Arg)
	case Embedded:
		return startEmbedded(ctx)
	default:
		return startExternal(ctx, sp.Address)
	}
}

// URL is the address of the server as Start, Connect and driver programs read it: of a set it names all nodes and what they
// are. It holds the password: do not print it.
func (s *Server) URL() string { return s.address.String() }

// URLBy is URL with the server reached at another address, host:port of a proxy.
func (s *Server) URLBy(addr string) string { return s.address.At(addr).String() }

// SetOf is the server of an address whose Nodes are these, and which stop ends.
func SetOf(ctx context.Context, how, address string, nodes []*Node, stop func() error) (*Server, error) {
	s, err := Start(ctx, address, nil)
	if err == nil {
		s.How, s.nodes, s.closer = how, nodes, stop
	}
	return s, err
}

// Embedded reports whether the server runs inside this process; its figures do
// not stand for a real Redis.
func (s *Server) Embedded() bool { return s.How == "embedded" }

// Cluster reports whether the server is a Redis Cluster, where the keys of one
// script have to share a slot.
func (s *Server) Cluster() bool { return s.address.Topology == Cluster }

// Seeds are the addresses, host:port, by which a Cluster is found, or the set of sentinels that names the master; none
// of another server.
func (s *Server) Seeds() []string {
	if s.address.Topology == Single {
		return nil
	}
	return slices.Clone(s.address.Hosts)
}

// Nodes are the processes that hold data, in the order of their start; none for
// a server that does not run as a process of ours.
func (s *Server) Nodes() []*Node { return slices.Clone(s.nodes) }

// String is the line people read: "redis 7.0.15 (process /usr/bin/redis-server) on 127.0.0.1:43121".
func (s *Server) String() string {
	return fmt.Sprintf("%s %s (%s) on %s", s.Product, s.Version, s.How, s.Addr)
}

// Conn returns a new client of its own pool; the caller closes it.
func (s *Server) Conn() Conn { return s.address.connect() }

// NewClient returns go-redis's client for an address in the form that URL returns, for who gives it to dq. It connects
// with the first command. The error is a *SpecError, or of a file for TLS.
func NewClient(address string) (goredis.UniversalClient, error) {
	t, err := loaded(address)
	if err != nil {
		return nil, err
	}
	return newClient(t, nil), nil
}

// newClient dials by dialer, nil for go-redis's own.
func newClient(t Address, dialer func(context.Context, string, string) (net.Conn, error)) goredis.UniversalClient {
	switch t.Topology {
	case Cluster:
		o := clusterOptions(t)
		o.Dialer = dialer
		return goredis.NewClusterClient(o)
	case Sentinel:
		return goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: t.master, SentinelAddrs: t.Hosts, SentinelPassword: t.sentinelPassword, Dialer: dialer,
			Username: t.username, Password: t.password, DB: t.Database, TLSConfig: t.tlsConfig(), DisableIdentity: true, ContextTimeoutEnabled: true, Protocol: t.protocol,
		})
	default:
		o := options(t)
		o.Dialer = dialer
		return goredis.NewClient(o)
	}
}

func clusterOptions(t Address) *goredis.ClusterOptions {
	return &goredis.ClusterOptions{
		Protocol: t.protocol,
		Addrs:    t.Hosts, Username: t.username, Password: t.password, TLSConfig: t.tlsConfig(),
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true, // else a call to a server that stands still outlasts its context
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func options(t Address) *goredis.Options {
	o := &goredis.Options{
		Network: t.network(), Addr: t.Hosts[0], Username: t.username, Password: t.password, DB: t.Database, TLSConfig: t.tlsConfig(),
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true, // else a call to a server that stands still outlasts its context
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		PoolSize:                 t.connections,
		Protocol:                 t.protocol,
	}
	if t.once {
		o.MaxRetries = -1
	}
	return o
}

// tlsConfig names no host: who dials takes that of the address, which is another for each node of a set.
func (t Address) tlsConfig() *tls.Config {
	switch {
	case !t.TLS:
		return nil
	case t.trust != nil:
		return t.trust.Clone()
	}
	return &tls.Config{MinVersion: tls.VersionTLS12}
}

// Close stops what Start started and removes its files; an external server is
// left alone. It returns within 15 s, and the same error each time.
func (s *Server) Close() error {
	s.once.Do(func() {
		if s.closer != nil {
			s.err = s.closer()
		}
	})
	return s.err
}

// identify fills Product and Version from INFO server. It is also the proof
// that the server answers, so every form but the embedded one ends with it.
func (s *Server) identify(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	info, err := s.address.info(ctx)
	if err != nil {
		return s.address.explain(err)
	}
	if err := s.address.checkMode(info); err != nil {
		return err
	}
	s.Product, s.Version = product(info)
	if s.Version == "" {
		return fmt.Errorf("expected a Redis at %s, its INFO names no version: is this a proxy? Name the server itself", s.Addr)
	}
	return nil
}

// checkMode refuses a server of another kind than the address says, as far as its INFO tells:
// it would answer, and fail at the first command that needs the other.
func (t Address) checkMode(info string) error {
	at, mode := strings.Join(t.Hosts, ","), fields(info)["redis_mode"]
	switch {
	case mode == "sentinel":
		return fmt.Errorf("expected a Redis at %s, found a sentinel: use redis+sentinel://%s/ and the name of the master", at, at)
	case t.Topology == Cluster && mode != "" && mode != "cluster":
		return fmt.Errorf("expected a node of a cluster at %s, found a Redis in %s mode: use redis:// instead of redis+cluster://", at, mode)
	}
	return nil
}

// info asks the first server of t that answers for INFO server.
func (t Address) info(ctx context.Context) (string, error) {
	var errs []error
	for _, addr := range t.Hosts {
		info, err := t.infoOf(ctx, addr)
		if err == nil {
			return info, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// infoOf dials itself and hands the connection to a client that tries once:
// go-redis would write every failed dial to stderr.
func (t Address) infoOf(ctx context.Context, addr string) (string, error) {
	conn, err := t.dial(ctx, addr)
	if err != nil {
		return "", err
	}
	client := clientOn(t, conn)
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return "", err
	}
	return client.Info(ctx, "server").Result()
}

// clientOn is a client of that one connection, which tries each command once.
// To close it closes the connection.
func clientOn(t Address, conn net.Conn) *goredis.Client {
	opt := options(t)
	opt.MaxRetries, opt.PoolSize, opt.DialerRetries = -1, 1, 1
	opt.Dialer = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	return goredis.NewClient(opt)
}

// dial connects to one of t's servers, and bounds the replies.
func (t Address) dial(ctx context.Context, addr string) (net.Conn, error) {
	var c net.Conn
	var err error
	if t.TLS {
		c, err = (&tls.Dialer{Config: t.tlsConfig()}).DialContext(ctx, "tcp", addr)
	} else {
		c, err = (&net.Dialer{}).DialContext(ctx, t.network(), addr)
	}
	if err != nil {
		return nil, err
	}
	return newBounded(c, maxReply), nil
}

func (t Address) network() string {
	if t.Unix {
		return "unix"
	}
	return "tcp"
}

// product reads the name and version out of INFO server. Valkey keeps
// redis_version for old clients and tells its own beside it.
func product(info string) (name, version string) {
	name = "redis"
	told := fields(info)
	if n := told["server_name"]; n != "" {
		name = n
	}
	if v := told[name+"_version"]; v != "" {
		return name, v
	}
	return name, told["redis_version"]
}

// fields are the name:value lines of INFO.
func fields(info string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(info) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}
