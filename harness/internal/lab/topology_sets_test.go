package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func replicated(ctx context.Context, path string) (*Topology, error) {
	t, _, err := startOne(ctx, path, goredis.Options{}, "--repl-diskless-sync-delay", "0")
	if err != nil {
		return nil, err
	}
	master := t.dial()
	defer master.Close()
	host, port, _ := net.SplitHostPort(master.(*goredis.Client).Options().Addr)
	var replicas []*redis.Node
	for range 2 {
		s, err := redis.StartProcess(ctx, path, "--replicaof", host, port)
		if err != nil {
			return nil, errors.Join(err, t.Close())
		}
		t.closers = append(t.closers, s.Close)
		replicas = append(replicas, s.Nodes()[0])
	}
	linked := func(ctx context.Context) error {
		for _, n := range replicas {
			if err := inStep(ctx, n); err != nil {
				return err
			}
		}
		return nil
	}
	if err := linked(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	t.Faults = append([]Fault{{
		Name: "replica killed",
		do: func(ctx context.Context) error {
			for _, n := range replicas {
				if err := killed(ctx, n); err != nil {
					return err
				}
			}
			return linked(ctx)
		},
	}}, t.Faults...)
	return t, nil
}

// inStep waits until a replica has all that its master has.
func inStep(ctx context.Context, n *redis.Node) error {
	c := redistest.Client(n)
	defer c.Close()
	return until(ctx, n.Addr+" is in step with its master", func() (bool, error) {
		info, err := c.InfoMap(ctx, "replication").Result()
		return info["Replication"]["master_link_status"] == "up", err
	})
}

func watched(ctx context.Context, path string) (*Topology, error) {
	s, err := redistest.StartSentinel(ctx, path, 2, 3)
	if err != nil {
		return nil, err
	}
	return &Topology{
		Version: s.Version, kept: "kept", dial: func() goredis.UniversalClient { return redistest.Client(s) }, closers: []func() error{s.Close},
		Faults: []Fault{
			{"fail-over", Unreplicated, func(ctx context.Context) error {
				_, err := s.Failover(ctx)
				return errors.Join(err, s.Settle(ctx))
			}},
			{"master killed", Unreplicated, func(ctx context.Context) error {
				old, err := s.Master(ctx)
				if err != nil {
					return err
				}
				if err := old.Kill(); err != nil {
					return err
				}
				_, err = s.WaitFailover(ctx, old)
				return errors.Join(err, old.Restart(ctx), s.Settle(ctx))
			}},
			{"rolling restart", Unreplicated, func(ctx context.Context) error {
				return rollSentinel(ctx, s)
			}},
		},
	}, nil
}

func rollSentinel(ctx context.Context, s *redistest.SentinelSet) error {
	master, err := s.Master(ctx)
	if err != nil {
		return err
	}
	for _, n := range s.Nodes() {
		if n == master {
			continue
		}
		if err := errors.Join(n.Restart(ctx), s.Settle(ctx)); err != nil {
			return err
		}
	}
	if _, err := s.Failover(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.Settle(ctx), master.Restart(ctx), s.Settle(ctx)); err != nil {
		return err
	}
	for _, n := range s.Sentinels() {
		if err := n.Restart(ctx); err != nil {
			return err
		}
	}
	return nil
}

func clustered(ctx context.Context, path string) (*Topology, error) {
	c, err := redistest.StartCluster(ctx, path, 3, 1)
	if err != nil {
		return nil, err
	}
	owner := func(ctx context.Context) (*redis.Node, error) { return c.NodeOfSlot(ctx, wire.Slot(Queue)) }
	return &Topology{
		Version: c.Version, kept: "{" + Queue + "}:kept", dial: func() goredis.UniversalClient { return redistest.Client(c) }, closers: []func() error{c.Close},
		Faults: []Fault{
			{"fail-over", Nothing, func(ctx context.Context) error {
				n, err := owner(ctx)
				if err != nil {
					return err
				}
				return handOver(ctx, c, n)
			}},
			{"resharding", Nothing, func(ctx context.Context) error {
				return reshard(ctx, c)
			}},
			{"rolling restart", Nothing, func(ctx context.Context) error {
				return rollCluster(ctx, c)
			}},
			{"master killed", Unreplicated, func(ctx context.Context) error {
				old, err := owner(ctx)
				if err != nil {
					return err
				}
				if err := old.Kill(); err != nil {
					return err
				}
				_, err = c.WaitFailover(ctx, wire.Slot(Queue), old)
				return errors.Join(err, old.Restart(ctx), c.Settle(ctx))
			}},
		},
	}, nil
}

// handOver has a replica of a master take its place, while both live.
func handOver(ctx context.Context, c *redistest.ClusterSet, master *redis.Node) error {
	replicas, err := c.ReplicasOf(ctx, master)
	if err != nil {
		return err
	}
	if len(replicas) == 0 {
		return fmt.Errorf("expected a replica of %s, it has none", master)
	}
	return errors.Join(c.Failover(ctx, replicas[0]), c.Settle(ctx))
}

func reshard(ctx context.Context, c *redistest.ClusterSet) error {
	slot := wire.Slot(Queue)
	from, err := c.NodeOfSlot(ctx, slot)
	if err != nil {
		return err
	}
	to, err := c.NodeOfSlot(ctx, (slot+8192)%16384)
	if err != nil {
		return err
	}
	return errors.Join(c.MoveSlot(ctx, slot, from, to), c.MoveSlot(ctx, slot, to, from))
}

func rollCluster(ctx context.Context, c *redistest.ClusterSet) error {
	var masters []*redis.Node
	for _, n := range c.Nodes() {
		replicas, err := c.ReplicasOf(ctx, n)
		if err != nil {
			return err
		}
		if len(replicas) > 0 {
			masters = append(masters, n)
			continue
		}
		if err := errors.Join(n.Restart(ctx), c.Settle(ctx)); err != nil {
			return err
		}
	}
	for _, n := range masters {
		if err := handOver(ctx, c, n); err != nil {
			return err
		}
		if err := errors.Join(n.Restart(ctx), c.Settle(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// until asks again until it holds, or ctx ends.
func until(ctx context.Context, what string, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if ok {
			return nil
		}
		if sleep(ctx, 20*time.Millisecond) != nil {
			return fmt.Errorf("waited until %s: %w", what, errors.Join(ctx.Err(), err))
		}
	}
}
