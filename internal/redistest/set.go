package redistest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// Set is the servers of one Cluster, or a master with its replicas and sentinels, on 127.0.0.1. Its Server is the whole set, and its
// Nodes hold the data.
type Set struct {
	*redis.Server
	nodes    []*redis.Node
	password string
	members  []*redis.Server
}

// formed runs start within half a minute, and stops the servers if start fails.
func (s *Set) formed(ctx context.Context, start func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout/2)
	defer cancel()
	if err := start(ctx); err != nil {
		return errors.Join(fmt.Errorf("forming the set: %w", err), s.Close())
	}
	return nil
}

// start starts a server. One with data gets its copy of a master at once: by default the master waits 5 s for more replicas.
func (s *Set) start(ctx context.Context, path, lines string, args ...string) (*redis.Node, error) {
	sentinel := slices.Contains(args, "--sentinel")
	if !sentinel {
		args = append([]string{"--repl-diskless-sync-delay", "0"}, args...)
	}
	if i := slices.Index(args, "--requirepass"); i >= 0 {
		s.password = args[i+1]
		args = append(args, "--masterauth", s.password)
	}
	server, err := redis.StartConfigured(ctx, path, lines, args...)
	if err != nil {
		return nil, err
	}
	n := server.Nodes()[0]
	s.members = append(s.members, server)
	if !sentinel {
		s.nodes = append(s.nodes, n)
	}
	return n, nil
}

// whole makes the set a Server. Clients find it by the seeds.
func (s *Set) whole(ctx context.Context, how string, kind redis.Topology, seeds []*redis.Node) error {
	address, err := redis.ParseAddress(s.nodes[0].URL())
	if err != nil {
		return err
	}
	address.Topology, address.Hosts = kind, nil
	if kind == redis.Sentinel {
		address.Master = masterName
	}
	for _, n := range seeds {
		address.Hosts = append(address.Hosts, n.Addr)
	}
	if s.Server, err = redis.Start(ctx, address.String(), nil); err == nil {
		s.How = how
	}
	return err
}

// Nodes returns the servers that hold data, in the order of their start.
func (s *Set) Nodes() []*redis.Node { return slices.Clone(s.nodes) }

// Close stops all servers of the set. A second call does nothing.
func (s *Set) Close() error {
	var errs []error
	for _, m := range s.members {
		errs = append(errs, m.Close())
	}
	s.members = nil
	return errors.Join(errs...)
}

func (s *Set) do(ctx context.Context, n *redis.Node, args ...any) *goredis.Cmd {
	client := Client(n)
	defer client.Close()
	return client.Do(ctx, args...)
}

// running returns the nodes that run and are not paused.
func running(nodes []*redis.Node) []*redis.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *redis.Node) bool { return !n.Running() })
}

// replication returns a node's INFO replication.
func (s *Set) replication(ctx context.Context, n *redis.Node) (map[string]string, error) {
	info, err := s.do(ctx, n, "INFO", "replication").Text()
	return redis.Fields(info), err
}
