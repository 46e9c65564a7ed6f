// Package redis answers: which Redis?
//
// Start takes the value of --redis and returns a running server: an external one, a container, a local process, or the
// embedded one. StartProcess starts a local process whose Node can be killed, paused and started again. Connect returns a
// Conn to a server, and Dial a plain connection.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dq-bench/dq-bench/internal/redis/embedded"
)

// Server is a Redis ready for use.
type Server struct {
	// Addr is host:port of the server, or the path of its Unix socket; of the current master behind sentinels, of the first
	// seed of a cluster that answered.
	Addr string
	// Product is "redis", "valkey" or another name that the server gives; "miniredis" when embedded. Version is "7.0.15".
	Product, Version string
	// How says how the server was started: "external", "container redis:7.0", "process /usr/bin/redis-server", "embedded".
	How string
	// PID is the process id of a local process as started, 0 for every other form.
	PID int

	address Address
	nodes   []*Node
	closer  func() error
	once    sync.Once
	err     error
}

// Start returns the Redis that spec asks for:
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
// A spec that can never be right gives a *SpecError; an environment that cannot serve gives another error of one line,
// without passwords. notice, which may be nil, gets the line that says what auto took. ctx bounds the start only.
func Start(ctx context.Context, spec string, notice func(string)) (*Server, error) {
	sp, err := Parse(spec)
	if err != nil {
		return nil, err
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

// startAuto takes the first form that works. Its notice says in one line why better forms did not work.
func startAuto(ctx context.Context, notice func(string)) (*Server, error) {
	var missed []string
	for _, form := range []func() (*Server, error){
		func() (*Server, error) { return startContainer(ctx, "") },
		func() (*Server, error) { return StartProcess(ctx, "") },
		func() (*Server, error) { return startEmbedded(ctx) },
	} {
		s, err := form()
		switch {
		case err == nil:
			line := fmt.Sprintf("redis: %s (%s %s) on %s", s.How, s.Product, s.Version, s.Addr)
			if s.Embedded() {
				line += "; figures do not stand for a real Redis"
			}
			if notice != nil {
				notice(strings.Join(append([]string{line}, missed...), "; "))
			}
			return s, nil
		case ctx.Err() != nil:
			return nil, err
		}
		brief := &briefError{brief: (&oneLine{err}).Error()}
		errors.As(err, &brief)
		missed = append(missed, brief.brief)
	}
	return nil, fmt.Errorf("no Redis can be had here: %s", strings.Join(missed, "; "))
}

// A briefError has a long form for the command that asked for one form, and a short one for the notice of auto.
type briefError struct {
	error
	brief string
}

func (e *briefError) Unwrap() error { return e.error }

// startEmbedded starts the imitation in this process.
func startEmbedded(ctx context.Context) (*Server, error) {
	e, err := embedded.Start(ctx)
	if err != nil {
		return nil, err
	}
	return identified(ctx, &Server{Addr: e.Addr(), How: "embedded", address: Address{Hosts: []string{e.Addr()}}, closer: e.Close})
}

func startExternal(ctx context.Context, t Address) (*Server, error) {
	t, err := t.loaded()
	if err != nil {
		return nil, err
	}
	s := &Server{How: "external", address: t}
	if t.Topology != Sentinel {
		return identified(ctx, s)
	}
	if s.Addr, err = t.masterAddr(ctx); err != nil {
		return nil, err
	}
	master, err := identified(ctx, &Server{address: t.At(s.Addr)})
	if err != nil {
		return nil, err
	}
	s.Product, s.Version = master.Product, master.Version
	return s, nil
}

// identified fills Addr, Product and Version from INFO server of the first host that answers, and closes a Server that
// does not answer as it should.
func identified(ctx context.Context, s *Server) (*Server, error) {
	var errs []error
	for _, addr := range s.address.Hosts {
		info, err := s.address.info(ctx, addr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Addr = addr
		if err := s.identify(fields(info)); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	return nil, errors.Join(s.address.explain(errors.Join(errs...)), s.Close())
}

// identify refuses a server of another kind than the address says: the server would answer, and fail at the first command
// that needs the other kind.
func (s *Server) identify(info map[string]string) error {
	switch mode := info["redis_mode"]; {
	case mode == "sentinel":
		return fmt.Errorf("expected a Redis at %s, found a sentinel: use redis+sentinel://%s/ and the name of the master", s.Addr, s.Addr)
	case s.address.Topology == Cluster && mode != "" && mode != "cluster":
		return fmt.Errorf("expected a node of a cluster at %s, found a Redis in %s mode: use redis:// instead of redis+cluster://", s.Addr, mode)
	}
	// Valkey keeps redis_version for old clients.
	s.Product = cmp.Or(info["server_name"], "redis")
	s.Version = cmp.Or(info[s.Product+"_version"], info["redis_version"])
	if s.Version == "" {
		return fmt.Errorf("expected a Redis at %s, its INFO names no version: is this a proxy? Name the server itself", s.Addr)
	}
	return nil
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

// Embedded reports whether the server runs inside this process; its figures do not stand for a real Redis.
func (s *Server) Embedded() bool { return s.How == "embedded" }

// Cluster reports whether the server is a Redis Cluster, where the keys of one script have to share a slot.
func (s *Server) Cluster() bool { return s.address.Topology == Cluster }

// Seeds are the addresses, host:port, by which a Cluster is found, or the sentinels that name the master; empty for one server.
func (s *Server) Seeds() []string {
	if s.address.Topology == Single {
		return nil
	}
	return slices.Clone(s.address.Hosts)
}

// Nodes are the processes that hold data, in the order of their start; empty for a server that is no process of ours.
func (s *Server) Nodes() []*Node { return slices.Clone(s.nodes) }

// String is the line people read: "redis 7.0.15 (process /usr/bin/redis-server) on 127.0.0.1:43121".
func (s *Server) String() string {
	return fmt.Sprintf("%s %s (%s) on %s", s.Product, s.Version, s.How, s.Addr)
}

// Conn returns a new client of its own pool; the caller closes it.
func (s *Server) Conn() Conn { return s.address.connect() }

// Close stops what Start started and removes its files; an external server is left alone. It returns within 15 s, and the
// same error each time.
func (s *Server) Close() error {
	s.once.Do(func() {
		if s.closer != nil {
			s.err = s.closer()
		}
	})
	return s.err
}
