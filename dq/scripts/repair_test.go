package scripts_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
)

// A member of the other layout in the middle: the real script of Redisson fails
// there and leaves what it pushed in T.
func TestRepairAfterAFailedTransfer(t *testing.T) {
	b := setup(t)
	for _, own := range layouts {
		for _, stop := range []string{"other", "none", "Windows"} {
			t.Run(fmt.Sprint(own, ", ", stop), func(t *testing.T) {
				b := *b
				b.t = t
				b.do("FLUSHALL")
				b.put(b.pack(own, "1"), now-9)
				b.put(b.pack(own, "2"), now-8)
				want := []string{"1", "2", "3", "4", "5"}
				expect := scripts.Transferred{Next: fmt.Sprint(now + 9), Delivered: 3, Already: 2}
				switch stop {
				case "other":
					b.put(b.pack(own.Other(), "3"), now-7)
					expect.OtherLayout = 1
				case "Windows":
					b.put(b.windows(own, "3"), now-7)
					expect.OtherLayout = 1
				default:
					b.put("none", now-7)
					want = []string{"1", "2", "4", "5"}
					expect.Delivered, expect.Quarantined = 2, 1
				}
				b.put(b.pack(own, "4"), now-6)
				b.put(b.pack(own, "5"), now)
				b.put(b.pack(own, "6"), now+9)

				require.ErrorContains(t, b.redissonTransfer(own, now), "'unpack'")
				require.Equal(t, []string{"1", "2"}, b.delivered())
				require.Len(t, b.timed(), 6)

				require.Equal(t, expect, b.transfer(now, 100, own, now))
				require.Equal(t, want, b.delivered())
				require.Len(t, b.timed(), 1)
				require.Equal(t, b.timed(), b.pending())
			})
		}
	}
}

// What was offered between the failure and the repair is not taken for pushed.
func TestRepairDeliversWhatCameMeanwhile(t *testing.T) {
	b := setup(t)
	b.put(b.pack(d, "1"), now-9)
	b.put(b.pack(bc, "3"), now-5)
	require.Error(t, b.redissonTransfer(d, now))

	b.put(b.pack(d, "0"), now-10)
	b.put(b.pack(d, "2"), now-7)
	b.put(b.pack(d, "4"), now-3)
	require.Equal(t, scripts.Transferred{Delivered: 4, OtherLayout: 1, Already: 1}, b.transfer(now, 100, d, now))
	require.Equal(t, []string{"1", "0", "2", "3", "4"}, b.delivered())
	require.Empty(t, b.timed())
	require.Empty(t, b.pending())
}

// The member that stopped Redisson may be gone: removed, or moved by another client.
func TestRepairWithoutTheMemberThatStoppedIt(t *testing.T) {
	b := setup(t)
	b.put(b.pack(bc, "1"), now-9)
	foreign := b.pack(d, "2")
	b.put(foreign, now-8)
	b.put(b.pack(bc, "3"), now-7)
	require.Error(t, b.redissonTransfer(bc, now))
	b.do("ZREM", b.names.TimeoutSet, foreign)
	b.do("LREM", b.names.Pending, 1, foreign)

	require.Equal(t, scripts.Transferred{Delivered: 1, Already: 1}, b.transfer(now, 100, bc, now))
	require.Equal(t, []string{"1", "3"}, b.delivered())
	require.Empty(t, b.timed())
	require.Empty(t, b.pending())
}

// Nothing was pushed, or nothing is left to mend: a repair is a transfer then.
func TestRepairOfNothing(t *testing.T) {
	b := setup(t)
	require.Equal(t, scripts.Transferred{}, b.transfer(now, 100, bc, now))
	b.put(b.pack(d, "1"), now-9)
	b.put(b.pack(bc, "2"), now-8)
	require.Error(t, b.redissonTransfer(bc, now))
	require.Equal(t, scripts.Transferred{Delivered: 2, OtherLayout: 1}, b.transfer(now, 100, bc, now))
	require.Equal(t, scripts.Transferred{}, b.transfer(now, 100, bc, now))
	require.Equal(t, []string{"1", "2"}, b.delivered())
}

// The clock may go back between the failure and the repair. What was due once, by
// the clock of this very client, is due.
func TestRepairWithAnEarlierClock(t *testing.T) {
	b := setup(t)
	b.put(b.pack(d, "1"), now-9)
	b.put(b.pack(d, "2"), now-4)
	b.put(b.pack(bc, "3"), now-3)
	b.put(b.pack(d, "4"), now+1)
	require.Error(t, b.redissonTransfer(d, now))
	want := scripts.Transferred{Next: fmt.Sprint(now + 1), Delivered: 1, OtherLayout: 1, Already: 2}
	require.Equal(t, want, b.transfer(now-6, 100, d, now))
	require.Equal(t, []string{"1", "2", "3"}, b.delivered())
}

// The limit counts behind what a repair has looked at.
func TestRepairIsNotCutByTheLimit(t *testing.T) {
	b := setup(t)
	for i := range 95 {
		b.put(b.pack(d, fmt.Sprint(i)), i)
	}
	b.put(b.pack(bc, "95"), 95)
	for i := range 110 {
		b.put(b.pack(d, fmt.Sprint(96+i)), 96+i)
	}
	require.Error(t, b.redissonTransfer(d, now))
	require.Equal(t, scripts.Transferred{Next: "198", Delivered: 103, OtherLayout: 1, Already: 95},
		b.transfer(now, 2, d, now))
	require.Len(t, b.delivered(), 198)
}

// A member of the other layout that is offered after the failure, but due before
// what was pushed, is not the one that stopped Redisson.
func TestRepairLooksBehindALaterOffer(t *testing.T) {
	b := setup(t)
	b.put(b.pack(d, "2"), now-9)
	b.put(b.pack(d, "3"), now-8)
	b.put(b.pack(bc, "5"), now-5)
	require.Error(t, b.redissonTransfer(d, now))
	b.put(b.pack(bc, "1"), now-10)
	b.put("none", now-10)
	b.put(b.pack(bc, "4"), now-7)
	require.Equal(t, scripts.Transferred{Delivered: 3, OtherLayout: 3, Quarantined: 1, Already: 2},
		b.transfer(now, 100, d, now))
	require.Equal(t, []string{"2", "3", "1", "4", "5"}, b.delivered())
	require.Empty(t, b.timed())
	require.Empty(t, b.pending())
}

// Where Q is gone, only what the failed transfer must have seen counts as pushed.
func TestRepairWithoutPendingList(t *testing.T) {
	b := setup(t)
	b.put(b.pack(d, "1"), now-9)
	b.put(b.pack(bc, "2"), now-8)
	b.put(b.pack(d, "3"), now-7)
	require.Error(t, b.redissonTransfer(d, now))
	b.do("DEL", b.names.Pending)
	b.put(b.pack(d, "4"), now-6)
	require.Equal(t, scripts.Transferred{Delivered: 3, OtherLayout: 1, Already: 1}, b.transfer(now, 100, d, now))
	require.Equal(t, []string{"1", "2", "3", "4"}, b.delivered())
	require.Empty(t, b.pending())
}

// What retainAll of Java has removed from Q alone cannot be told from what was
// pushed, and need not be: it was to be removed.
func TestRepairAfterRetainAll(t *testing.T) {
	b := setup(t)
	b.put(b.pack(d, "1"), now-9)
	b.put(b.pack(d, "3"), now-7)
	_, err := b.redisson(d, wire.ScriptRetainAll, []string{b.names.Pending}, "1")
	require.NoError(t, err)
	b.put(b.pack(bc, "2"), now-8)
	require.Error(t, b.redissonTransfer(d, now))
	require.Equal(t, scripts.Transferred{Delivered: 1, OtherLayout: 1, Already: 2}, b.transfer(now, 100, d, now))
	require.Equal(t, []string{"1", "2"}, b.delivered())
}

// Without the member that stopped Redisson in sight, a repair ends at its bound.
func TestRepairIsBounded(t *testing.T) {
	b := setup(t)
	pipe := b.redis.Pipeline()
	for i := range scripts.MaxRepair + 50 {
		m := b.pack(bc, fmt.Sprint(i))
		pipe.ZAdd(b.ctx, b.names.TimeoutSet, redis.Z{Score: float64(i), Member: m})
		pipe.RPush(b.ctx, b.names.Pending, m)
	}
	_, err := pipe.Exec(b.ctx)
	require.NoError(t, err)
	require.Equal(t, scripts.Transferred{Next: fmt.Sprint(scripts.MaxRepair + 1), Delivered: scripts.MaxRepair + 1},
		b.transfer(now, 1, bc, now))
}

// A value that is pushed twice in Q, by an offer sent again, looks undelivered.
func TestRepairGivesAResentOfferTwice(t *testing.T) {
	b := setup(t)
	again := b.pack(d, "again")
	b.put(again, now-1)
	b.put(again, now-1)
	b.put(b.pack(bc, "x"), now)
	require.Error(t, b.redissonTransfer(d, now))
	b.transfer(now, 100, d, now)
	require.Equal(t, []string{"again", "again", "x"}, b.delivered())
	require.Empty(t, b.pending())
}

// Redisson reads more than it packs: a member with bytes behind the value, or a
// dLc0 one whose first byte is 7. It does not fail there, and so a repair goes on.
func TestRepairGoesAsFarAsRedisson(t *testing.T) {
	b := setup(t)
	longer := b.pack(bc, "1") + "!"
	b.put(longer, now-9)
	b.put(string(d.Pack([8]byte{7, 1, 2, 3, 4, 5, 6, 9}, []byte("2"))), now-8)
	b.put(b.pack(d, "3"), now-7)
	require.Error(t, b.redissonTransfer(bc, now))
	require.Equal(t, []string{"1", "2"}, b.delivered())
	require.Equal(t, scripts.Transferred{Delivered: 1, OtherLayout: 1, Already: 2}, b.transfer(now, 100, bc, now))
	require.Equal(t, []string{"1", "2", "3"}, b.delivered())
	require.Empty(t, b.set(b.quarantine))
}
