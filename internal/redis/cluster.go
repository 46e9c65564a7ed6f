package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// slots is the number of hash slots of every Redis Cluster.
const slots = 16384

// ClusterOptions say what StartClusterSet starts.
type ClusterOptions struct {
	// Masters is how many nodes share the slots, 1 to 10.
	Masters int
	// Replicas is how many replicas each master has, 0 to 3.
	Replicas int
	// NodeTimeout is cluster-node-timeout, whole milliseconds; 2 s when 0. A
	// master that is gone is replaced about 1 to 2 s after it.
	NodeTimeout time.Duration
	// Path is the server program, 7.0 or newer; empty for the first of redis-server and
	// valkey-server on PATH.
	Path string
	// Args are further arguments of every node, as for StartProcess.
	Args []string
}

func (o ClusterOptions) check() error {
	if o.Masters < 1 || o.Masters > 10 {
		return fmt.Errorf("a cluster of %d masters: want 1 to 10", o.Masters)
	}
	if o.Replicas < 0 || o.Replicas > 3 {
		return fmt.Errorf("a cluster of %d replicas a master: want 0 to 3", o.Replicas)
	}
	return checkArgs(o.Args)
}

// ClusterSet is a Redis Cluster of local processes. Its Nodes are the masters
// as started, then their replicas: of M masters, node M+i replicates node i mod M.
type ClusterSet struct {
	*Server
	all nodes
}

// StartClusterSet gives a Redis Cluster of local processes on 127.0.0.1. It is
// ready when every node says cluster_state:ok and knows every other's role, and
// every replica is in step with its master. A replica stands for election
// however long it had no link to its master, and never changes to another
// master by itself. Close stops all nodes.
func StartClusterSet(ctx context.Context, o ClusterOptions) (*ClusterSet, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	bin, err := findServer(o.Path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, setTimeout)
	defer cancel()
	c := &ClusterSet{}
	t := target{topology: cluster, password: password(o.Args)}
	for range o.Masters * (1 + o.Replicas) {
		n, err := launch(ctx, o.recipe(ctx, bin))
		if err != nil {
			return nil, errors.Join(err, c.all.close())
		}
		c.all = append(c.all, n)
		t.addrs = append(t.addrs, n.Addr)
	}
	if err := c.form(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("forming the cluster: %w", err), c.all.close())
	}
	how := fmt.Sprintf("cluster of %d %s", len(c.all), bin)
	c.Server = &Server{Addr: t.addrs[0], How: how, target: t, nodes: c.all, closer: c.all.close}
	if err := c.identify(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (o ClusterOptions) recipe(ctx context.Context, bin string) recipe {
	timeout := cmp.Or(o.NodeTimeout, 2*time.Second).Milliseconds()
	return recipe{bin: bin, ready: readyLine, extra: replicaArgs(o.Args), configure: func(port, dir string) ([]string, error) {
		bus, err := freePort(ctx)
		return append(standalone(port, dir), "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-port", bus, "--cluster-node-timeout", strconv.FormatInt(timeout, 10),
			"--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no"), err
	}}
}

// form shares the slots out, introduces the nodes to each other, gives each
// master its replicas, and waits until all agree.
func (c *ClusterSet) form(ctx context.Context, o ClusterOptions) error {
	for i, n := range c.all {
		// Epochs of their own from the start: masters that have to settle equal
		// ones first may not get the votes of an early election.
		calls := [][]any{{"cluster", "set-config-epoch", i + 1}}
		if i < o.Masters {
			calls = append(calls, []any{"cluster", "addslotsrange", i * slots / o.Masters, (i+1)*slots/o.Masters - 1})
		}
		if err := n.do(ctx, calls...); err != nil {
			return err
		}
	}
	ids, err := c.introduce(ctx)
	if err != nil {
		return err
	}
	for i, n := range c.all[o.Masters:] {
		master := ids[i%o.Masters]
		err := until(ctx, n.Addr+" replicates its master", func(ctx context.Context) (bool, error) {
			err := n.do(ctx, []any{"cluster", "replicate", master}) // refused until it has heard of the master
			return err == nil, err
		})
		if err != nil {
			return err
		}
	}
	return until(ctx, "all nodes agree", func(ctx context.Context) (bool, error) { return c.whole(ctx, o.Masters) })
}

// introduce lets every node meet every other, which is quicker than to wait for
// the gossip of one that knows all, and gives their ids.
func (c *ClusterSet) introduce(ctx context.Context) ([]string, error) {
	var ids []string
	var meets [][]any
	for _, n := range c.all {
		if err := n.do(ctx, meets...); err != nil {
			return nil, err
		}
		id, meet, err := n.card(ctx)
		if err != nil {
			return nil, err
		}
		ids, meets = append(ids, id), append(meets, meet)
	}
	return ids, nil
}

// card is a cluster node's id and the command by which others meet it.
func (n *Node) card(ctx context.Context) (id string, meet []any, err error) {
	client, err := n.connect(ctx)
	if err != nil {
		return "", nil, err
	}
	defer client.Close()
	if id, err = client.Do(ctx, "cluster", "myid").Text(); err != nil {
		return "", nil, err
	}
	bus, err := client.ConfigGet(ctx, "cluster-port").Result()
	host, port, _ := net.SplitHostPort(n.Addr)
	return id, []any{"cluster", "meet", host, port, bus["cluster-port"]}, err
}

// do sends commands one after the other on one connection and expects each to succeed.
func (n *Node) do(ctx context.Context, calls ...[]any) error {
	client, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, call := range calls {
		if err := client.Do(ctx, call...).Err(); err != nil {
			return fmt.Errorf("%s: %v: %w", n.Addr, call[:min(2, len(call))], err)
		}
	}
	return nil
}
