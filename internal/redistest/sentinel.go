package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/dq-bench/dq-bench/internal/redis"
)

// masterName is the master's name at the sentinels.
const masterName = "mymaster"

// SentinelSet is a master, its replicas and the sentinels that watch them. Its Nodes are the first master, then its replicas.
type SentinelSet struct {
	Set
	sentinels []*redis.Node
}

// StartSentinel gives a master, replicas, and sentinels that watch them as "mymaster" and take the master for gone after a
// second. It is ready when all know each other. A server that is killed and started again comes back in the role it had.
func StartSentinel(ctx context.Context, path string, replicas, sentinels int, args ...string) (*SentinelSet, error) {
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	s := &SentinelSet{}
	if err := s.start(ctx, path, replicas, sentinels, args); err != nil {
		return nil, errors.Join(fmt.Errorf("forming the sentinel set: %w", err), s.Close())
	}
	return s, nil
}

// start starts the sentinels last: their first look comes before they can be told to look more often.
func (s *SentinelSet) start(ctx context.Context, path string, replicas, sentinels int, args []string) error {
	role := ""
	for range 1 + replicas {
		n, err := s.Set.start(ctx, path, role, args...)
		if err != nil {
			return err
		}
		if role == "" {
			role = "replicaof " + strings.Replace(n.Addr, ":", " ", 1) + "\n"
		}
	}
	lines := fmt.Sprintf("sentinel monitor %s %s %d\nsentinel down-after-milliseconds %[1]s 1000\nsentinel failover-timeout %[1]s 5000\n",
		masterName, strings.Replace(s.nodes[0].Addr, ":", " ", 1), sentinels/2+1)
	for i, arg := range args {
		if arg == "--requirepass" {
			lines += fmt.Sprintf("sentinel auth-pass %s %q\n", masterName, args[i+1])
		}
	}
	for range sentinels {
		n, err := s.join(ctx, path, lines, "--sentinel")
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
	return s.form(ctx, "sentinel set", redis.Sentinel, s.sentinels)
}

// Sentinels are the sentinels' processes, in the order of their start.
func (s *SentinelSet) Sentinels() []*redis.Node { return s.sentinels }

// Master is the node that every sentinel that runs names as the master. A master that is gone is named until another is
// elected.
func (s *SentinelSet) Master(ctx context.Context) (master *redis.Node, err error) {
	for _, w := range running(s.sentinels) {
		at, err := s.do(ctx, w, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
		if err != nil || len(at) != 2 {
			return nil, fmt.Errorf("%s names %v as the master: %w", w, at, err)
		}
		named := s.at(net.JoinHostPort(at[0], at[1]))
		if named == nil || master != nil && master != named {
			return nil, fmt.Errorf("%s names %v as the master, another one %s", w, at, master)
		}
		master = named
	}
	if master == nil {
		return nil, errors.New("no sentinel runs")
	}
	return master, nil
}

// Failover has a replica promoted while the master lives, and returns the new master. The old one takes writes, which are
// lost, until the sentinels turn it into a replica, about 1 s later: Settle waits for that.
func (s *SentinelSet) Failover(ctx context.Context) (*redis.Node, error) {
	old, err := s.Master(ctx)
	if err != nil {
		return nil, err
	}
	err = until(ctx, "a sentinel begins the fail-over", func() error {
		return s.do(ctx, running(s.sentinels)[0], "SENTINEL", "FAILOVER", masterName).Err()
	})
	if err != nil {
		return nil, err
	}
	return s.WaitFailover(ctx, old)
}

// WaitFailover waits until another node than old is the master, by the word of every sentinel that runs and its own.
func (s *SentinelSet) WaitFailover(ctx context.Context, old *redis.Node) (master *redis.Node, err error) {
	err = until(ctx, "another node than "+old.Addr+" is the master", func() (err error) {
		if master, err = s.Master(ctx); err != nil {
			return err
		}
		info, err := s.replication(ctx, master)
		if err == nil && (master == old || info["role"] != "master") {
			err = fmt.Errorf("the sentinels name %s, which is %s", master, info["role"])
		}
		return err
	})
	return master, err
}

// Settle waits until the set is whole again after a fault: of the nodes that run one is the master, the others are in step
// with it, and every sentinel that runs sees them, and the other sentinels.
func (s *SentinelSet) Settle(ctx context.Context) error {
	return until(ctx, "the sentinel set is whole", func() error { return s.wrong(ctx) })
}

func (s *SentinelSet) wrong(ctx context.Context) error {
	master, err := s.Master(ctx)
	if err != nil {
		return err
	}
	replicas := 0
	for _, n := range running(s.nodes) {
		if n == master {
			continue
		}
		info, err := s.replication(ctx, n)
		if at := net.JoinHostPort(info["master_host"], info["master_port"]); err != nil || at != master.Addr || info["master_link_status"] != "up" {
			return fmt.Errorf("%s is not in step with %s: %s of %s, link %s: %w", n, master, info["role"], at, info["master_link_status"], err)
		}
		replicas++
	}
	for _, w := range running(s.sentinels) {
		of, err1 := s.do(ctx, w, "SENTINEL", "MASTER", masterName).Result()
		list, err2 := s.do(ctx, w, "SENTINEL", "REPLICAS", masterName).Result()
		master, slaves := fmt.Sprint(of), fmt.Sprint(list) // names and values take turns
		if err := errors.Join(err1, err2); err != nil || !strings.Contains(master, " flags master ") ||
			!strings.Contains(master, fmt.Sprintf(" num-other-sentinels %d ", len(s.sentinels)-1)) {
			return fmt.Errorf("%s sees the master as %s: %w", w, master, err)
		}
		if n := min(strings.Count(slaves, " flags slave "), strings.Count(slaves, " master-link-status ok ")); n != replicas {
			return fmt.Errorf("%s sees %d fit replicas, expected %d", w, n, replicas)
		}
	}
	return nil
}
