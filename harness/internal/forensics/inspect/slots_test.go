package inspect_test

import (
	"encoding/json"
	"github.com/dq-bench/dq-bench/harness/internal/driver/program"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// In a cluster no script runs on a queue whose name has a "{" alone: a real Redisson fails at it, and
// no command that would fail too is advised.
func TestKeysInDifferentSlots(t *testing.T) {
	t.Parallel()
	set := redistest.Cluster(t, 3, 0)
	client := redistest.Client(set)
	t.Cleanup(func() { client.Close() })
	b := with(t, client, "x{y")
	b.subscribe()
	b.offer(b.pack(bc0Lc0, "x"), hour)
	q := b.look(inspect.Options{})
	require.Equal(t, []string{inspect.DifferentSlots}, anomalies(q))
	f := finding(t, q, inspect.DifferentSlots)
	require.Contains(t, f.New, "fails with CROSSSLOT")
	for _, f := range q.Findings {
		require.NotContains(t, f.Do, "dq-bench migrate 'x{y'")
		require.NotContains(t, f.Do, "dq-bench migrate x{y")
	}
	require.Empty(t, anomalies(with(t, client, "x{y}").look(inspect.Options{})))

	for _, release := range []string{"3.16.6", "4.7.0"} {
		redisson, err := program.Start(t.Context(), redistest.RedissonCommand(t, release), nil)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, redisson.Close()) })
		opened, err := redisson.Call(t.Context(), "open", map[string]any{"redis": set.URL(), "queue": "x{y", "codec": "string"})
		require.NoError(t, err)
		var handle struct{ Handle string }
		require.NoError(t, json.Unmarshal(opened, &handle))
		_, err = redisson.Call(t.Context(), "dq.offer", map[string]any{
			"handle": handle.Handle, "value": map[string]any{"t": "string", "v": "x"}, "delay": 1000,
		})
		require.ErrorContains(t, err, "CROSSSLOT")
	}
}
