package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// durable has a server that is killed forget nothing that it acknowledged.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// downFor is how long a server that is killed is away.
const downFor = 300 * time.Millisecond

// startOne starts one server with more arguments, which clients reach by options.
func startOne(ctx context.Context, path string, options goredis.Options, args ...string) (*Topology, *redis.Server, error) {
	s, err := redis.StartProcess(ctx, path, append(args, durable...)...)
	if err != nil {
		return nil, nil, err
	}
	return around(s, options), s, nil
}

// around is a server that clients reach by options.
func around(s *redis.Server, options goredis.Options) *Topology {
	if options.Addr == "" {
		options.Addr = s.Addr
	}
	n := s.Nodes()[0]
	return &Topology{
		Version: s.Version, kept: "kept", closers: []func() error{s.Close},
		dial: func() goredis.UniversalClient { o := options; return goredis.NewClient(&o) },
		Faults: []Fault{{
			Name:  "kill",
			Loses: Popped, do: func(ctx context.Context) error { return killed(ctx, n) },
		}},
	}
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

// by starts one server that clients reach by options.
func by(options goredis.Options) func(context.Context, string) (*Topology, error) {
	return func(ctx context.Context, path string) (*Topology, error) {
		t, _, err := startOne(ctx, path, options)
		return t, err
	}
}

func socket(ctx context.Context, path string) (*Topology, error) {
	return inFolder(func(folder string) (*Topology, error) {
		at := filepath.Join(folder, "redis.sock")
		t, _, err := startOne(ctx, path, goredis.Options{Network: "unix", Addr: at}, "--unixsocket", at)
		return t, err
	})
}

func secured(ctx context.Context, path string) (*Topology, error) {
	return inFolder(func(folder string) (*Topology, error) {
		s, address, err := redistest.StartTLS(ctx, path, folder, durable...)
		if err != nil {
			return nil, err
		}
		client, err := redis.NewClient(address)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		defer client.Close()
		return around(s, *client.(*goredis.Client).Options()), nil
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
			t, s, err := startOne(ctx, path, goredis.Options{Username: ruleUser, Password: rulePassword}, "--aclfile", file)
			if err != nil {
				return nil, err
			}
			if err := t.grant(ctx, s, rules); err != nil {
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
