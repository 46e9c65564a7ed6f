package dq_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/codec"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/harness/server/servertest"
)

// A user who may use the channel of one queue and not that of another.
func TestFaultOneForbiddenChannelDisturbsNoOther(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	p := servertest.NewProxy(t, s.Addr)
	admin := connect(t, s.URL())
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all",
		"resetchannels", "&redisson_delay_queue_channel:{orders}").Err())
	var lost, transfers, subscribed atomic.Int64
	b := at(t, s, "redis://app:secret@"+p.Addr, dq.WithObserver(dq.Observer{
		Disconnected: func(error) { lost.Add(1) },
		Transfer:     func(dq.TransferEvent) { transfers.Add(1) },
		Subscribed:   func(string) { subscribed.Add(1) },
	}))
	ctx := deadline(t)
	bad := dq.NewBlockingQueue(b.client, "bad", codec.String{})
	forbidden := dq.NewDelayedQueue(bad)
	for range 20 { // also after its first transfer, which succeeds
		within(t, time.Second, "Ready", func() {
			require.ErrorContains(t, forbidden.Ready(ctx), "NOPERM")
		})
	}
	good := b.delayed(t)

	accepted, refused := p.Accepted(), lost.Load()
	transferred := transfers.Load()
	<-time.After(3 * time.Second)
	require.Equal(t, accepted, p.Accepted(), "no connection is made again")
	require.LessOrEqual(t, lost.Load()-refused, int64(3), "it is tried again with growing pauses")
	require.LessOrEqual(t, transfers.Load()-transferred, int64(3))
	require.Equal(t, int64(1), subscribed.Load())

	b.announced(t, ctx, "other's", time.Now())
	within(t, slack, "the other queue", func() {
		v, err := b.queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, "other's", v)
		require.NoError(t, good.Offer(ctx, "own", 100*time.Millisecond))
		v, err = b.queue.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, "own", v)
	})
	// The user may not publish either, so that an offer that becomes the head fails
	// after its writes. It is delivered all the same.
	err := forbidden.Offer(ctx, "own", 200*time.Millisecond)
	require.ErrorIs(t, err, dq.ErrUncertain)
	within(t, slack, "an own offer to the forbidden queue", func() {
		v, err := bad.Take(ctx)
		require.NoError(t, err)
		require.Equal(t, "own", v)
	})
}

// What others offered before is delivered, and what they offer later once the user may
// subscribe.
func TestFaultAChannelIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	b := as(t, s, "~* resetchannels +@all")
	ctx := deadline(t)
	b.announced(t, ctx, "due soon", time.Now().Add(300*time.Millisecond))
	d := dq.NewDelayedQueue(b.queue)
	require.ErrorContains(t, d.Ready(ctx), "NOPERM")
	v, err := b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "due soon", v)
	require.NoError(t, b.redis.Do(ctx, "ACL", "SETUSER", "app", "allchannels").Err())
	require.Eventually(t, func() bool { return d.Ready(ctx) == nil }, 6*time.Second, 10*time.Millisecond)
	b.announced(t, ctx, "granted", time.Now())
	v, err = b.queue.Take(ctx)
	require.NoError(t, err)
	require.Equal(t, "granted", v)
}

// The server refuses a PING: it lives.
func TestFaultAUserWhoMayNotPingKeepsItsSubscription(t *testing.T) {
	t.Parallel()
	var lost atomic.Int64
	b := as(t, servertest.Redis(t), "~* &* +@all -ping",
		dq.WithObserver(dq.Observer{Disconnected: func(error) { lost.Add(1) }}))
	b.delayed(t)
	<-time.After(4500 * time.Millisecond)
	require.Zero(t, lost.Load(), "connections that were lost")
}

// The handshake fails: every call says why, and nothing was sent.
func TestFaultADatabaseThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	b := at(t, s, "redis://"+s.Addr+"/99")
	ctx := deadline(t)
	_, err := b.queue.Take(ctx)
	require.ErrorContains(t, err, "DB index is out of range")
	err = dq.NewDelayedQueue(b.queue).Offer(ctx, "v", 0)
	require.ErrorContains(t, err, "DB index is out of range")
	require.NotErrorIs(t, err, dq.ErrUncertain)
}

func TestFaultAWrongPasswordIsSaid(t *testing.T) {
	t.Parallel()
	s := servertest.Process(t, "--requirepass", "secret")
	b := at(t, s, "redis://:wrong@"+s.Addr)
	ctx := deadline(t)
	_, err := b.queue.Take(ctx)
	require.ErrorContains(t, err, "WRONGPASS")
	err = b.queue.Offer(ctx, "v")
	require.ErrorContains(t, err, "WRONGPASS")
	require.NotErrorIs(t, err, dq.ErrUncertain)
}

// A user with the rights that dq needs and no others.
func TestFaultAUserWithFewRights(t *testing.T) {
	t.Parallel()
	names := wire.NamesOf("orders")
	for _, unblock := range []string{"+client|unblock", ""} {
		t.Run("rights "+unblock, func(t *testing.T) {
			t.Parallel()
			b := as(t, servertest.Redis(t), strings.Join([]string{
				"resetkeys", "~" + names.Destination, "~" + names.TimeoutSet, "~" + names.Pending, "~" + names.Channel, "&" + names.Channel, "-@all",
				"+hello", "+evalsha", "+script|load", "+blpop", "+lpush", "+subscribe", "+unsubscribe", "+client|id", unblock,
				"+zadd", "+rpush", "+zrange", "+publish", "+zrangebyscore", "+lrem", "+zrem",
			}, " "))
			ctx := deadline(t)
			d := b.delayed(t)
			require.NoError(t, d.Offer(ctx, "v", 50*time.Millisecond))
			v, err := b.queue.Take(ctx)
			require.NoError(t, err)
			require.Equal(t, "v", v)
			short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			_, err = b.queue.Take(short)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}
