// Package redis finds or starts a Redis server, and connects to it.
//
// Start takes the value of --redis: an address, a container, a local process or the embedded server. StartProcess starts a local process
// whose Node a test or a fault kills, pauses and starts again. Connect returns a Conn to a server, Dial a plain connection. A Proxy
// stands between clients and a server: it delays, holds, loses and cuts traffic, and shows commands to its caller.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redis/embedded"
	"github.com/dq-bench/dq-bench/internal/text"
)

// Server is a Redis ready for use.
type Server struct {
	// Addr is host:port of the server, or the path of its socket; of the current master behind sentinels; of the first node of a
	// cluster that answered.
	Addr string
	// Product is "redis", "valkey" or another name by INFO; "miniredis" when embedded. Version is "7.0.15".
	Product, Version string
	// How says how the server was started: "external", "container redis:7.0", "process /usr/bin/redis-server", "embedded".
	How string

	address Address
	nodes   []*Node
	closer  func() error
}

// DefaultImage is the image of "container". docker/build-local.sh builds it without a registry.
const DefaultImage = "redis:7.0"

// StartContainer starts a container, and returns host:port of its Redis and what removes it. Package container sets StartContainer.
var StartContainer = func(_ context.Context, image string) (addr string, stop func() error, err error) {
	return "", nil, fmt.Errorf("no container here: this program starts none of %s: choose another --redis", image)
}

// Start returns the Redis of a spec:
//
//	auto                        the first that works of container, process, embedded
//	container[:image]           a container, by default of DefaultImage
//	process[:path]              redis-server or valkey-server, from PATH or at path
//	embedded                    in this process
//	redis:// rediss://          a server that runs elsewhere
//	unix:///path?db=n           the same by a Unix socket
//	redis+cluster://h,h         a cluster, by some of its nodes
//	redis+sentinel://h,h/name   the master that sentinels watch under a name
//	rediss+cluster:// rediss+sentinel://   the same by TLS
//	rediss…?tls_ca=file&tls_cert=file&tls_key=file   with other authorities, and with a client's certificate
//
// A wrong spec gives a *SpecError; a missing server gives another error of one line without passwords. notice gets one line with the
// choice of auto; it may be nil. ctx bounds only the start.
func Start(ctx context.Context, spec string, notice func(string)) (*Server, error) {
	sp, err := Parse(spec)
	if err != nil {
		return nil, err
	}
	switch sp.Kind {
	case Auto:
		return startAuto(ctx, notice)
	case Container:
		image := cmp.Or(sp.Arg, DefaultImage)
		addr, stop, err := StartContainer(ctx, image)
		if err != nil {
			return nil, err
		}
		return identified(ctx, &Server{How: "container " + image, address: Address{Hosts: []string{addr}}, closer: stop})
	case Process:
		return StartProcess(ctx, sp.Arg)
	case Embedded:
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("embedded: no port on 127.0.0.1: %w", err)
		}
		e, err := embedded.Serve(l, embedded.Hooks{}, embedded.ScriptLimit)
		if err != nil {
			return nil, err
		}
		return identified(ctx, &Server{How: "embedded", address: Address{Hosts: []string{e.Addr()}}, closer: sync.OnceValue(e.Close)})
	default:
		return startExternal(ctx, sp.Address)
	}
}

// startAuto takes the first kind that works. Its notice says why it skipped better kinds.
func startAuto(ctx context.Context, notice func(string)) (*Server, error) {
	var missed []string
	for _, kind := range []Kind{Container, Process, Embedded} {
		s, err := Start(ctx, string(kind), nil)
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
		reason, _, _ := strings.Cut(OneLine(err).Error(), ": ") // the rest is for a command that asked for this kind
		missed = append(missed, reason)
	}
	return nil, fmt.Errorf("no kind of Redis works here: %s", strings.Join(missed, "; "))
}

func startExternal(ctx context.Context, a Address) (*Server, error) {
	a, err := a.loaded()
	if err != nil {
		return nil, err
	}
	master, err := a.master(ctx)
	if err != nil {
		return nil, err
	}
	s, err := identified(ctx, &Server{How: "external", address: master})
	if err == nil {
		s.address = a
	}
	return s, err
}

// identified fills Addr, Product and Version by INFO server of the first host that answers, and closes a Server that answers wrong.
func identified(ctx context.Context, s *Server) (*Server, error) {
	var errs []error
	for _, addr := range s.address.Hosts {
		info, err := s.address.info(ctx, addr)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Addr = addr
		if err := s.identify(info); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
	return nil, errors.Join(s.address.explain(errors.Join(errs...)), s.Close())
}

// identify refuses a server of another kind than the address says: the server would fail only later, at a command of the other kind.
func (s *Server) identify(text string) error {
	info := Fields(text)
	switch mode := info["redis_mode"]; {
	case mode == "sentinel":
		return fmt.Errorf("expected a Redis at %s, found a sentinel: use redis+sentinel://%s/ and the name of the master", s.Addr, s.Addr)
	case s.address.Topology == Cluster && mode != "" && mode != "cluster":
		return fmt.Errorf("expected a node of a cluster at %s, found a Redis in %s mode: use redis:// instead of redis+cluster://", s.Addr, mode)
	}
	// Valkey keeps redis_version for old clients.
	s.Product = cmp.Or(info["server_name"], "redis")
	s.Version = cmp.Or(info[s.Product+"_version"], info["redis_version"])
	if s.Version == "" && info["role"] != "" { // an imitation
		s.Product, s.Version = "unnamed", "server"
	}
	if s.Version == "" {
		return fmt.Errorf("expected a Redis at %s, its INFO names no version: is this a proxy? Name the server itself", s.Addr)
	}
	return nil
}

// Fields reads a text of INFO.
func Fields(info string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// URL returns the address of the server or set, as Start, Connect and driver programs read it. It has the password: do not print it.
func (s *Server) URL() string { return s.address.String() }

// URLBy is URL with the server reached at another address, host:port of a proxy.
func (s *Server) URLBy(addr string) string { return s.address.At(addr).String() }

// Embedded reports whether the server runs inside this process; its figures do not stand for a real Redis.
func (s *Server) Embedded() bool { return s.How == "embedded" }

// Cluster reports whether the server is a Redis Cluster, where the keys of one script must share a slot.
func (s *Server) Cluster() bool { return s.address.Topology == Cluster }

// Several reports whether the address names a Cluster or sentinels.
func (s *Server) Several() bool { return s.address.Topology != Single }

// Nodes returns our processes that hold data, in the order of their start.
func (s *Server) Nodes() []*Node { return slices.Clone(s.nodes) }

// String returns the line for people: "redis 7.0.15 (process /usr/bin/redis-server) on 127.0.0.1:43121".
func (s *Server) String() string {
	return fmt.Sprintf("%s %s (%s) on %s", s.Product, s.Version, s.How, s.Addr)
}

// Conn returns a new client with its own pool; the caller closes it.
//
//go:noinline
func (s *Server) Conn() Conn { return connectTo(s.address, goredis.UniversalOptions{}) }

// Close stops the server that Start started, and removes its files; it leaves an external server alone. It returns within 15 s, and the
// same error each time.
func (s *Server) Close() error {
	if s.closer == nil {
		return nil
	}
	return s.closer()
}

// SpecError reports a --redis value that is wrong on every machine. Commands exit 2 on it.
type SpecError struct {
	Spec   string // the value without its password
	Reason string
}

// Error names the value, the reason and the allowed values.
func (e *SpecError) Error() string {
	return fmt.Sprintf("redis %q: %s; want auto, container[:image], process[:path], embedded or a redis://, redis+cluster://, redis+sentinel:// URL, rediss… for TLS, unix:// for a socket", e.Spec, e.Reason)
}

// Kind is the word of a --redis value, or External for an address.
type Kind string

// The kinds.
const (
	Auto      Kind = "auto"
	Container Kind = "container"
	Process   Kind = "process"
	Embedded  Kind = "embedded"
	External  Kind = "external"
)

// Spec is a --redis value.
type Spec struct {
	Kind    Kind
	Arg     string  // image or path; empty for the default
	Address Address // of an External one
}

// Parse reads a --redis value, without network or files. It fails with a *SpecError.
func Parse(s string) (Spec, error) {
	spec, err := parse(s)
	if err != nil {
		return Spec{}, &SpecError{Spec: Redact(s), Reason: err.Error()}
	}
	return spec, nil
}

func parse(s string) (Spec, error) {
	word, arg, hasArg := strings.Cut(s, ":")
	switch k := Kind(word); {
	case strings.Contains(s, "://"):
		a, err := parseAddress(s)
		return Spec{Kind: External, Address: a}, err
	case (k == Container || k == Process) && (!hasArg || arg != ""), (k == Auto || k == Embedded) && !hasArg:
		return Spec{Kind: k, Arg: arg}, nil
	case k == Container || k == Process:
		return Spec{}, errors.New("nothing follows the colon")
	case k == Auto || k == Embedded:
		return Spec{}, errors.New(word + " takes no argument")
	}
	meant := text.DidYouMean(word, []string{"auto", "container", "process", "embedded"})
	if _, err := hostPort(s, ""); err == nil && meant == "" {
		meant = " (did you mean redis://" + s + "?)"
	}
	return Spec{}, errors.New("unknown word" + meant)
}

// ParseAddress reads the address of a server. It fails with a *SpecError.
func ParseAddress(s string) (Address, error) {
	spec, err := Parse(s)
	if err == nil && spec.Kind != External {
		err = &SpecError{Spec: Redact(s), Reason: "not the address of a server"}
	}
	return spec.Address, err
}

// IsExternal reports whether a --redis value is the address of a server.
func IsExternal(s string) bool {
	_, err := ParseAddress(s)
	return err == nil
}

// Redact returns a --redis value without passwords, for people. Of a wrong address it returns only the scheme.
func Redact(s string) string {
	spec, err := parse(s)
	scheme, rest, isAddress := strings.Cut(s, "://")
	switch {
	case err == nil && spec.Kind != External, err != nil && !strings.ContainsAny(s, "/@"):
		return s // an image may have an @
	case err != nil && isAddress && !strings.ContainsAny(scheme, ":/?#@"):
		return scheme + "://***"
	case err != nil:
		return "***"
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, _, named := strings.Cut(rest[:i], ":")
		if rest = "***" + rest[i:]; named {
			rest = user + ":" + rest
		}
	}
	return scheme + "://" + sentinelPassword.ReplaceAllString(rest, "$1***")
}

var sentinelPassword = regexp.MustCompile(`(sentinel_password=)[^&]*`)

// Place returns where the server of a --redis value is, for people and without a password: the first host:port of an address, else the value.
func Place(s string) string {
	if a, err := ParseAddress(s); err == nil {
		return a.Hosts[0]
	}
	return Redact(s)
}
