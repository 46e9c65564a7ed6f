package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// setTimeout bounds the forming of a set, from the first process to the last agreement.
const setTimeout = 30 * time.Second

// Set is servers of one Cluster, or of sentinels, on 127.0.0.1. Its Server is the whole, and Nodes have data.
type Set struct {
	*redis.Server
	nodes   []*redis.Node // those with data
	conns   map[*redis.Node]redis.Conn
	members []*redis.Server
}

// start starts one server of the set. A replica gets its copy at once: by default it waits 5 s for others that want the same.
func (s *Set) start(ctx context.Context, path, lines string, args ...string) (*redis.Node, error) {
	args = append([]string{"--repl-diskless-sync-delay", "0"}, args...)
	for i, arg := range args {
		if arg == "--requirepass" {
			args = append(args, "--masterauth", args[i+1])
		}
	}
	n, err := s.join(ctx, path, lines, args...)
	s.nodes = append(s.nodes, n)
	return n, err
}

func (s *Set) join(ctx context.Context, path, lines string, args ...string) (*redis.Node, error) {
	server, err := redis.StartConfigured(ctx, path, lines, args...)
	if err != nil {
		return nil, err
	}
	node := server.Nodes()[0]
	conn, err := redis.ConnectOnce(node.URL())
	if s.conns == nil {
		s.conns = map[*redis.Node]redis.Conn{}
	}
	s.members, s.conns[node] = append(s.members, server), conn
	return node, err
}

// form makes the whole a Server, which these nodes find.
func (s *Set) form(ctx context.Context, how string, kind redis.Topology, seeds []*redis.Node) error {
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
	s.Server, err = redis.SetOf(ctx, how, address.String(), s.nodes, s.stop)
	return err
}

// Close stops all servers of the set. It may be called again.
func (s *Set) Close() error {
	if s.Server != nil {
		return s.Server.Close()
	}
	return s.stop()
}

func (s *Set) stop() error {
	var errs []error
	for _, c := range s.conns {
		errs = append(errs, c.Close())
	}
	for _, m := range s.members {
		errs = append(errs, m.Close())
	}
	s.conns, s.members = nil, nil
	return errors.Join(errs...)
}

func (s *Set) do(ctx context.Context, n *redis.Node, args ...any) *goredis.Cmd {
	return s.conns[n].Do(ctx, args...)
}

// running are the nodes that run and are not paused.
func running(nodes []*redis.Node) (up []*redis.Node) {
	for _, n := range nodes {
		if n.Running() {
			up = append(up, n)
		}
	}
	return up
}

// replication is the role that a node reports, as the name:value lines of INFO.
func (s *Set) replication(ctx context.Context, n *redis.Node) (map[string]string, error) {
	text, err := s.do(ctx, n, "INFO", "replication").Text()
	m := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		m[name] = value
	}
	return m, err
}

// at is the node of an address, or nil.
func (s *Set) at(addr string) *redis.Node {
	for n := range s.conns {
		if n.Addr == addr {
			return n
		}
	}
	return nil
}

// until asks again, every 20 ms, until nothing is wrong or ctx ends; these servers announce no such event.
func until(ctx context.Context, what string, wrong func() error) error {
	for {
		err := wrong()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waited until %s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}

// Cluster gives a Redis Cluster of that many masters and replicas of each. It stops with the test.
func Cluster(t testing.TB, masters, replicas int, args ...string) *ClusterSet {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*ClusterSet, error) {
		return StartCluster(ctx, "", masters, replicas, args...)
	})
}

// Sentinel gives a master, a replica and sentinels, one if none is named. They stop with the test.
func Sentinel(t testing.TB, sentinels int, args ...string) *SentinelSet {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*SentinelSet, error) {
		return StartSentinel(ctx, "", 1, cmp.Or(sentinels, 1), args...)
	})
}
