// Package redis answers: which Redis?
//
// Start takes the value of --redis and gives back a running server, whichever
// way it came to be: an external one, a container, a local process, or the
// embedded one. StartProcess, StartCluster and StartSentinel and their kin start
// local processes, one or a small set, whose Nodes can be killed, paused and
// started again.
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

	target target
	nodes  []*Node
	closer func() error
	once   sync.Once
	err    error
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
	sp, err := parseSpec(spec)
	if err != nil {
		return nil, err
	}
	if notice == nil {
		notice = func(string) {}
	}
	switch sp.mode {
	case modeAuto:
		return startAuto(ctx, notice)
	case modeContainer:
		return startContainer(ctx, sp.arg)
	case modeProcess:
		return StartProcess(ctx, sp.arg)
	case modeEmbedded:
		return startEmbedded(ctx)
	default:
		return startExternal(ctx, sp.url)
	}
}

// URL is the server's address with its credentials, for redisurl.Parse, and
// redis.ParseURL where it names no files for TLS (redis.ParseClusterURL, redis.ParseFailoverURL for those topologies). It
// holds the password: do not print it.
func (s *Server) URL() string { return s.target.url() }

// Embedded reports whether the server runs inside this process; its figures do
// not stand for a real Redis.
func (s *Server) Embedded() bool { return s.How == "embedded" }

// Cluster reports whether the server is a Redis Cluster, where the keys of one
// script have to share a slot.
func (s *Server) Cluster() bool { return s.target.topology == cluster }

// Seeds are the addresses, host:port, by which a Cluster is found, or the set of sentinels that names the master; none
// of another server.
func (s *Server) Seeds() []string {
	if s.target.topology == single {
		return nil
	}
	return slices.Clone(s.target.addrs)
}

// Nodes are the processes that hold data, in the order of their start; none for
// a server that does not run as a process of ours.
func (s *Server) Nodes() []*Node { return slices.Clone(s.nodes) }

// String is the line people read: "redis 7.0.15 (process /usr/bin/redis-server) on 127.0.0.1:43121".
func (s *Server) String() string {
	return fmt.Sprintf("%s %s (%s) on %s", s.Product, s.Version, s.How, s.Addr)
}

// NewClient returns a new client of its own pool; the caller closes it. It
// sends nothing on connecting beyond the protocol's own hand-shake.
func (s *Server) NewClient() goredis.UniversalClient { return s.target.newClient() }

// NewClient returns a client for an address in the form that URL returns. It
// connects with the first command. The error is a *SpecError, or of a file for TLS.
func NewClient(url string) (goredis.UniversalClient, error) {
	s, err := parseSpec(url)
	if err != nil {
		return nil, err
	}
	if s.mode != modeExternal {
		return nil, &SpecError{Spec: url, Reason: "not the address of a server"}
	}
	t, err := s.url.loaded()
	if err != nil {
		return nil, err
	}
	return t.newClient(), nil
}

func (t target) newClient() goredis.UniversalClient {
	switch t.topology {
	case cluster:
		return goredis.NewClusterClient(t.clusterOptions())
	case sentinel:
		return goredis.NewFailoverClient(&goredis.FailoverOptions{
			MasterName: t.master, SentinelAddrs: t.addrs, SentinelPassword: t.sentinelPassword,
			Username: t.username, Password: t.password, DB: t.db, TLSConfig: t.tlsConfig(), DisableIdentity: true, ContextTimeoutEnabled: true,
		})
	default:
		return goredis.NewClient(t.options())
	}
}

func (t target) clusterOptions() *goredis.ClusterOptions {
	return &goredis.ClusterOptions{
		Addrs: t.addrs, Username: t.username, Password: t.password, TLSConfig: t.tlsConfig(),
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true, // else a call to a server that stands still outlasts its context
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func (t target) options() *goredis.Options {
	return &goredis.Options{
		Network: t.network(), Addr: t.addrs[0], Username: t.username, Password: t.password, DB: t.db, TLSConfig: t.tlsConfig(),
		DisableIdentity:          true,
		ContextTimeoutEnabled:    true, // else a call to a server that stands still outlasts its context
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// tlsConfig names no host: who dials takes that of the address, which is another for each node of a set.
func (t target) tlsConfig() *tls.Config {
	switch {
	case !t.tls:
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
	info, err := s.target.info(ctx)
	if err != nil {
		return s.target.explain(err)
	}
	if err := s.target.checkMode(info); err != nil {
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
func (t target) checkMode(info string) error {
	at, mode := strings.Join(t.addrs, ","), fields(info)["redis_mode"]
	switch {
	case mode == "sentinel":
		return fmt.Errorf("expected a Redis at %s, found a sentinel: use redis+sentinel://%s/ and the name of the master", at, at)
	case t.topology == cluster && mode != "" && mode != "cluster":
		return fmt.Errorf("expected a node of a cluster at %s, found a Redis in %s mode: use redis:// instead of redis+cluster://", at, mode)
	}
	return nil
}

// info asks the first server of t that answers for INFO server.
func (t target) info(ctx context.Context) (string, error) {
	var errs []error
	for _, addr := range t.addrs {
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
func (t target) infoOf(ctx context.Context, addr string) (string, error) {
	conn, err := t.dial(ctx, addr)
	if err != nil {
		return "", err
	}
	client := t.clientOn(conn)
	defer client.Close()
	if err := client.Ping(ctx).Err(); err != nil {
		return "", err
	}
	return client.Info(ctx, "server").Result()
}

// clientOn is a client of that one connection, which tries each command once.
// To close it closes the connection.
func (t target) clientOn(conn net.Conn) *goredis.Client {
	opt := t.options()
	opt.MaxRetries, opt.PoolSize, opt.DialerRetries = -1, 1, 1
	opt.Dialer = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	return goredis.NewClient(opt)
}

func (t target) dial(ctx context.Context, addr string) (net.Conn, error) {
	if t.tls {
		return (&tls.Dialer{Config: t.tlsConfig()}).DialContext(ctx, "tcp", addr)
	}
	return (&net.Dialer{}).DialContext(ctx, t.network(), addr)
}

func (t target) network() string {
	if t.unix {
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
