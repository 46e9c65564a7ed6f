package scripts_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// BenchmarkTransfer moves 100 members that come due in the order of their offers,
// the most that one call of Redisson's moves. Only server-µs/op compares the
// scripts: the rest is the way to the server.
func BenchmarkTransfer(b *testing.B) {
	for _, own := range layouts {
		text, ok := releaseOf(own).Script(wire.ScriptTransfer)
		require.True(b, ok)
		for name, script := range map[string]scripts.Script{
			"Redisson": {Body: text.Body, SHA1: text.SHA1},
			"ours":     scripts.Transfer(),
		} {
			b.Run(fmt.Sprint(own, "/", name), func(b *testing.B) {
				q := setup(b)
				keys, args := q.transferKeys(), []any{now, 100, own.String()}
				if name == "Redisson" {
					keys, args = keys[:3], args[:2]
				}
				q.do("SCRIPT", "LOAD", script.Body)
				for b.Loop() {
					b.StopTimer()
					fill(q, own)
					b.StartTimer()
					if err := q.redis.EvalSha(q.ctx, script.SHA1, keys, args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
						b.Fatal(err)
					}
				}
				reportServerTime(b, q, "evalsha")
			})
		}
	}
}

// fill empties D and puts 100 members into Q and T.
func fill(q *bundle, l wire.Layout) {
	pipe := q.redis.Pipeline()
	pipe.Del(q.ctx, q.names.Destination)
	for i := range 100 {
		m := q.pack(l, fmt.Sprintf("%0100d", i))
		pipe.ZAdd(q.ctx, q.names.TimeoutSet, redis.Z{Score: float64(i), Member: m})
		pipe.RPush(q.ctx, q.names.Pending, m)
	}
	_, err := pipe.Exec(q.ctx)
	require.NoError(q.t, err)
}

// reportServerTime reports what the server itself was busy for with a command.
func reportServerTime(b *testing.B, q *bundle, command string) {
	b.Helper()
	stats := q.redis.Info(q.ctx, "commandstats").Val()
	m := regexp.MustCompile(`cmdstat_` + command + `:calls=\d+,usec=\d+,usec_per_call=([0-9.]+)`).FindStringSubmatch(stats)
	require.NotNil(b, m, stats)
	usec, err := strconv.ParseFloat(m[1], 64)
	require.NoError(b, err)
	b.ReportMetric(usec, "server-µs/op")
}
