package load

import (
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"github.com/dq-bench/dq-bench/harness/internal/driver/spec"
	"github.com/dq-bench/dq-bench/harness/internal/plan"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

func TestUsageReadsInfo(t *testing.T) {
	process, u, err := readInfo("# Server\r\nrun_id:abc\r\n# Replication\r\nrole:master\r\n# Commandstats\r\ncmdstat_get:calls=9,usec=1\r\n" +
		"cmdstat_zrangebyscore:calls=12,usec=34,usec_per_call=2.83,rejected_calls=0,failed_calls=0\r\n" +
		"# Stats\r\ntotal_commands_processed:100\r\n# CPU\r\nused_cpu_sys:0.25\r\nused_cpu_user:1.5\r\nused_cpu_sys_children:9\r\n")
	require.NoError(t, err)
	require.Equal(t, "abc master", process)
	require.Equal(t, usage{transferCalls: 12, commands: 100, cpuSeconds: 1.75}, u)
	for _, wrong := range []string{"", "used_cpu_sys:x", "cmdstat_zrangebyscore:usec=1"} {
		_, _, err := readInfo(wrong)
		require.Error(t, err, wrong)
	}
}

// The figures of two processes are never subtracted, whichever are the greater ones.
func TestUsageIsThatOfTheSameProcesses(t *testing.T) {
	before := usages{"a master": {10, 40, 1}, "b master": {1, 1, 1}}
	all, busiest, err := usages{"a master": {12, 100, 1.75}, "b master": {1, 2, 1.5}}.since(before)
	require.NoError(t, err)
	require.Equal(t, usage{2, 61, 1.25}, all)
	require.InDelta(t, .75, busiest, 0)

	for name, now := range map[string]usages{
		"another took over": {"a master": {99, 99, 9}, "c master": {99, 99, 9}},
		"one joined":        {"a master": {99, 99, 9}, "b master": {99, 99, 9}, "c master": {0, 1, 0}},
		"one went":          {"a master": {99, 99, 9}},
		"one was demoted":   {"a master": {99, 99, 9}, "b slave": {99, 99, 9}},
	} {
		_, _, err := now.since(before)
		require.ErrorIs(t, err, errOtherServers, name)
	}
	// One process is enough, although the others did more than it lacks.
	_, _, err = usages{"a master": {99, 99, 9}, "b master": {0, 1, 1}}.since(before)
	require.ErrorIs(t, err, errCountedAnew)
}

// fill puts n payloads of each kind where Redisson's format keeps them.
func fill(t *testing.T, client goredis.UniversalClient, queue string, waiting, due int) {
	t.Helper()
	names := wire.NamesOf(queue)
	for i := range waiting {
		value := program.Payload(7, uint32(i), 1, program.HeaderSize)
		member := fmt.Appendf(nil, "\x08abcdefgh%s", value)
		require.NoError(t, client.ZAdd(t.Context(), names.TimeoutSet, goredis.Z{Score: float64(i), Member: member}).Err())
	}
	for i := range due {
		value := program.Payload(7, uint32(waiting+i), 1, program.HeaderSize)
		require.NoError(t, client.RPush(t.Context(), names.Destination, value).Err())
	}
}

func TestRedisSeesWhatIsHeld(t *testing.T) {
	client := redistest.Client(redistest.Redis(t))
	defer client.Close()
	const waiting, due = 700, 1300 // more than a page together
	const queue = "q {1} ü"
	r, _ := spec.KeysOf(spec.Program{}, redis.On(client), queue)
	held, err := r.Held(t.Context())
	require.NoError(t, err)
	require.Zero(t, held)
	fill(t, client, queue, waiting, due)
	held, err = r.Held(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, waiting+due, held)
	seen := map[uint32]bool{}
	require.NoError(t, r.Values(t.Context(), func(value []byte) {
		index, _, ok := program.FindPayload(value, 7)
		require.True(t, ok)
		seen[index] = true
	}))
	require.Len(t, seen, waiting+due)
	require.NoError(t, r.Clear(t.Context()))
	requireNoKeys(t, client)
}

// OnRedis gives a run a server, and a queue of its own there.
func OnRedis(t *testing.T, srv *redis.Server, o *Options) goredis.UniversalClient {
	t.Helper()
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	o.RunID, o.OwnQueue, o.RedisURL, o.Redis = 7, true, srv.URL(), &Redis{Conn: redis.On(client), Several: srv.Several()}
	return client
}

func requireNoKeys(t *testing.T, client goredis.UniversalClient) {
	t.Helper()
	keys, err := client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Empty(t, keys, "nothing is left on the server")
}

// A run leaves nothing on the server, wherever its implementation keeps messages, and leaves a queue in use alone.
func TestRunOnRedis(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dq", "redis-list", "redis-zset"} {
		t.Run(name, func(t *testing.T) {
			d, err := spec.Parse(name)
			require.NoError(t, err)
			p := testPlan()
			p.Delay, p.Duration, p.Warmup, p.Queue = plan.Between(50*time.Millisecond, 100*time.Millisecond), 300*time.Millisecond, 100*time.Millisecond, "own"
			o := Options{Plan: p, Driver: d}
			client := OnRedis(t, redistest.Redis(t), &o)
			result, err := Run(t.Context(), o)
			require.NoError(t, err)
			out := result.Report
			require.True(t, out.Judge(nil).Passed, out.Verdict.Text)
			require.EqualValues(t, 150, out.Counts.Delivered)
			require.Empty(t, out.Notes)
			require.Positive(t, out.ServerStats.Commands)
			require.Equal(t, name != "redis-list", out.ServerStats.TransferCalls > 0)
			requireNoKeys(t, client)

			q, err := d.Open(t.Context(), driver.Target{RedisURL: o.RedisURL}, p.Queue)
			require.NoError(t, err)
			require.NoError(t, q[0].Offer(t.Context(), []byte("in use"), time.Hour))
			require.NoError(t, q[0].Close())
			_, err = Run(t.Context(), o)
			require.ErrorContains(t, err, "holds 1 messages already")
		})
	}
}

func TestConnectionsOfAName(t *testing.T) {
	list := "id=3 addr=127.0.0.1:1 laddr=127.0.0.1:2 fd=8 name=part age=1 flags=b cmd=blpop user=default\n" +
		"id=4 addr=127.0.0.1:3 fd=9 name= age=1 flags=N cmd=client|list\n" +
		"id=5 addr=127.0.0.1:4 fd=9 name=part-2 age=1 flags=b cmd=blpop\n" +
		"id=17 addr=127.0.0.1:5 fd=9 name=part age=1 flags=N cmd=evalsha\n"
	require.Equal(t, []string{"3", "17"}, connections(list, "part"))
	require.Empty(t, connections(list, "other"))
}

func FuzzConnections(f *testing.F) {
	f.Add("id=3 addr=127.0.0.1:1 name=part cmd=blpop\n", "part")
	f.Add("name=part id=\n", "part")
	f.Fuzz(func(t *testing.T, list, name string) {
		for _, id := range connections(list, name) {
			require.NotEmpty(t, id)
		}
	})
}

// When a server went is said as far as it is known: between the last ping that it answered and the next.
func TestSinceWhenAServerIsGone(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for want, at := range map[string][2]time.Duration{
		"before the load began":                    {-2 * time.Second, -time.Second},
		"at the latest 900ms after the load began": {-100 * time.Millisecond, 900 * time.Millisecond},
		"between 3s and 4.1s after the load began": {3 * time.Second, 4100 * time.Millisecond},
	} {
		d := departure{answered: start.Add(at[0]), failed: start.Add(at[1])}
		require.Equal(t, want, d.since(start))
	}
}
