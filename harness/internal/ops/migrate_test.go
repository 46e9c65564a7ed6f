package ops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return data
}

// quoting recodes a string as JSON, and refuses "no"; it fails after some values.
type quoting struct{ left int }

func (q *quoting) Do(_ context.Context, requests ...ops.JavaRequest) (all []ops.JavaReply, err error) {
	for _, r := range requests {
		if q.left--; q.left < 0 {
			return nil, fmt.Errorf("killed")
		}
		value := string(r["value"].([]byte))
		if value == "no" {
			all = append(all, ops.JavaReply{Reason: "cannot be"})
			continue
		}
		all = append(all, ops.JavaReply{OK: true, Value: []byte(strconv.Quote(value))})
	}
	return all, nil
}

func (b *bench) migrate(o ops.MigrateOptions) (*ops.Migration, error) {
	return ops.Migrate(b.ctx, b.conn, "orders", o)
}

// Members go to the other layout and back, and no byte tells.
func TestMigrateThereAndBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 300 {
		b.offer(dLc0, time.Hour+time.Duration(i*7919%1000)*time.Second, strconv.Itoa(i))
	}
	b.do("LREM", b.names.Pending, 1, b.list(b.names.Pending)[5]) // an orphan
	unlisted := b.list(b.names.Pending)[7]
	b.do("LREM", b.names.Pending, 1, unlisted)
	b.do("SADD", scripts.UnlistingOf("orders").Unlisted[0], unlisted)
	b.do("ZADD", ops.AheadKey("orders"), time.Now().Add(time.Hour).UnixMilli(), b.member(dLc0, "held"))
	before, order := b.content(), fmt.Sprint(b.list(b.names.Pending))
	recent, old := bc0Lc0, dLc0
	plan, err := b.migrate(ops.MigrateOptions{To: &recent})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"waiting": 300, "ahead": 1}, plan.Planned)
	require.Equal(t, before, b.content(), "a plan changes nothing")
	done, err := b.migrate(ops.MigrateOptions{To: &recent, Yes: true})
	require.NoError(t, err)
	require.Equal(t, plan.Planned, done.Rewritten)
	require.Zero(t, done.Left)
	require.EqualValues(t, 1, b.count("SCARD", scripts.UnlistingOf("orders").Unlisted[0]))
	for _, m := range b.list(b.names.Pending) {
		u, err := bc0Lc0.UnpackAny([]byte(m))
		require.NoError(t, err)
		require.Equal(t, wire.LayoutBc0Lc0, u.Layout)
	}
	_, err = b.migrate(ops.MigrateOptions{To: &old, Yes: true})
	require.NoError(t, err)
	require.Equal(t, before, b.content())
	require.Equal(t, order, fmt.Sprint(b.list(b.names.Pending)))
}

func TestMigrateRefusesWhileClientsListen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(dLc0, time.Hour, "a")
	b.listen()
	to := bc0Lc0
	done, err := b.migrate(ops.MigrateOptions{To: &to, Yes: true})
	require.NoError(t, err)
	require.Contains(t, done.Refusal, "dq-bench guard orders --ahead 5s")
	require.Empty(t, done.Rewritten)
	_, _, end := b.guard(ops.GuardOptions{Queues: []string{"orders"}, AlwaysAhead: true})
	b.eventually(func() bool { return b.count("EXISTS", ops.GuardingKey("orders")) == 1 }, "the guard says so")
	done, err = b.migrate(ops.MigrateOptions{To: &to, Yes: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Rewritten["waiting"])
	end()
	b.do("DEL", ops.GuardingKey("orders"))
	to = dLc0
	done, err = b.migrate(ops.MigrateOptions{To: &to, Yes: true, Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 1, done.Rewritten["waiting"])
}

// Values that the new release cannot read are not left to it, unless somebody insists.
func TestMigrateRefusesValuesThatTheReleaseLacks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(dLc0, time.Hour, "\x04>\x05hello") // of Marshalling
	b.offer(dLc0, time.Hour, "text")
	b.do("RPUSH", "orders", "a value") // not of this migration
	release, err := wire.LookupRelease("4.7.0")
	require.NoError(t, err)
	layout := release.Layout()
	before := b.content()
	for _, yes := range []bool{false, true} {
		plan, err := b.migrate(ops.MigrateOptions{To: &layout, Reads: &release, Yes: yes})
		require.NoError(t, err)
		require.Equal(t, "Redisson 4.7.0 lacks the codec of 1 message: marshalling; add --codec marshalling:kryo5 --release 3.18.1:4.7.0", plan.Refusal)
		require.Equal(t, before, b.content())
	}
	done, err := b.migrate(ops.MigrateOptions{To: &layout, Reads: &release, Yes: true, Force: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, done.Rewritten["waiting"])
	old, err := wire.LookupRelease("3.16.6") // which has both codecs
	require.NoError(t, err)
	layout = old.Layout()
	done, err = b.migrate(ops.MigrateOptions{To: &layout, Reads: &old, Yes: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, done.Rewritten["waiting"])
}

// Layout and codec at once, in every part; refused values stay; a migration that was killed goes on, and rewrites no value twice.
func TestMigrateCodec(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 40 {
		b.offer(dLc0, time.Hour, strconv.Itoa(i)) // text, and JSON
	}
	b.offer(dLc0, time.Hour, "no")
	b.do("RPUSH", "orders", "7", "text")
	l := scripts.LeaseNamesOf("orders")
	b.do("ZADD", l.Leases, 1, "id1")
	b.do("HSET", l.Bodies, "id1", "42")
	to := bc0Lc0
	o := ops.MigrateOptions{To: &to, From: "string", As: "json", Yes: true, Java: &quoting{left: 60}}
	_, err := b.migrate(o)
	require.ErrorContains(t, err, "killed")
	o.Java = &quoting{left: 1000}
	done, err := b.migrate(o)
	require.NoError(t, err)
	require.Len(t, done.Refused, 1)
	require.EqualValues(t, 1, done.Left)
	again, err := b.migrate(o)
	require.NoError(t, err)
	require.Empty(t, again.Rewritten)
	require.ElementsMatch(t, []string{`"7"`, `"text"`}, b.list("orders"))
	require.Equal(t, `"42"`, b.do("HGET", l.Bodies, "id1"))
	seen := map[string]bool{}
	for _, m := range b.list(b.names.Pending) {
		u, err := bc0Lc0.UnpackAny([]byte(m))
		require.NoError(t, err)
		require.Equal(t, bc0Lc0, u.Layout)
		seen[string(u.Value)] = true
	}
	require.Len(t, seen, 41)
	require.True(t, seen[`"39"`] && seen["no"])
	o.From, o.As = "marshalling", "serialization"
	wrong, err := b.migrate(o)
	require.NoError(t, err)
	require.Contains(t, wrong.Refusal, "no value seems to be written by marshalling")
}
