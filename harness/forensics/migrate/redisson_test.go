package migrate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/driver/program"
	"github.com/dq-bench/dq-bench/harness/driver/program/redisson"
	"github.com/dq-bench/dq-bench/harness/forensics/migrate"
	"github.com/dq-bench/dq-bench/harness/server"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// jvm is a real Redisson with the queue "orders" open.
type jvm struct {
	t       *testing.T
	program *program.Process
	handle  string
}

func start(t *testing.T, srv *server.Server, version string) *jvm {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	release, err := wire.LookupRelease(version)
	require.NoError(t, err)
	built, err := redisson.Build(ctx, release, func(line string) { t.Log(line) })
	if err != nil {
		servertest.Missing(t, "redisson", err)
	}
	p, err := program.Start(ctx, built.Command, nil)
	require.NoError(t, err)
	j := &jvm{t: t, program: p}
	t.Cleanup(j.end)
	var opened struct{ Handle string }
	require.NoError(t, json.Unmarshal(j.call("open", map[string]any{"redis": srv.URL(), "queue": "orders", "codec": "json"}), &opened))
	j.handle = opened.Handle
	return j
}

func (j *jvm) end() {
	if j.program != nil {
		require.NoError(j.t, j.program.Close())
		j.program = nil
	}
}

func (j *jvm) call(op string, arguments map[string]any) json.RawMessage {
	j.t.Helper()
	limit, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if j.handle != "" {
		arguments["handle"] = j.handle
	}
	answer, err := j.program.Call(limit, op, arguments)
	require.NoError(j.t, err, op)
	return answer
}

// What a real Redisson of one side has offered, one of the other side delivers after the
// migration, all in order of due time; and back.
func TestRealRedissonsOfBothSides(t *testing.T) {
	servertest.Redisson(t)
	for _, way := range []struct {
		from, to string
		layout   wire.Layout
	}{{"3.21.0", "4.7.0", bc0Lc0}, {"4.7.0", "3.21.0", dLc0}} {
		t.Run(way.from+" to "+way.to, func(t *testing.T) {
			srv := servertest.Redis(t)
			client := srv.NewClient()
			t.Cleanup(func() { client.Close() })
			b := with(t, client, 10)
			const messages, hour = 300, 3_600_000
			from := start(t, srv, way.from)
			for i := range messages {
				order := map[string]any{"t": "string", "v": fmt.Sprintf("order %d", i)}
				from.call("dq.offer", map[string]any{"value": order, "delay": hour + i*7919%messages*1000})
			}
			from.end()
			done := b.run(migrate.Options{To: way.layout})
			require.Equal(t, messages, done.Done.Rewritten)
			require.Empty(t, done.After.Left())

			// Time passes: all come due, in the order that they had.
			var due []string
			for i, member := range client.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Val() {
				m, err := way.layout.Unpack([]byte(member))
				require.NoError(t, err)
				due = append(due, string(m.Value))
				b.timed(member, strconv.Itoa(1000+i))
			}
			require.Len(t, due, messages)
			to := start(t, srv, way.to)
			require.Eventually(t, func() bool {
				return client.LLen(b.ctx, b.names.Destination).Val() == messages
			}, time.Minute, 20*time.Millisecond, "%s delivers all", way.to)
			for i, value := range due {
				var taken struct{ V string }
				require.NoError(t, json.Unmarshal(to.call("q.poll", map[string]any{}), &taken))
				require.Equal(t, value, strconv.Quote(taken.V), "message %d", i)
			}
			require.Equal(t, []int64{0, 0}, []int64{client.ZCard(b.ctx, b.names.TimeoutSet).Val(), client.LLen(b.ctx, b.names.Pending).Val()})
		})
	}
}
