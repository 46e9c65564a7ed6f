package lab

import (
	"cmp"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A short load on each topology that starts in an instant, with what happens there in an instant and costs no message; make
// topologies has the other faults.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	instant := map[string]int{"Cluster": 2, "replicas": 1}
	for _, k := range kinds(t) {
		if k.name == "one server" {
			continue // as database 5
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.start(t, "")
			for _, f := range append(s.faults[:instant[k.name]:instant[k.name]], fault{loses: plan.NoLoss, do: func(context.Context) {}}) {
				o := s.load(t, f, 100*time.Millisecond, 700*time.Millisecond)
				require.Empty(t, o.Faults(), f.name)
				require.Equal(t, o.Offered, o.Acknowledged, f.name)
			}
		})
	}
}

// The topologies have dq keep its word wherever Redis runs, as real processes on 127.0.0.1: they account for the messages of a load
// during which a master is killed, a slot moves or all servers restart. make topologies, in some minutes, writes a section of
// docs/results.md, and fails where a message is lost that Redis itself did not lose. The first redis-server or valkey-server on PATH
// runs all; others, named by DQ_REDIS_SERVERS, run alone, under Sentinel and as a Cluster.

// kind is a way in which servers stand together, and in which a client reaches them.
type kind struct {
	name string
	// everywhere says that it is worth while on each version of a server.
	everywhere bool
	// start starts the program at path until the test ends.
	start func(t *testing.T, path string) *topology
}

// kinds are all there are, in the order of a report.
func kinds(t *testing.T) []kind {
	t.Helper()
	rules := rulesOf(string(must(os.ReadFile("../../../dq/README.md"))))
	require.Len(t, rules, 2, "dq/README.md: the lines %q", ruleStart)
	return []kind{
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

// topology is servers that run.
type topology struct {
	version string // of the servers
	// faults happen one after the other.
	faults []fault

	// kept is the name of the queue that is taken from reliably.
	kept string
	// admin is the address for who may do all. dial gives a client as a service would have it.
	admin string
	dial  func() goredis.UniversalClient
}

// fault is something that happens to servers under load.
type fault struct {
	name  string
	loses plan.Loss // by Redis itself: without replication in time, what was acknowledged in the last second

	do func(ctx context.Context)
}

// The user and the password of the rules, and the start of a rule's line.
const (
	ruleUser     = "app"
	rulePassword = "secret"
	ruleStart    = "ACL SETUSER " + ruleUser + " "
)

// rulesOf are the lines of a text, dq/README.md, that say as commands to the server which rights a user of the queue "orders" needs:
// first those for offers and takes, then those that a Worker needs besides.
func rulesOf(text string) (rules []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, ruleStart) {
			rules = append(rules, line)
		}
	}
	return rules
}

// grant sends the rules as they are written, for both queues, and has the server keep them.
func (s *topology) grant(t *testing.T, server *redis.Server, rules []string) {
	t.Helper()
	admin := redistest.Client(server)
	defer admin.Close()
	lines := []string{rules[0]}
	for _, rule := range rules {
		lines = append(lines, strings.ReplaceAll(rule, queue, s.kept))
	}
	for _, line := range append(lines, "ACL SAVE") {
		var args []any
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(s.version, "6.0.") {
				if word = ofRedis60(word); word == "" {
					continue
				}
			}
			args = append(args, word)
		}
		require.NoError(t, admin.Do(soon(t), args...).Err(), line)
	}
}

// ofRedis60 returns the word of a rule for Redis 6.0, as dq/README.md says: that server knows no rights to channels, and no BLMOVE.
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

// soon is a context for a start.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// started has what was started run until the test ends.
func started[S interface{ Close() error }](t *testing.T, s S, err error) S {
	t.Helper()
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// one starts one server with more arguments, which clients reach by options.
func one(t *testing.T, path string, options goredis.Options, args ...string) (*topology, *redis.Server) {
	t.Helper()
	s, err := redis.StartProcess(soon(t), path, append(args, durable...)...)
	s = started(t, s, err)
	return around(t, s, options), s
}

// around is a server that clients reach by options.
func around(t *testing.T, s *redis.Server, options goredis.Options) *topology {
	options.Addr = cmp.Or(options.Addr, s.Addr)
	n := s.Nodes()[0]
	return &topology{
		version: s.Version, kept: "kept", admin: s.URL(),
		dial:   func() goredis.UniversalClient { o := options; return goredis.NewClient(&o) },
		faults: []fault{{"kill", plan.OnTheWay, func(ctx context.Context) { killed(ctx, t, n) }}},
	}
}

func killed(ctx context.Context, t *testing.T, n *redis.Node) {
	t.Helper()
	require.NoError(t, n.Kill())
	time.Sleep(downFor)
	require.NoError(t, n.Restart(ctx))
}

// by starts one server that clients reach by options.
func by(options goredis.Options) func(*testing.T, string) *topology {
	return func(t *testing.T, path string) *topology {
		s, _ := one(t, path, options)
		return s
	}
}

func socket(t *testing.T, path string) *topology {
	at := filepath.Join(t.TempDir(), "redis.sock")
	s, _ := one(t, path, goredis.Options{Network: "unix", Addr: at}, "--unixsocket", at)
	return s
}

func secured(t *testing.T, path string) *topology {
	s, address, err := redistest.StartTLS(soon(t), path, t.TempDir(), durable...)
	s = started(t, s, err)
	client := must(redis.NewClient(address))
	defer client.Close()
	return around(t, s, *client.(*goredis.Client).Options())
}

// restricted has a user with the rights of rules, for both queues.
func restricted(rules []string) func(*testing.T, string) *topology {
	return func(t *testing.T, path string) *topology {
		file := filepath.Join(t.TempDir(), "users.acl")
		require.NoError(t, os.WriteFile(file, nil, 0o600))
		s, server := one(t, path, goredis.Options{Username: ruleUser, Password: rulePassword}, "--aclfile", file)
		s.grant(t, server, rules)
		return s
	}
}

func replicated(t *testing.T, path string) *topology {
	s, server := one(t, path, goredis.Options{}, "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(server.Addr)
	require.NoError(t, err)
	var replicas []*redis.Node
	for range 2 {
		replica, err := redis.StartProcess(soon(t), path, "--replicaof", host, port)
		replicas = append(replicas, started(t, replica, err).Nodes()[0])
	}
	linked := func(ctx context.Context) {
		for _, n := range replicas {
			inStep(ctx, t, n)
		}
	}
	linked(soon(t))
	s.faults = append([]fault{{"replica killed", plan.NoLoss, func(ctx context.Context) {
		for _, n := range replicas {
			killed(ctx, t, n)
		}
		linked(ctx)
	}}}, s.faults...)
	return s
}

// inStep waits until a replica has all that its master has.
func inStep(ctx context.Context, t *testing.T, n *redis.Node) {
	t.Helper()
	c := redistest.Client(n)
	defer c.Close()
	require.NoError(t, redis.Until(ctx, n.Addr+" is in step with its master", func() error {
		info, err := c.Info(ctx, "replication").Result()
		if err == nil && redis.Fields(info)["master_link_status"] != "up" {
			err = errors.New("the link is not up")
		}
		return err
	}))
}

func watched(t *testing.T, path string) *topology {
	s, err := redistest.StartSentinel(soon(t), path, 2, 3)
	s = started(t, s, err)
	return &topology{
		version: s.Version, kept: "kept", admin: s.URL(), dial: func() goredis.UniversalClient { return redistest.Client(s) },
		faults: []fault{
			{"fail-over", plan.LastSecond, func(ctx context.Context) {
				_, err := s.Failover(ctx)
				require.NoError(t, errors.Join(err, s.Settle(ctx)))
			}},
			{"master killed", plan.LastSecond, func(ctx context.Context) {
				old, err := s.Master(ctx)
				require.NoError(t, err)
				require.NoError(t, old.Kill())
				_, err = s.WaitFailover(ctx, old)
				require.NoError(t, errors.Join(err, old.Restart(ctx), s.Settle(ctx)))
			}},
			{"rolling restart", plan.LastSecond, func(ctx context.Context) { rollSentinel(ctx, t, s) }},
		},
	}
}

func rollSentinel(ctx context.Context, t *testing.T, s *redistest.SentinelSet) {
	t.Helper()
	master, err := s.Master(ctx)
	require.NoError(t, err)
	for _, n := range s.Nodes() {
		if n != master {
			require.NoError(t, errors.Join(n.Restart(ctx), s.Settle(ctx)))
		}
	}
	_, err = s.Failover(ctx)
	require.NoError(t, err)
	require.NoError(t, errors.Join(s.Settle(ctx), master.Restart(ctx), s.Settle(ctx)))
	for _, n := range s.Sentinels() {
		require.NoError(t, n.Restart(ctx))
	}
}

func clustered(t *testing.T, path string) *topology {
	c, err := redistest.StartCluster(soon(t), path, 3, 1)
	c = started(t, c, err)
	owner := func(ctx context.Context, slot int) *redis.Node {
		n, err := c.NodeOfSlot(ctx, slot)
		require.NoError(t, err)
		return n
	}
	slot := wire.Slot(queue)
	return &topology{
		version: c.Version, kept: "{" + queue + "}:kept", admin: c.URL(), dial: func() goredis.UniversalClient { return redistest.Client(c) },
		faults: []fault{
			{"fail-over", plan.NoLoss, func(ctx context.Context) { handOver(ctx, t, c, owner(ctx, slot)) }},
			{"resharding", plan.NoLoss, func(ctx context.Context) {
				from, to := owner(ctx, slot), owner(ctx, (slot+8192)%16384)
				require.NoError(t, errors.Join(c.MoveSlot(ctx, slot, from, to), c.MoveSlot(ctx, slot, to, from)))
				if err := c.MoveAtOnce(ctx, slot, from, to); err == nil || !strings.Contains(strings.ToLower(err.Error()), "unknown subcommand") {
					require.NoError(t, errors.Join(err, c.MoveAtOnce(ctx, slot, to, from)))
				}
			}},
			{"rolling restart", plan.NoLoss, func(ctx context.Context) { rollCluster(ctx, t, c) }},
			{"master killed", plan.LastSecond, func(ctx context.Context) {
				old := owner(ctx, slot)
				require.NoError(t, old.Kill())
				_, err := c.WaitFailover(ctx, slot, old)
				require.NoError(t, errors.Join(err, old.Restart(ctx), c.Settle(ctx)))
			}},
		},
	}
}

// handOver has a replica of a master take its place, while both live.
func handOver(ctx context.Context, t *testing.T, c *redistest.ClusterSet, master *redis.Node) {
	t.Helper()
	replicas, err := c.ReplicasOf(ctx, master)
	require.NoError(t, err)
	require.NotEmpty(t, replicas, "of %s", master)
	require.NoError(t, errors.Join(c.Failover(ctx, replicas[0]), c.Settle(ctx)))
}

func rollCluster(ctx context.Context, t *testing.T, c *redistest.ClusterSet) {
	t.Helper()
	var masters []*redis.Node
	for _, n := range c.Nodes() {
		replicas, err := c.ReplicasOf(ctx, n)
		require.NoError(t, err)
		if len(replicas) > 0 {
			masters = append(masters, n)
			continue
		}
		require.NoError(t, errors.Join(n.Restart(ctx), c.Settle(ctx)))
	}
	for _, n := range masters {
		handOver(ctx, t, c, n)
		require.NoError(t, errors.Join(n.Restart(ctx), c.Settle(ctx)))
	}
}
