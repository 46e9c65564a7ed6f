package load

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dq-bench/dq-bench/harness/internal/run"
)

func all(int, int64) bool { return true }

func (l *ledger) known() *run.Sets {
	return &run.Sets{Confirmed: l.bitmap(confirmedBit), Delivered: l.bitmap(deliveredBit), Removed: l.bitmap(removedBit)}
}

// Offers and deliveries in any order, from many goroutines, balance exactly.
func TestLedgerBalancesUnderConcurrency(t *testing.T) {
	const producers, messages = 7, 10_000
	l := newLedger(producers, messages, all)
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
	sets := l.known()
	sets.Held = []byte{1} // message 0
	require.Equal(t, run.Counts{Offered: messages, Delivered: messages - 100, Pending: 1, Lost: 99}, sets.Counts())
}

func TestLedgerSharesAndUnknownMessages(t *testing.T) {
	l := newLedger(3, 10, all)
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

// Whoever takes a message, the sum over the parts is what is missing.
func TestLedgersOfTwoParts(t *testing.T) {
	even := newLedger(2, 4, func(p int, _ int64) bool { return p == 0 })
	odd := newLedger(2, 4, func(p int, _ int64) bool { return p == 1 })
	even.confirm(0, 0, true)
	even.confirm(0, 1, true)
	odd.confirm(1, 0, true)
	odd.deliver(0, 0, true)
	odd.deliver(1, 0, true)
	require.EqualValues(t, 1, even.outstanding.Load()+odd.outstanding.Load())
	even.deliver(1, 0, true) // once more
	require.Zero(t, even.outstanding.Load()+odd.outstanding.Load(), "what two parts have taken counts twice, so that a drain looks at what is held too")
	sets := even.known()
	require.Zero(t, sets.Add(*odd.known()))
	require.Equal(t, run.Counts{Offered: 3, Delivered: 2, Duplicate: 1, Lost: 1}, sets.Counts())
	require.EqualValues(t, 2, sets.Add(*even.known()), "a message that two have offered")
}

// An offer that failed, but whose message is still held, was accepted.
func TestHeldMessageOfAFailedOffer(t *testing.T) {
	l := newLedger(1, 2, all)
	l.confirm(0, 0, true)
	sets := l.known()
	sets.Held, sets.NotDue = []byte{2}, []byte{2}
	require.Equal(t, run.Counts{Offered: 2, Pending: 1, NotDue: 1, Lost: 1}, sets.Counts())
}
