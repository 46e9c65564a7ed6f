package dq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// moving is a Cluster, and where a queue's slot may go.
type moving struct {
	*follower
	set      *redistest.ClusterSet
	from, to *redis.Node
	slot     int
	names    wire.Names
}

func setupMoving(t *testing.T, queue string) *moving {
	t.Helper()
	c := redistest.Cluster(t, 3, 0)
	m := &moving{follower: follow(t, clusterClient(t, c), queue), set: c, slot: wire.Slot(queue), names: wire.NamesOf(queue)}
	m.from = ownerOf(t, c, queue)
	m.to = c.Nodes()[slices.IndexFunc(c.Nodes(), func(n *redis.Node) bool { return n != m.from })]
	return m
}

// errorStats returns how often a server answered with an error of a code.
func errorStats(t *testing.T, n *redis.Node, code string) int {
	t.Helper()
	rdb := redistest.Client(n)
	defer rdb.Close()
	var count int
	for line := range strings.Lines(rdb.Info(deadline(t), "errorstats").Val()) {
		if rest, ok := strings.CutPrefix(line, "errorstat_"+code+":count="); ok {
			_, err := fmt.Sscan(strings.TrimSpace(rest), &count)
			require.NoError(t, err)
		}
	}
	return count
}

// blocked waits until so many Takes block on a server.
func blocked(t *testing.T, n *redis.Node, want int) {
	t.Helper()
	rdb := redistest.Client(n)
	defer rdb.Close()
	require.Eventually(t, func() bool {
		count := 0
		for line := range strings.Lines(rdb.ClientList(deadline(t)).Val()) {
			if strings.Contains(line, " flags=b ") && strings.Contains(line, " cmd=blpop ") {
				count++
			}
		}
		return count == want
	}, testDeadline, 5*time.Millisecond)
}

func TestFaultSlotMovedUnderABlockedTake(t *testing.T) {
	t.Parallel()
	m := setupMoving(t, "orders")
	k := m.consume(t, 3)
	blocked(t, m.from, 3)
	before := errorStats(t, m.from, "MOVED") + errorStats(t, m.to, "MOVED")
	require.NoError(t, m.set.MoveSlot(deadline(t), m.slot, m.from, m.to))
	began := time.Now()
	blocked(t, m.to, 3)
	require.Less(t, time.Since(began), time.Second+slack)
	_, taken := m.works(t, k, "after")
	require.Less(t, taken, time.Second+slack)
	// One each for the three that block, and what the transfers and offers met.
	require.LessOrEqual(t, errorStats(t, m.from, "MOVED")+errorStats(t, m.to, "MOVED")-before, 3+3)
}

// While a slot is half moved, Redis runs a command of one key where that is, and none
// of several keys. So a Take works, and an offer and a Worker's result wait for the end of the move.
func TestFaultHalfMovedSlot(t *testing.T) {
	t.Parallel()
	m := setupMoving(t, "orders")
	ctx := deadline(t)
	require.NoError(t, m.delayed.Offer(ctx, "waiting", time.Hour))
	require.NoError(t, m.queue.Offer(ctx, "at the old owner"))
	begun, ending := make(chan bool), make(chan bool)
	w := dq.NewWorker(m.client, dq.WorkerOptions{Lease: 6 * time.Second})
	handled := dq.NewTaker(m.client, "{orders} handled", codec.String{})
	dq.Handle(w, handled.Queue, func(context.Context, *dq.Message[string]) error { close(begun); <-ending; return nil })
	go func() { _ = w.Run(ctx) }()
	require.NoError(t, handled.Offer(ctx, "v"))
	<-begun
	require.NoError(t, m.set.BeginMove(ctx, m.slot, m.from, m.to))
	takes(t, ctx, m.queue, "at the old owner")
	// The list is gone from the old owner, and a new one can only be at the new one: a Take blocks there by ASK.
	k := m.consume(t, 1)
	blocked(t, m.to, 1)
	require.NoError(t, m.queue.Offer(ctx, "by ASK"))
	require.True(t, k.oneOf([]string{"by ASK"}, testDeadline))
	for _, keys := range [][]string{nil, {m.names.Pending}} { // where it was, and by ASK
		if keys != nil {
			require.NoError(t, m.set.MigrateKeys(ctx, m.slot, m.from, m.to, keys...))
		}
		values, err := m.delayed.ReadAll(ctx)
		require.NoError(t, err)
		require.Equal(t, []string{"waiting"}, values)
	}

	failures := make(chan error, 3)
	go func() { close(ending); failures <- w.Shutdown(ctx) }()
	go func() { failures <- m.delayed.Offer(ctx, "one", time.Hour) }()
	go func() { _, err := m.delayed.OfferAll(ctx, time.Hour, numbered(2000)...); failures <- err }()
	require.Eventually(t, func() bool { return errorStats(t, m.to, "TRYAGAIN")+errorStats(t, m.from, "TRYAGAIN") >= 60 },
		testDeadline, 5*time.Millisecond)
	require.NoError(t, m.set.MigrateKeys(ctx, m.slot, m.from, m.to))
	require.NoError(t, m.set.FinishMove(ctx, m.slot, m.from, m.to))
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
	n, err := handled.Counts(ctx)
	require.NoError(t, err)
	require.Zero(t, n, "the result was sent")
	values, err := m.delayed.ReadAll(ctx)
	require.NoError(t, err)
	slices.Sort(values)
	require.Len(t, values, 2002)
	require.Len(t, slices.Compact(values), 2002, "none is there twice")
	_, taken := m.works(t, k, "after")
	require.Less(t, taken, time.Second+slack)
	k.requireOnce(t)
}

// A slot that stays half moved must not hold an offer for ever.
func TestFaultOfferToASlotThatStaysHalfMoved(t *testing.T) {
	t.Parallel()
	m := setupMoving(t, "orders")
	require.NoError(t, m.set.BeginMove(deadline(t), m.slot, m.from, m.to))
	hasty := dq.NewSender(dq.NewTaker(clientOf(t, m.rdb, dq.WithOfferRetryTimeout(time.Second)), "orders", codec.String{}))
	err := hasty.Offer(t.Context(), "v", time.Hour)
	require.ErrorContains(t, err, "TRYAGAIN")
	require.NotErrorIs(t, err, dq.ErrUncertain)
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, hasty.Offer(brief, "v", time.Hour), context.DeadlineExceeded)
	onAll(t, []*redis.Node{m.from, m.to}, "CLUSTER", "SETSLOT", m.slot, "STABLE")
	require.NoError(t, m.delayed.Offer(t.Context(), "v", time.Hour))
	require.EqualValues(t, 1, m.rdb.LLen(t.Context(), m.names.Pending).Val(), "the others were not queued")
}

// An offer that Close cuts off may have been queued.
func TestFaultAnOfferCutByCloseIsUncertain(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	b := setupOn(t, s, "orders")
	client := clientOf(t, b.redis)
	d := dq.NewSender(dq.NewTaker(client, "orders", codec.String{}))
	require.NoError(t, d.Ready(deadline(t)))
	require.NoError(t, d.Offer(deadline(t), "before", time.Hour))
	require.NoError(t, s.Nodes()[0].Pause())
	offered := async(func() error { return d.Offer(context.Background(), "cut", time.Hour) })
	// The kernel takes what is written to a server that stands still.
	select {
	case err := <-offered:
		t.Fatal(err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, client.Close())
	require.ErrorIs(t, <-offered, dq.ErrUncertain)
	require.NoError(t, s.Nodes()[0].Resume())
	require.Eventually(t, func() bool { return b.redis.LLen(t.Context(), b.names.Pending).Val() == 2 }, testDeadline, time.Millisecond)
}

// A user who was given the keys of Redisson alone is served by Redisson's script, and told so. It stops at a member of the other layout.
func TestFaultAUserWithTheKeysOfRedissonIsServed(t *testing.T) {
	t.Parallel()
	restricted, failed, n := make(chan dq.Restricted, 10), make(chan error, 10), wire.NamesOf("orders")
	b := as(t, redistest.Redis(t), strings.Join([]string{"+@all &*", n.Destination, n.TimeoutSet, n.Pending, n.Channel}, " ~"),
		on(func(e dq.Restricted) { restricted <- e }), on(func(e dq.Transferred) {
			if e.Err != nil {
				failed <- e.Err
			}
		}))
	ctx := deadline(t)
	b.seed(t, wire.LayoutBc0Lc0, 1, "own")
	d := b.delayed(t)
	require.NoError(t, d.Offer(ctx, "after", 0))
	takes(t, ctx, b.queue, "own", "after")
	e := <-restricted
	require.Equal(t, "orders", e.Queue)
	require.ErrorContains(t, e.Err, "NOPERM")
	b.seed(t, wire.LayoutDLc0, 1, "foreign")
	require.NoError(t, d.Offer(ctx, "stopped", 0))
	require.ErrorIs(t, <-failed, dq.ErrForeignMember)
	require.Empty(t, restricted, "said once")
	require.True(t, dq.Forbidden(errors.New("ERR ACL failure in script: User u has no permissions to run the 'llen' command")), "as Redis 8.2 says")
}

// A connection that was accepted and is never answered holds up nobody for longer than the next attempt takes.
func TestFaultAConnectionThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Redis(t).Addr)
	p.Set(redis.Fault{Stall: true})
	client := clientOf(t, connect(t, "redis://"+p.Addr))
	q := dq.NewTaker(client, "orders", codec.String{})
	ctx := deadline(t)
	offered := async(func() error { return q.Offer(ctx, "v") })
	require.NoError(t, p.Until(ctx, func() bool { return p.Accepted.Load() >= 2 }), "another attempt")
	require.NoError(t, p.Heal())
	within(t, time.Second+slack, "the offer", func() { require.NoError(t, <-offered) })
	takes(t, ctx, q, "v")
}
