package load_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// What a server did is told of the one that was there all the time, or not at all, and no objective on it is met.
func TestNoServerFiguresAcrossARestartOrAFailover(t *testing.T) {
	t.Parallel()
	kept, sentinels := redistest.Process(t, "--appendonly", "yes"), redistest.Sentinel(t, 1)
	busy(t, sentinels)
	for name, tc := range map[string]struct {
		srv    *redis.Server
		length time.Duration
		do     func(*redis.Server)
	}{
		"restart": {kept, 2500 * time.Millisecond, func(s *redis.Server) {
			require.NoError(t, s.Nodes()[0].Kill())
			require.NoError(t, s.Nodes()[0].Restart(t.Context()))
		}},
		"fail-over": {sentinels.Server, 4 * time.Second, func(*redis.Server) {
			_, err := sentinels.Failover(t.Context())
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := meanwhile(t, tc.srv, tc.length, tc.do)
			require.Empty(t, r.ServerGone)
			require.Nil(t, r.ServerStats)
			require.Contains(t, r.Notes, "no server statistics: a server was restarted during the run, or another one took over, joined or went, and its work is not counted in full")
			slo, err := run.ParseSLO("transfer_calls_per_message<=1000")
			require.NoError(t, err)
			require.False(t, slo.Evaluate(r).Met)
		})
	}
}

// busy has each node count more commands than a run makes, so that no difference between two of them is below zero.
func busy(t *testing.T, set *redistest.SentinelSet) {
	t.Helper()
	for i, node := range set.Nodes() {
		client := redistest.Client(node)
		defer client.Close()
		pipeline := client.Pipeline()
		for range 20000 * i {
			pipeline.Do(t.Context(), "ZRANGEBYSCORE", "none", "0", "1")
		}
		_, err := pipeline.Exec(t.Context())
		require.NoError(t, err)
	}
}
