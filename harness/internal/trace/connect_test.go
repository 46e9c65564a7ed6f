package trace_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/monitor"
)

// What says nothing about queues is told once, the work itself not.
func TestConnecting(t *testing.T) {
	line := func(peer string, args ...string) monitor.Line { return monitor.Line{Peer: peer, Args: args} }
	require.Equal(t, []string{"HELLO 3", "PING"}, trace.Connecting([]monitor.Line{
		line("a:1", "HELLO", "3"), line("a:1", "PING"), line("b:1", "PING"), line("a:1", "PING"),
		line("a:1", "RPUSH", "orders", "x"), line("b:1", "SUBSCRIBE", "c"),
	}))
	require.Empty(t, trace.Connecting([]monitor.Line{line("a:1", "LLEN", "orders"), line("a:1", "INFO")}), "no set-up any more")
}
