package topology

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/harness/internal/conformance"
	"github.com/dq-bench/dq-bench/internal/redis"
)

// durable has a server that is killed forget nothing that it acknowledged.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// downFor is how long a server that is killed is away.
const downFor = 300 * time.Millisecond

// alone starts one server with more arguments, which clients reach by options.
func alone(ctx context.Context, path string, options goredis.Options, args ...string) (*Topology, error) {
	s, err := redis.StartProcess(ctx, path, append(args, durable...)...)
	if err != nil {
		return nil, err
	}
	if options.Addr == "" {
		options.Addr = s.Addr
	}
	n := s.Nodes()[0]
	return &Topology{
		Product: s.Product, Version: s.Version, kept: "kept", closers: []func() error{s.Close},
		dial: func() goredis.UniversalClient { o := options; return goredis.NewClient(&o) },
		nodeOf: func(ctx context.Context, _ string) (*redis.Server, error) {
			return n.Alone(options.DB), nil
		},
		Faults: []Fault{{
			Name: "kill", About: fmt.Sprintf("kill -9, and started again %s later, with its append-only file", downFor),
			Loses: Popped, do: func(ctx context.Context) error { return killed(ctx, n) },
		}},
	}, nil
}

func killed(ctx context.Context, n *redis.Node) error {
	if err := n.Kill(); err != nil {
		return err
	}
	if err := sleep(ctx, downFor); err != nil {
		return err
	}
	return n.Restart(ctx)
}

func one(ctx context.Context, path string) (*Topology, error) {
	return alone(ctx, path, goredis.Options{Protocol: 3})
}

func resp2(ctx context.Context, path string) (*Topology, error) {
	return alone(ctx, path, goredis.Options{Protocol: 2})
}

func database(ctx context.Context, path string) (*Topology, error) {
	return alone(ctx, path, goredis.Options{DB: 5})
}

func socket(ctx context.Context, path string) (*Topology, error) {
	return inFolder(func(folder string) (*Topology, error) {
		at := filepath.Join(folder, "redis.sock")
		t, err := alone(ctx, path, goredis.Options{Network: "unix", Addr: at}, "--unixsocket", at)
		if err != nil {
			return nil, err
		}
		// MONITOR shows all clients of a socket as one.
		t.level = conformance.State
		return t, nil
	})
}

// secured has a plain port besides, on which the harness looks.
func secured(ctx context.Context, path string) (*Topology, error) {
	return inFolder(func(folder string) (*Topology, error) {
		client, err := writeCertificates(folder)
		if err != nil {
			return nil, err
		}
		addr, err := freeAddr(ctx)
		if err != nil {
			return nil, err
		}
		_, port, _ := net.SplitHostPort(addr)
		t, err := alone(ctx, path, goredis.Options{Addr: addr, TLSConfig: client}, "--tls-port", port, "--tls-auth-clients", "yes",
			"--tls-ca-cert-file", filepath.Join(folder, caFile),
			"--tls-cert-file", filepath.Join(folder, serverFile), "--tls-key-file", filepath.Join(folder, serverKeyFile))
		if err != nil {
			return nil, err
		}
		address, err := redis.ParseAddress("rediss://" + addr)
		address.Files = redis.Files{CA: filepath.Join(folder, caFile), Cert: filepath.Join(folder, clientFile), Key: filepath.Join(folder, clientKeyFile)}
		t.Address = address.String()
		return t, err
	})
}

// restricted has a user with the rights of rules, for both queues.
func restricted(rules []string) func(ctx context.Context, path string) (*Topology, error) {
	return func(ctx context.Context, path string) (*Topology, error) {
		return inFolder(func(folder string) (*Topology, error) {
			file := filepath.Join(folder, "users.acl")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return nil, err
			}
			t, err := alone(ctx, path, goredis.Options{Username: ruleUser, Password: rulePassword}, "--aclfile", file)
			if err != nil {
				return nil, err
			}
			t.restricted = true
			if err := t.grant(ctx, rules); err != nil {
				return nil, errors.Join(err, t.Close())
			}
			return t, nil
		})
	}
}

// inFolder gives start a folder that goes with what it starts.
func inFolder(start func(folder string) (*Topology, error)) (*Topology, error) {
	folder, err := os.MkdirTemp("", "dq-topology-")
	if err != nil {
		return nil, err
	}
	t, err := start(folder)
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	t.closers = append(t.closers, func() error { return os.RemoveAll(folder) })
	return t, nil
}

// freeAddr is an address of this machine that nobody listens at now.
func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
