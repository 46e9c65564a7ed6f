package migrate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/forensics/migrate"
	"github.com/dq-bench/dq-bench/harness/internal/values"
	"github.com/dq-bench/dq-bench/internal/redisson"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// longest bounds what takes longest, with 100,000 messages.
const longest = 10 * time.Minute

// messagesOfServices is how many messages the services exchange: 300, or as many as DQ_MESSAGES
// says, for make migrate-services.
func messagesOfServices(t *testing.T) int {
	t.Helper()
	text := os.Getenv("DQ_MESSAGES")
	if text == "" {
		return 300
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// What a real Redisson of one side has offered, one of the other side delivers after the
// migration, all in order of due time; and back.
func TestRealRedissonsOfBothSides(t *testing.T) {
	for _, way := range []struct {
		from, to string
		layout   wire.Layout
	}{{"3.21.0", "4.7.0", bc0Lc0}, {"4.7.0", "3.21.0", dLc0}} {
		t.Run(way.from+" to "+way.to, func(t *testing.T) {
			redistest.Redisson(t, way.from, way.to)
			srv := redistest.Redis(t)
			client := redistest.Client(srv)
			t.Cleanup(func() { client.Close() })
			b := with(t, client, 10)
			const hour = 3_600_000
			messages := messagesOfServices(t)
			from := redistest.OpenRedisson(t, srv, way.from, "orders", "json")
			for i := range messages {
				order := map[string]any{"t": "string", "v": fmt.Sprintf("order %d", i)}
				from.Call("dq.offer", map[string]any{"value": order, "delay": hour + i*7919%messages*1000})
			}
			from.Close()
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
			to := redistest.OpenRedisson(t, srv, way.to, "orders", "json")
			require.Eventually(t, func() bool {
				return client.LLen(b.ctx, b.names.Destination).Val() == int64(messages)
			}, longest, 20*time.Millisecond, "%s delivers all", way.to)
			for i, value := range due {
				var taken struct{ V string }
				require.NoError(t, json.Unmarshal(to.Call("q.poll", nil), &taken))
				require.Equal(t, value, strconv.Quote(taken.V), "message %d", i)
			}
			require.Equal(t, []int64{0, 0}, []int64{client.ZCard(b.ctx, b.names.TimeoutSet).Val(), client.LLen(b.ctx, b.names.Pending).Val()})
		})
	}
}

// Text that a real Redisson has offered, another one takes as JSON after the migration, and the other way
// round: all in order, and those that were delivered already besides.
func TestRealRedissonsTakeTextAsJSON(t *testing.T) {
	redistest.Redisson(t, "4.7.0")
	release, err := wire.LookupRelease("4.7.0")
	require.NoError(t, err)
	jars, err := redisson.Jars(t.Context(), release, func(line string) { t.Log(line) })
	require.NoError(t, err)
	java, err := values.Start(t.Context(), values.Options{Old: jars, New: jars})
	require.NoError(t, err)
	t.Cleanup(java.Close)
	srv := redistest.Redis(t)
	client := redistest.Client(srv)
	t.Cleanup(func() { client.Close() })
	b := with(t, client, 11)
	const messages, hour = 100, 3_600_000
	for _, way := range [][2]string{{"string", "json"}, {"json", "string"}} {
		from := redistest.OpenRedisson(t, srv, "4.7.0", "orders", way[0])
		var want []string
		for i := range messages {
			text := fmt.Sprintf("order %d, \"quoted\", é\n", i)
			want = append(want, text)
			value := map[string]any{"value": map[string]any{"t": "string", "v": text}}
			if i < 10 {
				from.Call("q.offer", value)
				continue
			}
			value["delay"] = hour + i*1000
			from.Call("dq.offer", value)
		}
		from.Close()
		done := b.recode(migrate.RecodeOptions{From: way[0], To: way[1], Recode: migrate.ByJava(java, way[0], way[1], "")})
		require.Empty(t, done.Left())
		require.Equal(t, []int{messages - 10, messages - 10, 10}, []int{done.Done.Members, done.Done.Entries, done.Done.Waiting})

		for i, member := range client.ZRange(b.ctx, b.names.TimeoutSet, 0, -1).Val() {
			b.timed(member, strconv.Itoa(1000+i))
		}
		to := redistest.OpenRedisson(t, srv, "4.7.0", "orders", way[1])
		require.Eventually(t, func() bool { return client.LLen(b.ctx, b.names.Destination).Val() == messages }, longest, 20*time.Millisecond)
		for i := range messages {
			var taken struct{ V string }
			require.NoError(t, json.Unmarshal(to.Call("q.poll", nil), &taken))
			require.Equal(t, want[i], taken.V)
		}
		to.Close()
	}
}
