package analysis_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/internal/analysis"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
	"github.com/dq-bench/dq-bench/harness/internal/trace"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// offer offers a value to the queue as a Redisson of a release does.
func offer(ctx context.Context, t *testing.T, rdb goredis.UniversalClient, by string, due int64, id, value any) {
	t.Helper()
	script, _ := release(t, by).Script(wire.ScriptOffer)
	err := rdb.Eval(ctx, script.Body, []string{"orders", orders.TimeoutSet, orders.Pending, orders.Channel}, due, id, value).Err()
	require.ErrorIs(t, err, goredis.Nil)
}

// What came before the server closed the connection is told, and that it did.
func TestLiveUntilTheServerCloses(t *testing.T) {
	t.Parallel()
	ctx, _, rdb, conn := watched(t)
	offer(ctx, t, rdb, "4.7.0", time.Now().UnixMilli()+9000, "12345678", "a")
	require.NoError(t, rdb.ClientKillByFilter(ctx, "TYPE", "normal").Err())
	r := analysis.New()
	require.ErrorIs(t, r.Live(ctx, conn), trace.ErrClosed)
	require.EqualValues(t, 1, r.Document().Queues[0].Offers)
}

// dq at work on a real server: its release is among the releases, each message has its path, and nothing is wrong.
func TestQueueAtWork(t *testing.T) {
	t.Parallel()
	ctx, _, rdb, conn := watched(t)
	client, err := dq.NewClient(rdb, dq.WithRelease("4.7.0"))
	require.NoError(t, err)
	queue, err := dq.NewQueue(client, "orders", codec.String{})
	require.NoError(t, err)
	_, err = queue.Offer(ctx, "cancelled", time.Hour)
	require.NoError(t, err)
	for _, value := range []string{"one", "two"} {
		_, err := queue.Offer(ctx, value, 60*time.Millisecond)
		require.NoError(t, err)
		_, err = queue.Take(ctx)
		require.NoError(t, err)
	}
	removed, err := queue.Remove(ctx, "cancelled")
	require.NoError(t, err)
	require.True(t, removed)
	require.NoError(t, client.Close())
	d := until(ctx, t, conn, rdb)
	for _, a := range d.Anomalies { // a busy machine may hold a transfer up
		require.Contains(t, []analysis.Kind{analysis.Overdue, analysis.Stall}, a.Kind, a.Detail)
	}
	require.True(t, contains(t, ranges(d.Redisson), release(t, "4.7.0")))
	require.Len(t, d.Queues, 1)
	q := d.Queues[0]
	require.Equal(t, []int64{3, 2, 2, 1, 0}, []int64{q.Offers, q.Transferred, q.Taken, q.Removed, q.StillPending})
}

// watched is a server, and the lines that its MONITOR shows.
func watched(t *testing.T) (context.Context, *redis.Server, goredis.UniversalClient, *trace.Conn) {
	t.Helper()
	srv := redistest.Redis(t)
	rdb := redistest.Client(srv)
	t.Cleanup(func() { _ = rdb.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	watch, err := trace.Dial(ctx, srv.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = watch.Close() })
	return ctx, srv, rdb, watch
}

// until analyses the lines that MONITOR has shown so far.
func until(ctx context.Context, t *testing.T, conn *trace.Conn, rdb goredis.UniversalClient) *analysis.Document {
	t.Helper()
	require.NoError(t, rdb.Echo(ctx, "the end").Err())
	for r := analysis.New(); ; {
		l, err := conn.Read(ctx)
		require.NoError(t, err)
		if l.Args[len(l.Args)-1] == "the end" {
			return r.Document()
		}
		r.Line(l)
		if l.Args[0] == "zrangebyscore" && len(l.Args) == 8 { // before Redis 7 dq goes on to try its rights
			l.Args = []string{"zrem", l.Args[1], ops.NoMember}
			r.Line(l)
		}
	}
}

// A guard at work: its deliveries are deliveries, and its scripts are known.
func TestGuardAtWork(t *testing.T) {
	t.Parallel()
	ctx, srv, rdb, watch := watched(t)
	for i, r := range []string{"3.21.0", "4.7.0"} {
		for n := range 20 {
			id := any(int64(1)<<60 + int64(n))
			if r == "4.7.0" {
				id = fmt.Sprintf("%08d", n)
			}
			offer(ctx, t, rdb, r, time.Now().UnixMilli()+1500+int64(n), id, fmt.Sprintf("v%d-%d", i, n))
		}
	}
	conn := srv.Conn()
	defer conn.Close()
	guarding, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	guard := ops.NewGuard(conn, ops.GuardOptions{Queues: []string{"orders"}, Ahead: time.Second, Stalled: time.Second, Interval: 50 * time.Millisecond})
	go func() { ended <- guard.Run(guarding) }()
	require.Eventually(t, func() bool { return rdb.LLen(ctx, "orders").Val() == 40 }, 20*time.Second, 10*time.Millisecond)
	end()
	require.NoError(t, <-ended)
	d := until(ctx, t, watch, rdb)
	require.Zero(t, d.AnomalyCounts[analysis.UnknownScript]+d.AnomalyCounts[analysis.Orphan]+d.AnomalyCounts[analysis.Ghost]+d.AnomalyCounts[analysis.Early])
	require.Equal(t, []int64{40, 40, 0, 0}, []int64{d.Queues[0].Offers, d.Queues[0].Transferred, d.Queues[0].Removed, d.Queues[0].StillPending})
}

// queue and migrate at work: what they change is told as such.
func TestVerbsAtWork(t *testing.T) {
	t.Parallel()
	ctx, srv, rdb, watch := watched(t)
	for i := range 3 {
		offer(ctx, t, rdb, "4.7.0", time.Now().UnixMilli()+int64(i)+9e5, fmt.Sprintf("%08d", i), i)
	}
	conn := srv.Conn()
	defer conn.Close()
	for _, verb := range []string{"reschedule", "cancel", "deliver"} {
		o := &ops.Order{Verb: verb, Queue: "orders", Of: []string{"waiting"}, All: true, To: "1h", Site: ops.Site{Address: srv.URL(), Folder: t.TempDir()}}
		for range 2 { // the verb, and its undo
			require.NoError(t, o.Check())
			plan, err := o.Plan(ctx, ops.NewEditor(conn, "orders"))
			require.NoError(t, err)
			require.NoError(t, plan.Apply(ctx, conn))
			o.Verb, o.File, o.All = "undo", plan.Undo, false
		}
	}
	_, err := ops.Migrate(ctx, conn, "orders", ops.MigrateOptions{To: new(release(t, "3.16.6").Layout()), Yes: true})
	require.NoError(t, err)
	d := until(ctx, t, watch, rdb)
	require.Empty(t, d.Anomalies)
	q := d.Queues[0]
	require.Equal(t, []int64{3, 6, 3, 3, 0, 3}, []int64{q.Offers, q.Added, q.Transferred, q.Removed, q.Taken, q.StillPending})
}
