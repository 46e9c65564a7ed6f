package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// setTimeout bounds the forming of a cluster or a sentinel set, from the first process to the last agreement.
const setTimeout = 30 * time.Second

// StartCluster gives a Redis Cluster of that many masters (1 to 10) without
// replicas, local processes on 127.0.0.1, ready when every node says
// cluster_state:ok. Close stops all of them. StartClusterSet gives more of a hold on it.
func StartCluster(ctx context.Context, masters int) (*Server, error) {
	set, err := StartClusterSet(ctx, ClusterOptions{Masters: masters})
	if err != nil {
		return nil, err
	}
	return set.Server, nil
}

// StartSentinel gives a master, one replica and one sentinel (quorum 1) that
// watches them as "mymaster": local processes on 127.0.0.1, ready when the
// sentinel knows the replica. Close stops all of them. StartSentinelSet gives
// more of a hold on it.
func StartSentinel(ctx context.Context) (*Server, error) {
	set, err := StartSentinelSet(ctx, SentinelOptions{})
	if err != nil {
		return nil, err
	}
	return set.Server, nil
}

// nodes are server programs that stop together.
type nodes []*Node

func (s nodes) close() error {
	var errs []error
	for _, n := range s {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}

// at is the node of that address.
func (s nodes) at(addr string) (*Node, error) {
	for _, n := range s {
		if n.Addr == addr {
			return n, nil
		}
	}
	return nil, fmt.Errorf("%s is none of this set's nodes", addr)
}

// linked waits until n replicates from a master and is in step with it.
func (n *Node) linked(ctx context.Context) error {
	return until(ctx, n.Addr+" replicates", func(ctx context.Context) (bool, error) {
		info, err := n.replication(ctx)
		return info["role"] == "slave" && info["master_link_status"] == "up", err
	})
}

// replication is the node's INFO replication.
func (n *Node) replication(ctx context.Context) (map[string]string, error) {
	c, err := n.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	info, err := c.Info(ctx, "replication").Result()
	return fields(info), err
}

// fields are the name:value lines of INFO and its like.
func fields(info string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(info) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[k] = v
		}
	}
	return m
}

// replicaArgs let a server become a replica of another of the same arguments at
// once: by default a replica waits 5 s for others that want the same copy.
func replicaArgs(extra []string) []string {
	args := []string{"--repl-diskless-sync-delay", "0"}
	if word := password(extra); word != "" {
		args = append(args, "--masterauth", word)
	}
	return append(args, extra...)
}
