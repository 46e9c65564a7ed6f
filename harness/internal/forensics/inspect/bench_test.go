package inspect_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// longestCall is what no call of an inspection may take by the server's own slow log.
const longestCall = 5 * time.Millisecond

// fill offers ARGV[1] members with values of ARGV[3] bytes, due in random order within a
// day of ARGV[2], one in a thousand of the old layout, one in ten thousand in the list
// alone, and as many in the set alone.
const fill = `
for i = 1, tonumber(ARGV[1]) do
  local id = struct.pack('dd', math.random(), math.random())
  local value = string.rep('x', tonumber(ARGV[3]))
  local member = struct.pack('Bc0Lc0', 8, string.sub(id, 1, 8), #value, value)
  if i % 1000 == 0 then member = struct.pack('dLc0', math.random(), #value, value) end
  if i % 10000 ~= 1 then redis.call('zadd', KEYS[1], tonumber(ARGV[2]) + math.random(86400000), member) end
  if i % 10000 ~= 2 then redis.call('rpush', KEYS[2], member) end
end`

// BenchmarkMillion inspects a queue of a million members (DQ_INSPECT_MEMBERS, with values of
// DQ_INSPECT_BYTES) and fails if a call takes the server longer than longestCall by itself:
// what its slow log has of 1 ms and more is sent again a few times, of which the quickest
// counts. One that the machine has interrupted is quick then.
func BenchmarkMillion(b *testing.B) {
	setting := func(name string, usual int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
		return usual
	}
	members, bytes := setting("DQ_INSPECT_MEMBERS", 1_000_000), setting("DQ_INSPECT_BYTES", 100)
	client := redistest.Client(redistest.Redis(b))
	defer client.Close()
	q := with(b, client, "orders")
	const part = 20_000
	for range members / part {
		keys := []string{q.names.TimeoutSet, q.names.Pending}
		require.NoError(b, noNil(client.Eval(q.ctx, fill, keys, part, q.now, bytes).Err()))
	}
	for name, value := range map[string]string{"slowlog-log-slower-than": "1000", "slowlog-max-len": "1024"} {
		require.NoError(b, client.ConfigSet(q.ctx, name, value).Err())
	}
	longest := time.Duration(0)
	for b.Loop() {
		require.NoError(b, client.Do(q.ctx, "SLOWLOG", "RESET").Err())
		require.NoError(b, client.ConfigResetStat(q.ctx).Err())
		seen := q.look(inspect.Options{})
		require.Equal(b, members/10_000, seen.Counts.Ghosts)
		require.Equal(b, members/10_000, seen.Counts.Orphans)
		require.Equal(b, members/1_000, seen.Counts.Foreign)
		longest = max(longest, report(b, q, seen))
	}
	b.ReportMetric(float64(longest.Microseconds()), "µs-longest-call")
	if longest > longestCall {
		b.Errorf("a call took %v, expected no more than %v", longest, longestCall)
	}
}

func noNil(err error) error {
	if err == redis.Nil { //nolint:errorlint // this very value
		return nil
	}
	return err
}

// report tells what the server has counted itself, and returns its longest call.
func report(b *testing.B, q *bundle, seen inspect.Queue) time.Duration {
	slow, err := q.client.(*redis.Client).SlowLogGet(q.ctx, -1).Result()
	require.NoError(b, err)
	logged, longest := time.Duration(0), time.Duration(0)
	for _, call := range slow {
		logged, longest = max(logged, call.Duration), max(longest, again(b, q, call.Args))
	}
	stats, err := q.client.Info(q.ctx, "commandstats").Result()
	require.NoError(b, err)
	for line := range strings.Lines(stats) {
		if strings.HasPrefix(line, "cmdstat_zrange:") || strings.HasPrefix(line, "cmdstat_lrange:") {
			b.Log(strings.TrimSpace(line))
		}
	}
	b.Logf("%d members: %d calls in %.1f s, %d of them over 1 ms by the slow log, the longest %v, which sent again take up to %v; "+
		"the next transfer is estimated at %.1f ms (%.1f ns an entry)", seen.Counts.TimeoutSet, seen.Reading.Calls, seen.Reading.TookMS/1000,
		len(slow), logged, longest, seen.Transfer.BlockedMS, seen.Transfer.EntryNS)
	return longest
}

// again sends a command a few times and returns what the quickest took, with the way
// there and back.
func again(b *testing.B, q *bundle, args []string) time.Duration {
	command := make([]any, len(args))
	for i, arg := range args {
		command[i] = arg
	}
	quickest := time.Hour
	for range 5 {
		began := time.Now()
		require.NoError(b, noNil(q.client.Do(q.ctx, command...).Err()), "%q", args)
		quickest = min(quickest, time.Since(began))
	}
	return quickest
}
