package dq_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis/proxy"
	"github.com/dq-bench/dq-bench/internal/redistest"
)

// An offer that Close cuts off may have been queued.
func TestFaultAnOfferCutByCloseIsUncertain(t *testing.T) {
	t.Parallel()
	s := redistest.Process(t)
	b := setupOn(t, s, "orders")
	client, err := dq.NewClient(b.redis)
	require.NoError(t, err)
	d := dq.NewSender(dq.NewTaker(client, "orders", codec.String{}))
	require.NoError(t, d.Ready(deadline(t)))
	require.NoError(t, d.Offer(deadline(t), "before", time.Hour))
	require.NoError(t, s.Nodes()[0].Pause())
	offered := make(chan error, 1)
	go func() { offered <- d.Offer(context.Background(), "cut", time.Hour) }()
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

// A user who was given the keys of Redisson alone is served by Redisson's script, and told so. It stops at a member
// of the other layout.
func TestFaultAUserWithTheKeysOfRedissonIsServed(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	admin := connect(t, s.URL())
	names := wire.NamesOf("orders")
	ctx := deadline(t)
	require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "plain", "on", ">secret", "+@all", "&*",
		"~"+names.Destination, "~"+names.TimeoutSet, "~"+names.Pending, "~"+names.Channel).Err())
	own := wire.LayoutBc0Lc0.Pack([8]byte{1}, []byte("own"))
	require.NoError(t, admin.ZAdd(ctx, names.TimeoutSet, redis.Z{Score: 1, Member: own}).Err())
	require.NoError(t, admin.RPush(ctx, names.Pending, own).Err())
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "plain", Password: "secret"})
	defer rdb.Close()
	restricted, failed := make(chan dq.Restricted, 10), make(chan error, 10)
	client, err := dq.NewClient(rdb, on(func(e dq.Restricted) { restricted <- e }), on(func(e dq.Transferred) {
		if e.Err != nil {
			failed <- e.Err
		}
	}))
	require.NoError(t, err)
	defer client.Close()
	queue := dq.NewTaker(client, "orders", codec.String{})
	d := dq.NewSender(queue)
	require.NoError(t, d.Ready(ctx))
	require.NoError(t, d.Offer(ctx, "after", 0))
	for _, want := range []string{"own", "after"} {
		v, err := queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, want, v)
	}
	e := <-restricted
	require.Equal(t, "orders", e.Queue)
	require.ErrorContains(t, e.Err, "NOPERM")
	foreign := string(wire.LayoutDLc0.Pack(wire.DoubleID(-5), []byte("foreign")))
	require.NoError(t, admin.ZAdd(ctx, names.TimeoutSet, redis.Z{Score: 1, Member: foreign}).Err())
	require.NoError(t, d.Offer(ctx, "stopped", 0))
	require.ErrorIs(t, <-failed, dq.ErrForeignMember)
	require.Empty(t, restricted, "said once")
}

// A connection that was accepted and is never answered holds up nobody for longer than
// the next attempt takes.
func TestFaultAConnectionThatIsNeverAnswered(t *testing.T) {
	t.Parallel()
	s := redistest.Redis(t)
	p := redistest.NewProxy(t, s.Addr)
	p.Set(proxy.Fault{Drop: proxy.Both}, nil)
	client, err := dq.NewClient(connect(t, "redis://"+p.Addr))
	require.NoError(t, err)
	t.Cleanup(func() { closeWithin(t, client, 3*time.Second+slack) })
	q := dq.NewTaker(client, "orders", codec.String{})
	ctx := deadline(t)
	offered := make(chan error, 1)
	go func() { offered <- q.Offer(ctx, "v") }()
	require.NoError(t, p.Until(ctx, func() bool { return p.Accepted() >= 2 }), "another attempt")
	p.Heal()
	within(t, time.Second+slack, "the offer", func() { require.NoError(t, <-offered) })
	v, err := q.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "v", v)
}
