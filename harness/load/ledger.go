package load

import "sync/atomic"

// Two bits a message: the offer was confirmed, the message was delivered. Both
// sit in one word, so that of two goroutines that set one each, exactly one sees
// the other's.
const (
	confirmedBit    = 1
	deliveredBit    = 2
	messagesPerWord = 32
)

// ledger accounts for every message of one phase, in two bits each. All methods
// may be called at once from many goroutines.
type ledger struct {
	producers int64
	messages  int64
	words     [][]atomic.Uint64 // by producer, then seq
	held      [][]uint64        // the same shape, nil where nothing is held

	attempted atomic.Int64
	confirmed atomic.Int64
	failed    atomic.Int64
	delivered atomic.Int64
	duplicate atomic.Int64
	early     atomic.Int64
	// outstanding is confirmed and not delivered. It may be off by the
	// operations that are under way, never by more.
	outstanding atomic.Int64
	// zero gets a value whenever outstanding comes to 0.
	zero chan struct{}
}

func newLedger(producers int, messages int64) *ledger {
	l := &ledger{producers: int64(producers), messages: messages, zero: make(chan struct{}, 1)}
	l.words = make([][]atomic.Uint64, producers)
	for p := range l.words {
		l.words[p] = make([]atomic.Uint64, (l.share(p)+messagesPerWord-1)/messagesPerWord)
	}
	return l
}

// share is how many messages producer p has: message i belongs to producer
// i mod producers.
func (l *ledger) share(p int) int64 {
	return (l.messages - int64(p) + l.producers - 1) / l.producers
}

// index returns the number of a producer's message in the whole schedule.
func (l *ledger) index(p int, seq int64) int64 { return seq*l.producers + int64(p) }

// set sets a bit and returns what the message had before.
func (l *ledger) set(p int, seq int64, bit uint64) uint64 {
	shift := seq % messagesPerWord * 2
	return l.words[p][seq/messagesPerWord].Or(bit<<shift) >> shift & 3
}

// confirm notes that the implementation has taken the message over.
func (l *ledger) confirm(p int, seq int64) {
	l.confirmed.Add(1)
	if l.set(p, seq, confirmedBit)&deliveredBit == 0 {
		l.change(1)
	} else {
		l.change(0)
	}
}

// deliver notes a delivery. first is false for a duplicate, known is false for a
// message that this phase does not have.
func (l *ledger) deliver(p int, seq int64) (first, known bool) {
	if p >= len(l.words) || seq >= l.share(p) {
		return false, false
	}
	before := l.set(p, seq, deliveredBit)
	if before&deliveredBit != 0 {
		l.duplicate.Add(1)
		return false, true
	}
	l.delivered.Add(1)
	if before&confirmedBit != 0 {
		l.change(-1)
	}
	return true, true
}

func (l *ledger) change(by int64) {
	if l.outstanding.Add(by) != 0 {
		return
	}
	select {
	case l.zero <- struct{}{}:
	default:
	}
}

// unknown is how many offers have not been confirmed: answered by an error, or
// not answered (yet).
func (l *ledger) unknown() int64 { return l.attempted.Load() - l.confirmed.Load() }

// missing calls each with the number of every message that is confirmed and not
// delivered, until each returns false.
func (l *ledger) missing(each func(i int64) bool) {
	for p := range l.words {
		for w := range l.words[p] {
			word := l.words[p][w].Load()
			for slot := range int64(messagesPerWord) {
				if word>>(2*slot)&3 == confirmedBit && !each(l.index(p, int64(w)*messagesPerWord+slot)) {
					return
				}
			}
		}
	}
}

// hold notes that the implementation still has the message. Only one goroutine
// may call it, once the run has ended.
func (l *ledger) hold(p int, seq int64) {
	if p >= len(l.words) || seq >= l.share(p) {
		return
	}
	if l.held == nil {
		l.held = make([][]uint64, len(l.words))
	}
	if l.held[p] == nil {
		l.held[p] = make([]uint64, len(l.words[p]))
	}
	l.held[p][seq/messagesPerWord] |= confirmedBit << (seq % messagesPerWord * 2)
}

// balance is the state of every message at one instant.
type balance struct{ offered, delivered, pending, lost int64 }

// close strikes the balance after all calls of hold. A message that is still
// held was taken over, even if its offer failed.
func (l *ledger) close() balance {
	var b balance
	for p := range l.words {
		for w := range l.words[p] {
			word, held := l.words[p][w].Load(), uint64(0)
			if l.held != nil && l.held[p] != nil {
				held = l.held[p][w]
			}
			for ; word|held != 0; word, held = word>>2, held>>2 {
				switch {
				case word&deliveredBit != 0:
					b.delivered++
				case held&confirmedBit != 0:
					b.pending++
				case word&confirmedBit != 0:
					b.lost++
				}
			}
		}
	}
	b.offered = b.delivered + b.lost + b.pending
	return b
}
