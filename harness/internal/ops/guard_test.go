package ops_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/harness/internal/ops"
)

// log is the lines that a Guard writes.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// guard runs a Guard until end is called.
func (b *bench) guard(o ops.GuardOptions) (g *ops.Guard, lines *log, end func()) {
	b.t.Helper()
	lines = &log{}
	o.Interval = cmp.Or(o.Interval, 50*time.Millisecond)
	o.Ahead = cmp.Or(o.Ahead, 500*time.Millisecond)
	o.Stalled = cmp.Or(o.Stalled, 5*time.Second)
	o.Log = lines
	g = ops.NewGuard(b.conn, o)
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		require.NoError(b.t, <-ended)
	})
	b.t.Cleanup(end)
	return g, lines, end
}

// After a transfer that failed at a foreign member, what it has delivered is not delivered again.
func TestWhatAFailedTransferDeliveredIsNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"4.7.0", "3.21.0"} {
		b := setup(t)
		own := bc0Lc0
		if release == "3.21.0" {
			own = dLc0
		}
		b.offer(own, -10*time.Second, "a")
		b.offer(own, -9*time.Second, "b")
		b.offer(own.Other(), -8*time.Second, "c")
		require.Error(t, b.transfer(release))
		require.Equal(t, []string{"a", "b"}, b.list("orders"))
		_, lines, end := b.guard(ops.GuardOptions{Queues: []string{"orders"}})
		b.eventually(func() bool { return b.count("ZCARD", b.names.TimeoutSet) == 0 }, "all are delivered")
		end()
		require.Equal(t, []string{"a", "b", "c"}, b.list("orders"))
		require.Contains(t, lines.String(), `"did":"did not deliver again"`)
		require.Zero(t, b.count("EXISTS", b.names.Pending, ops.AheadKey("orders")))
	}
}

// Orphans of another origin are delivered, with a foreign member behind them or without.
func TestOrphansAreDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.offer(bc0Lc0, -10*time.Second, "a")
	b.offer(dLc0, -9*time.Second, "b")
	b.do("DEL", b.names.Pending) // evicted
	b.guard(ops.GuardOptions{Queues: []string{"orders"}})
	b.eventually(func() bool { return b.count("LLEN", "orders") == 2 }, "both are delivered")
}

// Where nobody transfers, messages come once they are overdue; what nobody can read is set aside, and all queues are found.
func TestNobodyTransfers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 250 {
		b.offer(bc0Lc0, -time.Minute, strconv.Itoa(i))
	}
	b.offer(bc0Lc0, time.Hour, "later")
	b.do("ZADD", b.names.TimeoutSet, 5, "no member")
	b.do("RPUSH", b.names.Pending, "no member")
	g, _, end := b.guard(ops.GuardOptions{})
	b.eventually(func() bool { return b.count("LLEN", "orders") == 250 }, "all are delivered")
	end()
	c := g.Counts()
	require.Len(t, c, 1)
	require.Equal(t, "when-stalled", c[0].Mode)
	require.EqualValues(t, []int64{250, 1, 0}, []int64{c[0].Delivered, c[0].Aside, c[0].Ahead})
	require.EqualValues(t, 1, b.count("ZCARD", b.names.TimeoutSet), "what is not due stays")
	require.EqualValues(t, 1, b.count("ZCARD", scripts.Quarantine("orders")))
}

// A Redisson that listens is woken first. Where it delivers, the guard does not.
func TestGuardWakesWhoListens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	subscription := b.listen()
	b.offer(bc0Lc0, -time.Minute, "a")
	_, lines, end := b.guard(ops.GuardOptions{Queues: []string{"orders"}})
	_, err := subscription.ReceiveMessage(b.ctx)
	require.NoError(t, err)
	require.NoError(t, b.transfer("4.7.0"))
	b.eventually(func() bool { return len(b.list("orders")) == 1 }, "it is delivered")
	end()
	require.Contains(t, lines.String(), `"did":"woke a listener"`)
	require.NotContains(t, lines.String(), `"did":"delivered"`)
}

// Who listens and does not deliver within a second is not waited for.
func TestGuardDeliversWhereWhoListensDoesNot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.listen()
	b.offer(bc0Lc0, -time.Minute, "a")
	b.guard(ops.GuardOptions{Queues: []string{"orders"}})
	b.eventually(func() bool { return len(b.list("orders")) == 1 }, "it is delivered")
}

// A guard whose server is away at the end says so.
func TestGuardWithoutAServerAtTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	lines, ended := &log{}, make(chan error, 1)
	g := ops.NewGuard(b.conn, ops.GuardOptions{Queues: []string{"orders"}, Interval: 10 * time.Millisecond, Log: lines})
	go func() { ended <- g.Run(ctx) }()
	b.eventually(func() bool { return len(g.Counts()) == 1 }, "it has looked")
	_ = b.srv.Close()
	b.eventually(func() bool { return strings.Contains(lines.String(), `"error":"TIME: `) }, "it says so")
	cancel()
	require.Error(t, <-ended)
}

// "orders" and "{orders}" have the same keys. Only the lists distinguish the queues.
func TestQueuesWithTheSameKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	look := func(names ...string) (all []string) {
		for _, q := range b.look(ops.LookOptions{Queues: names, Wait: time.Millisecond}).Queues {
			shares := slices.ContainsFunc(q.Findings, func(f ops.Finding) bool { return f.Kind == "shared-keys" })
			all = append(all, fmt.Sprintf("%s %v", q.Name, shares))
		}
		return all
	}
	b.offer(bc0Lc0, time.Hour, "a")
	b.offer(dLc0, time.Hour, "b")
	require.Equal(t, []string{"orders false"}, look())
	g, lines, end := b.guard(ops.GuardOptions{})
	b.eventually(func() bool { return strings.Contains(lines.String(), `"takes members out ahead"`) }, "it leads")
	b.do("RPUSH", "{orders}", "before")
	require.Equal(t, []string{"{orders} false"}, look())
	require.Equal(t, []string{"orders true"}, look("orders"))
	b.eventually(func() bool { return g.Counts()[0].Queue == "{orders}" }, "the list has the name")
	b.do("DEL", "{orders}") // consumers keep it empty
	b.offer(bc0Lc0, time.Second, "c")
	b.eventually(func() bool { return len(b.list("{orders}")) == 1 }, "the guard remembers the list")
	b.do("RPUSH", "orders", "of the other")
	require.Equal(t, []string{"orders true", "{orders} true"}, look())
	b.eventually(func() bool { return g.Counts()[0].Error != "" }, "two lists are there")
	end()
	require.Len(t, g.Counts(), 1)
	require.Len(t, b.list("orders"), 1)
	require.NotContains(t, lines.String(), `"error":"queue \"{orders}\" has the same keys`)
}
