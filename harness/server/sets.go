package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// setTimeout bounds the forming of a cluster or a sentinel set, from the first process to the last agreement.
const setTimeout = 30 * time.Second

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// StartCluster gives a Redis Cluster of that many masters (1 to 10, no
// replicas), local processes on 127.0.0.1, ready when every node says
// cluster_state:ok. Close stops all of them.
func StartCluster(ctx context.Context, masters int) (*Server, error) {
	if masters < 1 || masters > 10 {
		return nil, fmt.Errorf("a cluster of %d masters: want 1 to 10", masters)
	}
	bin, err := findServer("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	set := &processSet{}
	t := target{topology: cluster}
	for range masters {
		p, err := launch(ctx, bin, readyLine, func(port, dir string) ([]string, error) {
			bus, err := freePort(ctx)
			return append(standalone(port, dir), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
				"--cluster-port", bus, "--cluster-node-timeout", "2000"), err
		})
		if err != nil {
			return nil, errors.Join(err, set.stop())
		}
		set.add(p)
		t.addrs = append(t.addrs, p.addr)
	}
	if err := set.form(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("forming the cluster: %w", err), set.stop())
	}
	s := &Server{Addr: t.addrs[0], How: fmt.Sprintf("cluster of %d %s", masters, bin), target: t, closer: set.stop}
	if err := s.identify(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// StartSentinel gives a master, one replica and one sentinel (quorum 1) that
// watches them as "mymaster": local processes on 127.0.0.1, ready when the
// sentinel knows the replica. Close stops all of them.
func StartSentinel(ctx context.Context) (*Server, error) {
	bin, err := findServer("")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	set := &processSet{}
	fail := func(err error) (*Server, error) {
		return nil, errors.Join(fmt.Errorf("forming the sentinel set: %w", err), set.stop())
	}
	master, err := launch(ctx, bin, readyLine, nil)
	if err != nil {
		return fail(err)
	}
	set.add(master)
	host, port, _ := net.SplitHostPort(master.addr)
	replica, err := launch(ctx, bin, readyLine, func(p, dir string) ([]string, error) {
		return append(standalone(p, dir), "--replicaof", host+" "+port), nil
	})
	if err != nil {
		return fail(err)
	}
	set.add(replica)
	watcher, err := launch(ctx, bin, sentinelReadyLine, func(p, dir string) ([]string, error) {
		conf := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %q\nsentinel monitor mymaster %s %s 1\nsentinel down-after-milliseconds mymaster 1000\nsentinel failover-timeout mymaster 5000\n", p, dir, host, port)
		return []string{conf, "--sentinel"}, os.WriteFile(conf, []byte(text), 0o600)
	})
	if err != nil {
		return fail(err)
	}
	set.add(watcher)
	known := func(ctx context.Context) (bool, error) {
		c := redis.NewSentinelClient(&redis.Options{Addr: watcher.addr, DisableIdentity: true})
		defer c.Close()
		replicas, err := c.Replicas(ctx, "mymaster").Result()
		return len(replicas) == 1 && replicas[0]["master-link-status"] == "ok", err
	}
	if err := until(ctx, "the sentinel knows the replica", known); err != nil {
		return fail(err)
	}
	s, err := startExternal(ctx, target{topology: sentinel, addrs: []string{watcher.addr}, master: "mymaster"})
	if err != nil {
		return fail(err)
	}
	s.How, s.closer = "sentinel set of "+bin, set.stop
	return s, nil
}

// processSet is several server processes that stop together.
type processSet struct{ processes []*process }

func (s *processSet) add(p *process) { s.processes = append(s.processes, p) }

func (s *processSet) stop() error {
	var errs []error
	for _, p := range s.processes {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

// form shares the slots out, introduces the first node to the others, and waits until all agree.
func (s *processSet) form(ctx context.Context) error {
	n := len(s.processes)
	for i, p := range s.processes {
		c := redis.NewClient(target{addrs: []string{p.addr}}.options())
		defer c.Close()
		if err := c.ClusterAddSlotsRange(ctx, i*slots/n, (i+1)*slots/n-1).Err(); err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(s.processes[0].addr)
		if i > 0 {
			// go-redis's own CLUSTER MEET cannot name the bus port.
			bus, err := c.ConfigGet(ctx, "cluster-port").Result()
			if err != nil {
				return err
			}
			_, own, _ := net.SplitHostPort(p.addr)
			first := redis.NewClient(target{addrs: []string{s.processes[0].addr}}.options())
			defer first.Close()
			if err := first.Do(ctx, "cluster", "meet", host, own, bus["cluster-port"]).Err(); err != nil {
				return fmt.Errorf("%s meets %s: %w", port, own, err)
			}
		}
	}
	for _, p := range s.processes {
		c := redis.NewClient(target{addrs: []string{p.addr}}.options())
		defer c.Close()
		agrees := func(ctx context.Context) (bool, error) {
			info, err := c.ClusterInfo(ctx).Result()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(n)+"\r"), err
		}
		if err := until(ctx, p.addr+" says cluster_state:ok", agrees); err != nil {
			return err
		}
	}
	return nil
}

// until asks again, every 20 ms, until what holds or ctx ends; these servers announce no such event.
func until(ctx context.Context, what string, holds func(context.Context) (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := holds(ctx)
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited until %s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}
