package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/inspect"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// What a real Redisson 3.21.0 leaves is told apart from what 3.21.1 writes, and 3.21.1
// does with it what is said.
func TestWhatRealRedissonsWriteAndDo(t *testing.T) {
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	b := with(t, client, "orders")

	old := redistest.OpenRedisson(t, srv, "3.21.0", "orders", "json")
	for id := range 3 {
		order := map[string]any{"t": "pojo", "id": id, "name": "bob", "total": "99"}
		old.Call("dq.offer", map[string]any{"value": order, "delay": 3_600_000})
	}
	transfer, _ := wire.Release{Major: 3, Minor: 21, Patch: 0}.Script("transfer")
	require.Eventually(t, func() bool {
		return client.ScriptExists(b.ctx, transfer.SHA1).Val()[0] && client.PubSubNumSub(b.ctx, b.names.Channel).Val()[b.names.Channel] == 1
	}, 30*time.Second, 20*time.Millisecond, "it has subscribed, and transferred for the first time")
	seen, err := inspect.Look(b.ctx, redis.On(client), inspect.Server{}, []string{"orders"}, inspect.Options{Samples: 1})
	require.NoError(t, err)
	q := seen.Queues[0]
	require.Equal(t, []inspect.Layout{{Layout: "dLc0", WrittenBy: "2.x and 3.2.0 to 3.21.0", Count: 3}}, q.Layouts)
	require.Equal(t, []inspect.Value{{Codec: "json|json3", Class: "demo.Order", Count: 3}}, q.Values)
	require.Equal(t, `{"@class":"demo.Order","id":0,"name":"bob","total":["java.lang.Long",99]}`, q.Head.Value)
	require.Equal(t, 1, q.Subscribers.Count)
	require.Zero(t, seen.Anomalies)
	ran := map[string]string{}
	for _, s := range seen.Scripts {
		ran[s.Variant] = s.Sent
	}
	require.Equal(t, "2.7.0 to 2.15.2 and 3.2.0 to 3.21.0", ran["offer-v1"])
	require.Contains(t, ran, "transfer-v1")
	require.NotContains(t, ran, "offer-v2")
	old.Close()

	// They come due, and a release of the other side opens the queue.
	for _, member := range client.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Val() {
		b.timed(member, -1000)
	}
	q = b.look(inspect.Options{})
	side := q.Redisson[1]
	require.NotNil(t, side.StopsAt, "that three doubles in a row begin with a byte of 7 does not happen")
	redistest.OpenRedisson(t, srv, "3.21.1", "orders", "json")
	require.Eventually(t, func() bool {
		return strings.Contains(client.Info(b.ctx, "errorstats").Val(), "errorstat_ERR")
	}, 30*time.Second, 20*time.Millisecond, "its transfer fails")
	require.Len(t, b.delivered(), side.Delivers)
}
