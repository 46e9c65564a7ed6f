package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// masterName is the master's name at the sentinels.
const masterName = "mymaster"

// SentinelSet is a master, its replicas and their sentinels. Its Nodes are the first master, then its replicas.
type SentinelSet struct {
	Set
	sentinels []*redis.Node
}

// Sentinel returns a master, a replica and a sentinel. They stop with the test.
func Sentinel(t testing.TB, args ...string) *SentinelSet {
	t.Helper()
	return start(t, "redis", func(ctx context.Context) (*SentinelSet, error) {
		return StartSentinel(ctx, "", 1, 1, args...)
	})
}

// StartSentinel starts a master, replicas, and sentinels that watch the master as "mymaster" and replace it after a second without
// an answer. It waits until all know each other. A server that is killed and started again comes back in the role it had.
func StartSentinel(ctx context.Context, path string, replicas, sentinels int, args ...string) (*SentinelSet, error) {
	s := &SentinelSet{}
	return s, s.formed(ctx, func(ctx context.Context) error { return s.start(ctx, path, replicas, sentinels, args) })
}

// start starts the sentinels last: their first look at the servers is early only then.
func (s *SentinelSet) start(ctx context.Context, path string, replicas, sentinels int, args []string) error {
	role := ""
	for range 1 + replicas {
		n, err := s.Set.start(ctx, path, role, args...)
		if err != nil {
			return err
		}
		role = cmp.Or(role, "replicaof "+strings.Replace(n.Addr, ":", " ", 1)+"\n")
	}
	lines := fmt.Sprintf("sentinel monitor %s %s %d\nsentinel down-after-milliseconds %[1]s 1000\nsentinel failover-timeout %[1]s 5000\n",
		masterName, strings.Replace(s.nodes[0].Addr, ":", " ", 1), sentinels/2+1)
	if s.password != "" {
		lines += fmt.Sprintf("sentinel auth-pass %s %q\n", masterName, s.password)
	}
	for range sentinels {
		n, err := s.Set.start(ctx, path, lines, "--sentinel")
		if err != nil {
			return err
		}
		s.sentinels = append(s.sentinels, n)
		// By default a set takes 20 s to be whole after a fail-over. Redis before 7.0 knows no such command.
		_ = s.do(ctx, n, "SENTINEL", "DEBUG", "info-period", 200, "publish-period", 200).Err()
	}
	if err := s.Settle(ctx); err != nil {
		return err
	}
	return s.whole(ctx, "sentinel set", redis.Sentinel, s.sentinels)
}

// Sentinels returns the sentinels' processes, in the order of their start.
func (s *SentinelSet) Sentinels() []*redis.Node { return s.sentinels }

// Master returns the node that every running sentinel names as the master. A master that is gone is named until its successor is elected.
func (s *SentinelSet) Master(ctx context.Context) (master *redis.Node, err error) {
	for _, w := range running(s.sentinels) {
		at, err := s.do(ctx, w, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
		if err != nil || len(at) != 2 {
			return nil, errors.Join(fmt.Errorf("%s names %v as the master", w, at), err)
		}
		i := slices.IndexFunc(s.nodes, func(n *redis.Node) bool { return n.Addr == net.JoinHostPort(at[0], at[1]) })
		if i < 0 || master != nil && master != s.nodes[i] {
			return nil, fmt.Errorf("%s names %v as the master, another sentinel %s", w, at, master)
		}
		master = s.nodes[i]
	}
	if master == nil {
		return nil, errors.New("no sentinel runs")
	}
	return master, nil
}

// Failover promotes a replica while the master lives, and returns the new master. The old one takes writes, which are lost, until
// the sentinels make it a replica about 1 s later: Settle waits for that.
func (s *SentinelSet) Failover(ctx context.Context) (*redis.Node, error) {
	old, err := s.Master(ctx)
	if err != nil {
		return nil, err
	}
	begin := func() error { return s.do(ctx, running(s.sentinels)[0], "SENTINEL", "FAILOVER", masterName).Err() }
	if err := redis.Until(ctx, "a sentinel begins the fail-over", begin); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if master, err := s.WaitFailover(waiting, old); err == nil || ctx.Err() != nil {
		return master, err
	}
	return s.Failover(ctx) // a sentinel gives one up whose replica is slow
}

// WaitFailover waits until every running sentinel names the same node other than old as the master, and that node is one.
func (s *SentinelSet) WaitFailover(ctx context.Context, old *redis.Node) (master *redis.Node, err error) {
	err = redis.Until(ctx, "a node other than "+old.Addr+" is the master", func() (err error) {
		if master, err = s.Master(ctx); err != nil {
			return err
		}
		info, err := s.replication(ctx, master)
		if err == nil && (master == old || info["role"] != "master") {
			err = fmt.Errorf("the sentinels name %s, a %s", master, info["role"])
		}
		return err
	})
	return master, err
}

// Settle waits until the set is whole again after a fault: one running node is the master, the others are in step with it, and every
// running sentinel lists them and the other sentinels.
func (s *SentinelSet) Settle(ctx context.Context) error {
	return redis.Until(ctx, "the sentinel set is whole", func() error {
		master, err := s.Master(ctx)
		if err != nil {
			return err
		}
		for _, n := range running(s.nodes) {
			info, err := s.replication(ctx, n)
			at := net.JoinHostPort(info["master_host"], info["master_port"])
			if err != nil || n != master && (at != master.Addr || info["master_link_status"] != "up") {
				return errors.Join(fmt.Errorf("%s is not in step with %s: a %s of %s, link %s", n, master, info["role"], at, info["master_link_status"]), err)
			}
		}
		for _, n := range running(s.sentinels) {
			info, err := s.do(ctx, n, "INFO", "sentinel").Text()
			want := fmt.Sprintf("status=ok,address=%s,slaves=%d,sentinels=%d", master.Addr, len(s.nodes)-1, len(s.sentinels))
			if err != nil || !strings.Contains(info, want) {
				return errors.Join(fmt.Errorf("%s: expected %s, got %s", n, want, info), err)
			}
		}
		return nil
	})
}
