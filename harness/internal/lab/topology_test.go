package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func rules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../dq/README.md")
	require.NoError(t, err)
	rules, err := Rules(string(text))
	require.NoError(t, err)
	return rules
}

func start(t *testing.T, name string) *Topology {
	t.Helper()
	for _, k := range Kinds(rules(t)) {
		if k.Name != name {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := k.start(ctx, "")
		if err != nil {
			redistest.Missing(t, "redis", err)
		}
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	require.Fail(t, "no such topology", name)
	return nil
}

// A short load on each topology that starts in an instant, with what happens there in an instant and costs no message; make
// topologies has the other faults.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]int{
		"RESP2": 0, "database 5": 0, "Unix socket": 0, "TLS": 0, "ACL": 0, "Sentinel": 0, "Cluster": 2, "replicas": 1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, name)
			for _, f := range append(s.Faults[:faults:faults], Fault{do: func(context.Context) error { return nil }}) {
				o, err := s.Load(t.Context(), f, 300*time.Millisecond)
				require.NoError(t, err)
				require.Empty(t, o.Faults(), f.Name)
				require.Equal(t, o.Offered, o.Acknowledged, f.Name)
			}
		})
	}
}

func FuzzRules(f *testing.F) {
	f.Add("x\n    ACL SETUSER app on >secret ~orders +blpop\nand\nACL SETUSER app ~dq_*:{orders} +time\n")
	f.Add("ACL SETUSER app \nACL SETUSER app \n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Rules(text)
		require.Equal(t, err == nil, len(rules) == 2)
	})
}

// The topologies have dq keep its word wherever Redis runs, as real processes on 127.0.0.1: they account for the
// messages of a load during which a master is killed, a slot moves or all servers restart. make topologies, in some
// minutes, writes a section of docs/results.md, and fails where a message is lost that Redis itself did not lose. The
// first redis-server or valkey-server on PATH runs all; others, named by DQ_REDIS_SERVERS, run alone, under
// Sentinel and as a Cluster.

// Kind is a way in which servers stand together, and in which a client reaches them.
type Kind struct {
	Name string
	// Everywhere says that it is worth while on each version of a server.
	Everywhere bool

	start func(ctx context.Context, path string) (*Topology, error)
}

// Kinds are all there are, in the order of a report. The rules are those that Rules gives.
func Kinds(rules []string) []Kind {
	return []Kind{
		{"one server", true, by(goredis.Options{Protocol: 3})},
		{"RESP2", false, by(goredis.Options{Protocol: 2})},
		{"database 5", false, by(goredis.Options{DB: 5})},
		{"Unix socket", false, socket},
		{"TLS", false, secured},
		{"ACL", true, restricted(rules)},
		{"replicas", false, replicated},
		{"Sentinel", true, watched},
		{"Cluster", true, clustered},
	}
}

// Unfit says why servers of a version, as "7.0.15", cannot be started so, or "".
func (k Kind) Unfit(version string) string {
	if k.Name == "Cluster" && strings.HasPrefix(version, "6.") {
		return "the harness forms a Cluster by settings that Redis has since 7.0"
	}
	return ""
}

// Topology is servers that run.
type Topology struct {
	Version string // of the servers
	// Faults are what may happen to them, one after the other.
	Faults []Fault

	// kept is the name of the queue that is taken from reliably.
	kept string
	// dial gives a client as a service would have it.
	dial    func() goredis.UniversalClient
	closers []func() error
}

// Close stops the servers and removes their files.
func (t *Topology) Close() error {
	var errs []error
	for _, c := range t.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Fault is something that happens to servers under load.
type Fault struct {
	Name string
	// Loses is what Redis itself may lose by it.
	Loses Loss

	do func(ctx context.Context) error
}

// Loss is what Redis itself may lose.
type Loss int

const (
	// Nothing is lost of what was acknowledged.
	Nothing Loss = iota
	// Popped is what was popped for a consumer whose connection broke: a Take hands it over at
	// most once. What was reserved comes again.
	Popped
	// Unreplicated is that, and what a master acknowledged and its successor never got, for
	// replication does not wait; what it had given out comes again.
	Unreplicated
)

// The user and the password of the rules, and the start of a rule's line.
const (
	ruleUser     = "app"
	rulePassword = "secret"
	ruleStart    = "ACL SETUSER " + ruleUser + " "
)

// Rules are the lines of a text, dq/README.md, that say as commands to the server which rights a user
// of the queue "orders" needs: first those for offers and takes, then those that a Worker
// needs besides. The error says that there are not just these two.
func Rules(text string) ([]string, error) {
	var rules []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, ruleStart) {
			rules = append(rules, line)
		}
	}
	if len(rules) != 2 || !strings.Contains(rules[0], " >"+rulePassword+" ") {
		return nil, fmt.Errorf("expected two lines %q with the password %q in the first, found %d", ruleStart+"…", rulePassword, len(rules))
	}
	return rules, nil
}

// grant sends the rules as they are written, for both queues, and has the server keep them.
func (t *Topology) grant(ctx context.Context, s *redis.Server, rules []string) error {
	if len(rules) != 2 {
		return errors.New("a user with the least rights needs the rules of dq/README.md")
	}
	admin := redistest.Client(s)
	defer admin.Close()
	lines := []string{rules[0]}
	for _, rule := range rules {
		lines = append(lines, strings.ReplaceAll(rule, Queue, t.kept))
	}
	for _, line := range append(lines, "ACL SAVE") {
		var args []any
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(t.Version, "6.0.") {
				if word = ofRedis60(word); word == "" {
					continue
				}
			}
			args = append(args, word)
		}
		if err := admin.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return nil
}

// ofRedis60 is what a word of a rule is under Redis 6.0, as dq/README.md says: it knows no rights to channels, and
// no BLMOVE.
func ofRedis60(word string) string {
	switch {
	case strings.HasPrefix(word, "&"):
		return ""
	case word == "+blmove":
		return "+lpop"
	}
	return word
}

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
		info, err := c.Info(ctx, "replication").Result()
		return redis.Fields(info)["master_link_status"] == "up", err
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
