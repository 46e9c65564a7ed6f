package dq_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq"
	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// The two releases pack members in different layouts, and send scripts by their text
// and by their SHA-1.
const (
	oldRelease = "3.16.6"
	newRelease = "4.7.0"
)

func layoutOf(t *testing.T, release string) wire.Layout {
	t.Helper()
	r, err := wire.LookupRelease(release)
	require.NoError(t, err)
	return r.Layout()
}

// forBothReleases runs a test with a client of either layout.
func forBothReleases(t *testing.T, f func(t *testing.T, release string)) {
	t.Helper()
	for _, release := range []string{oldRelease, newRelease} {
		t.Run(release, func(t *testing.T) { t.Parallel(); f(t, release) })
	}
}

// seed puts a value into the queue as a client of the layout would, without telling
// anybody. Ids of dLc0 members are doubles whose lowest byte is not 7, so that no
// release since 3.21.1 reads them by luck.
func (b *bundle) seed(t *testing.T, l wire.Layout, due int64, value string) {
	t.Helper()
	b.seedMember(t, due, l.Pack(wire.DoubleID(due<<20), []byte(value)))
}

func (b *bundle) seedMember(t *testing.T, due int64, member []byte) {
	t.Helper()
	_, err := b.redis.TxPipelined(t.Context(), func(p redis.Pipeliner) error {
		p.ZAdd(t.Context(), b.names.TimeoutSet, redis.Z{Score: float64(due), Member: member})
		p.RPush(t.Context(), b.names.Pending, member)
		return nil
	})
	require.NoError(t, err)
}

func (b *bundle) requireNothingLeft(t *testing.T) {
	t.Helper()
	n, err := b.redis.Exists(t.Context(), b.names.Destination, b.names.Pending, b.names.TimeoutSet).Result()
	require.NoError(t, err)
	require.Zero(t, n, "keys that are left of %q", b.names.Destination)
}

// requireNeverSent checks that the server has never seen the transfer of Redisson: it
// remembers each script that ran.
func (b *bundle) requireNeverSent(t *testing.T, release string) {
	t.Helper()
	r, err := wire.LookupRelease(release)
	require.NoError(t, err)
	theirs, ok := r.Script(wire.ScriptTransfer)
	require.True(t, ok)
	seen, err := b.redis.ScriptExists(t.Context(), theirs.SHA1, scripts.Transfer().SHA1).Result()
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, seen, "the transfers of Redisson and of our own")
}

// What waits before the client opens.
func TestFaultLayoutBacklog(t *testing.T) {
	t.Parallel()
	forBothReleases(t, func(t *testing.T, release string) {
		var ofOther atomic.Int64
		aside := make(chan dq.Quarantined, 10)
		b := setup(t, dq.WithRelease(release), on(func(e dq.Quarantined) { aside <- e }),
			on(func(e dq.Transferred) { ofOther.Add(int64(e.OtherLayout)) }))
		own := layoutOf(t, release)
		b.seedMember(t, 2, []byte("damaged")) // which nobody can read: it is neither lost nor in the way
		b.seedMember(t, 4, []byte("also damaged, but longer than any header"))
		const n = 250 // three transfers
		var want []string
		for i := range n {
			l, value := own, fmt.Sprintf("value %d", i)
			if i%2 == 1 {
				l = own.Other()
			}
			b.seed(t, l, int64(1+i), value)
			want = append(want, value)
		}
		d := b.delayed(t)
		require.Equal(t, want, takeAll(t, deadline(t), b.queue, n))
		key := scripts.Quarantine("orders")
		require.Equal(t, dq.Quarantined{Queue: "orders", Key: key, Members: 2}, <-aside)
		require.Equal(t, []redis.Z{
			{Score: 2, Member: "damaged"}, {Score: 4, Member: "also damaged, but longer than any header"},
		}, b.redis.ZRangeWithScores(t.Context(), key, 0, -1).Val())
		require.NoError(t, d.Close())
		require.NoError(t, b.client.Close())
		b.requireNothingLeft(t)
		b.requireNeverSent(t, release)
		require.EqualValues(t, n/2, ofOther.Load())
	})
}

// What is told to do as Redisson stops as Redisson does.
func TestFaultLayoutStopsAsRedisson(t *testing.T) {
	t.Parallel()
	forBothReleases(t, func(t *testing.T, release string) {
		events := make(chan dq.Transferred, 100)
		clock := newShiftedClock()
		b := setup(t, dq.WithRelease(release), dq.WithRedissonCommands(), dq.WithClock(clock),
			on(func(e dq.Transferred) { events <- e }))
		own := layoutOf(t, release)
		b.seed(t, own, 1, "own 1")
		b.seed(t, own.Other(), 2, "foreign")
		b.seed(t, own, 3, "own 2")
		d := dq.NewSender(b.queue)
		const tries = 3
		for range tries {
			require.ErrorIs(t, (<-events).Err, dq.ErrForeignMember)
			require.Equal(t, []string{"own 1"}, takeAll(t, deadline(t), b.queue, 1))
			clock.shift(5 * time.Second)
		}
		err := d.Ready(ended())
		require.ErrorIs(t, err, dq.ErrForeignMember)
		require.ErrorContains(t, err, "dq-bench migrate --to "+own.String()+" -- "+b.names.Destination)
		n, err := b.redis.ZCard(t.Context(), b.names.TimeoutSet).Result()
		require.NoError(t, err)
		require.EqualValues(t, 3, n, "the timeout set is as it was")
	})
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
