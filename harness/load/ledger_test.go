package load

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Offers and deliveries in any order, from many goroutines, balance exactly.
func TestLedgerBalancesUnderConcurrency(t *testing.T) {
	const producers, messages = 7, 10_000
	l := newLedger(producers, messages)
	order := rand.New(rand.NewPCG(1, 2)).Perm(messages)
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for n := w; n < messages; n += 4 {
				l.confirm(n%producers, int64(n/producers), true)
			}
		})
		workers.Go(func() {
			for n := w; n < messages; n += 4 {
				m := order[n]
				if m%100 != 0 {
					l.deliver(m%producers, int64(m/producers), true)
				}
			}
		})
	}
	workers.Wait()
	require.EqualValues(t, 100, l.outstanding.Load())
	missing := 0
	l.missing(func(i int64) bool {
		require.Zero(t, i%100)
		missing++
		return true
	})
	require.Equal(t, 100, missing)
	l.hold(0, 0, false)
	l.hold(0, 0, false)
	l.hold(1, 0, false) // was delivered
	l.hold(producers, 0, false)
	l.hold(0, messages, false)
	require.Equal(t, balance{offered: messages, delivered: messages - 100, pending: 1, lost: 99}, l.close())
}

func TestLedgerSharesAndUnknownMessages(t *testing.T) {
	l := newLedger(3, 10)
	require.EqualValues(t, []int64{4, 3, 3}, []int64{l.share(0), l.share(1), l.share(2)})
	require.EqualValues(t, 9, l.index(0, 3))
	_, known := l.deliver(0, 4, true)
	require.False(t, known)
	_, known = l.deliver(3, 0, true)
	require.False(t, known)
	first, known := l.deliver(0, 3, true)
	require.True(t, first && known)
	first, _ = l.deliver(0, 3, true)
	require.False(t, first)
	require.EqualValues(t, 1, l.duplicate.Load())
	// A message that came before its offer was confirmed leaves nothing outstanding.
	l.confirm(0, 3, true)
	require.Zero(t, l.outstanding.Load())
}

// An offer that failed, but whose message is still held, was taken over.
func TestLedgerHeldMessageOfAFailedOffer(t *testing.T) {
	l := newLedger(1, 2)
	l.confirm(0, 0, true)
	l.hold(0, 1, false)
	require.Equal(t, balance{offered: 2, pending: 1, lost: 1}, l.close())
}
