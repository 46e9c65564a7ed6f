package conformance

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/internal/monitor"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redis/embedded"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// A server without MONITOR is judged by replies and keys. Keys of others stay.
func TestServerWithoutMonitor(t *testing.T) {
	t.Parallel()
	own, err := redis.StartProcess(t.Context(), "", "--rename-command", "MONITOR", "")
	if err != nil {
		redistest.Missing(t, "redis", err)
	}
	t.Cleanup(func() { own.Close() })
	srv := reached(t, own.URL())
	plan := sharedPlan(t, srv, "^DQ.(offer|poll|timer)/")
	plan.Server = true
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	requireRight(t, srv, report)
	require.Equal(t, State, report.Level)
	require.Contains(t, report.Text(), "the server redis")
	for _, v := range report.Verdicts() {
		require.False(t, strings.HasPrefix(v.By, "its rule"), "%s: no rule has seen a command", v.ID)
	}

	other := clientOf(t, srv, 0)
	plan.Finished = func(r Result) { require.NoError(t, other.Set(t.Context(), "theirs", r.ID, 0).Err()) }
	_, err = plan.Run(t.Context())
	require.ErrorIs(t, err, monitor.ErrServerInUse)
	require.NotEmpty(t, other.Get(t.Context(), "theirs").Val())

	plan.Level, plan.Oracle = Wire, nil
	_, err = plan.Run(t.Context())
	require.ErrorContains(t, err, "a recording needs the commands that the server saw")
}

// A server that runs scripts wrongly fails.
func TestServerWithAFault(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv, err := embedded.Serve(l, embedded.Hooks{Script: func(body string) string { return strings.ReplaceAll(body, "'zadd'", "'zscore'") }})
	require.NoError(t, err)
	t.Cleanup(func() { srv.Close() })
	plan := sharedPlan(t, reached(t, "redis://"+srv.Addr()), "^DQ.offer/")
	plan.Level, plan.Server = State, true
	report, err := plan.Run(t.Context())
	require.NoError(t, err)
	require.Positive(t, report.Counts.Fail)
}
