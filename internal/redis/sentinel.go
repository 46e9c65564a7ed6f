package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	// masterName is what sentinels call the master they watch.
	masterName = "mymaster"
	// sentinelPace is how often, in ms, sentinels look at roles and greet each
	// other. By default, 10 s and 2 s, a set takes 20 s to be whole after a fail-over.
	sentinelPace = 200
)

// SentinelOptions say what StartSentinelSet starts.
type SentinelOptions struct {
	// Replicas is how many replicas the master has, 1 to 3; 1 when 0.
	Replicas int
	// Sentinels is how many sentinels watch it, 1 to 5, the majority of which has
	// to agree on a fail-over; 1 when 0.
	Sentinels int
	// DownAfter is down-after-milliseconds, the silence after which a sentinel
	// takes the master for gone; 1 s when 0.
	DownAfter time.Duration
	// Path is the server program; empty for the first of redis-server and valkey-server on PATH.
	Path string
	// Args are further arguments of master and replicas, as for StartProcess.
	Args []string
}

func (o *SentinelOptions) check() error {
	o.Replicas, o.Sentinels = cmp.Or(o.Replicas, 1), cmp.Or(o.Sentinels, 1)
	o.DownAfter = cmp.Or(o.DownAfter, time.Second)
	if o.Replicas < 0 || o.Replicas > 3 {
		return fmt.Errorf("a sentinel set of %d replicas: want 1 to 3", o.Replicas)
	}
	if o.Sentinels < 0 || o.Sentinels > 5 {
		return fmt.Errorf("a sentinel set of %d sentinels: want 1 to 5", o.Sentinels)
	}
	return checkArgs(o.Args)
}

// SentinelSet is a master, its replicas and the sentinels that watch them, all
// local processes. Its Nodes are the first master, then its replicas.
type SentinelSet struct {
	*Server
	data      nodes
	sentinels nodes
}

// StartSentinelSet gives a master, its replicas and sentinels that watch them as
// "mymaster": local processes on 127.0.0.1. It is ready when the replicas are in
// step and every sentinel knows them and every other sentinel. Sentinels look at
// roles every 200 ms, until they are restarted, and not every 10 s, so that tests
// need not wait. A node that is killed and started again comes back in the role
// it had. Close stops all of them.
func StartSentinelSet(ctx context.Context, o SentinelOptions) (*SentinelSet, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	bin, err := findServer(o.Path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	s := &SentinelSet{}
	if err := s.form(ctx, bin, o); err != nil {
		return nil, errors.Join(fmt.Errorf("forming the sentinel set: %w", err), s.close())
	}
	t := target{topology: sentinel, master: masterName, password: password(o.Args)}
	for _, n := range s.sentinels {
		t.addrs = append(t.addrs, n.Addr)
	}
	if s.Server, err = startExternal(ctx, t); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.How, s.nodes, s.closer = "sentinel set of "+bin, s.data, s.close
	return s, nil
}

func (s *SentinelSet) close() error { return errors.Join(s.sentinels.close(), s.data.close()) }

// form starts the sentinels last: their first look comes before they can be told
// to look more often, and the next by default 10 s later.
func (s *SentinelSet) form(ctx context.Context, bin string, o SentinelOptions) error {
	for range 1 + o.Replicas {
		n, err := launch(ctx, recipe{bin: bin, ready: readyLine, configure: s.dataArgs, extra: replicaArgs(o.Args)})
		if err != nil {
			return err
		}
		s.data = append(s.data, n)
	}
	for _, n := range s.data[1:] {
		if err := n.linked(ctx); err != nil {
			return err
		}
	}
	for range o.Sentinels {
		n, err := launch(ctx, recipe{bin: bin, ready: sentinelReadyLine, configure: func(port, dir string) ([]string, error) {
			return s.sentinelArgs(port, dir, o)
		}})
		if err != nil {
			return err
		}
		s.sentinels = append(s.sentinels, n)
		// Redis before 7.0 knows no such command, and takes its time.
		_ = n.do(ctx, []any{"sentinel", "debug", "info-period", sentinelPace, "publish-period", sentinelPace})
	}
	return s.Settle(ctx)
}

// dataArgs put the role in a file that the sentinels keep up to date: as an
// argument it would turn a promoted replica back at its restart.
func (s *SentinelSet) dataArgs(port, dir string) ([]string, error) {
	role := ""
	if len(s.data) > 0 {
		host, at, _ := net.SplitHostPort(s.data[0].Addr)
		role = fmt.Sprintf("replicaof %s %s\n", host, at)
	}
	conf := filepath.Join(dir, "redis.conf")
	return append([]string{conf}, standalone(port, dir)...), os.WriteFile(conf, []byte(role), 0o600)
}

func (s *SentinelSet) sentinelArgs(port, dir string, o SentinelOptions) ([]string, error) {
	host, at, _ := net.SplitHostPort(s.data[0].Addr)
	lines := []string{
		"port " + port, "bind 127.0.0.1", fmt.Sprintf("dir %q", dir),
		fmt.Sprintf("sentinel monitor %s %s %s %d", masterName, host, at, o.Sentinels/2+1),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", masterName, o.DownAfter.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s 5000", masterName),
	}
	if word := password(o.Args); word != "" {
		lines = append(lines, fmt.Sprintf("sentinel auth-pass %s %q", masterName, word))
	}
	conf := filepath.Join(dir, "sentinel.conf")
	return []string{conf, "--sentinel"}, os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// Sentinels are the sentinels' processes, in the order of their start.
func (s *SentinelSet) Sentinels() []*Node { return append([]*Node(nil), s.sentinels...) }

// Master is the node that the first sentinel that runs names as the master. A
// master that is gone is named until another is elected.
func (s *SentinelSet) Master(ctx context.Context) (*Node, error) {
	for _, w := range s.sentinels {
		if !w.Running() {
			continue
		}
		return s.masterOf(ctx, w)
	}
	return nil, errors.New("no sentinel runs")
}

// masterOf is the node that a sentinel names as the master.
func (s *SentinelSet) masterOf(ctx context.Context, w *Node) (*Node, error) {
	c, err := w.watch(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	hp, err := c.GetMasterAddrByName(ctx, masterName).Result()
	if err != nil {
		return nil, err
	}
	if len(hp) != 2 {
		return nil, fmt.Errorf("%s names %v as the master, want host and port", w.Addr, hp)
	}
	return s.data.at(net.JoinHostPort(hp[0], hp[1]))
}

// Failover has a replica promoted while the master lives, and returns the new
// master when every sentinel that runs names it and it says so itself. The old
// one takes writes, which are lost, until the sentinels turn it into a replica,
// about 1 s later: Settle waits for that. While the sentinels see no fit
// replica or are in a fail-over already, it asks again until ctx ends.
func (s *SentinelSet) Failover(ctx context.Context) (*Node, error) {
	old, err := s.Master(ctx)
	if err != nil {
		return nil, err
	}
	err = until(ctx, "a sentinel begins the fail-over", func(ctx context.Context) (bool, error) {
		err := s.askFailover(ctx)
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	return s.WaitFailover(ctx, old)
}

func (s *SentinelSet) askFailover(ctx context.Context) error {
	for _, w := range s.sentinels {
		if w.Running() {
			return w.do(ctx, []any{"sentinel", "failover", masterName})
		}
	}
	return errors.New("no sentinel runs")
}

// WaitFailover waits until another node than old is the master, by the word of
// every sentinel that runs and its own, and returns it.
func (s *SentinelSet) WaitFailover(ctx context.Context, old *Node) (*Node, error) {
	var master *Node
	err := until(ctx, "another node than "+old.Addr+" is the master", func(ctx context.Context) (bool, error) {
		named, err := s.agreed(ctx)
		if err != nil || named == old {
			return false, err
		}
		info, err := named.replication(ctx)
		master = named
		return info["role"] == "master", err
	})
	return master, err
}

// agreed is the node that every sentinel that runs names as the master.
func (s *SentinelSet) agreed(ctx context.Context) (*Node, error) {
	master, err := s.Master(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range s.sentinels {
		if !w.Running() {
			continue
		}
		named, err := s.masterOf(ctx, w)
		if err != nil {
			return nil, err
		}
		if named != master {
			return nil, fmt.Errorf("%s names %s, another sentinel %s", w.Addr, named.Addr, master.Addr)
		}
	}
	return master, nil
}

// Settle waits until the set is whole again after a fault: of the nodes that run
// one is the master, the others are in step with it, and every sentinel that
// runs sees the master up with those replicas and the other sentinels. The error
// says what was still missing when ctx ended.
func (s *SentinelSet) Settle(ctx context.Context) error {
	return until(ctx, "the sentinel set is whole", func(ctx context.Context) (bool, error) {
		master, err := s.agreed(ctx)
		if err != nil {
			return false, err
		}
		replicas := 0
		for _, n := range s.data {
			if n == master || !n.Running() {
				continue
			}
			info, err := n.replication(ctx)
			if err != nil {
				return false, err
			}
			if at := net.JoinHostPort(info["master_host"], info["master_port"]); at != master.Addr || info["master_link_status"] != "up" {
				return false, fmt.Errorf("%s is not in step with %s: %s of %s, link %s", n.Addr, master.Addr, info["role"], at, info["master_link_status"])
			}
			replicas++
		}
		return s.watched(ctx, replicas)
	})
}

// watched reports whether every sentinel that runs sees the master up with that
// many healthy replicas and all sentinels that run, and what it lacks.
func (s *SentinelSet) watched(ctx context.Context, replicas int) (bool, error) {
	for _, w := range s.sentinels {
		if !w.Running() {
			continue
		}
		c, err := w.watch(ctx)
		if err != nil {
			return false, err
		}
		defer c.Close()
		master, err := c.Master(ctx, masterName).Result()
		if err != nil {
			return false, err
		}
		if master["flags"] != "master" || master["num-other-sentinels"] != strconv.Itoa(len(s.sentinels)-1) {
			return false, fmt.Errorf("%s sees the master as %s, with %s other sentinels", w.Addr, master["flags"], master["num-other-sentinels"])
		}
		seen, err := c.Replicas(ctx, masterName).Result()
		if err != nil {
			return false, err
		}
		fit := 0
		for _, r := range seen {
			if r["flags"] == "slave" && r["master-link-status"] == "ok" {
				fit++
			}
		}
		if fit != replicas {
			return false, fmt.Errorf("%s sees %d fit replicas, want %d", w.Addr, fit, replicas)
		}
	}
	return true, nil
}

// watch gives a sentinel client of one connection made now.
func (n *Node) watch(ctx context.Context) (*goredis.SentinelClient, error) {
	conn, err := n.target.dial(ctx, n.Addr)
	if err != nil {
		return nil, err
	}
	return goredis.NewSentinelClient(&goredis.Options{
		MaxRetries: -1, PoolSize: 1, DisableIdentity: true,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}), nil
}
