package load

import "sync/atomic"

// Bits of a message: the offer was confirmed, the message was delivered, it was
// cancelled. All sit in one word, so that of two goroutines that set one each,
// exactly one sees the other's.
const (
	confirmedBit    = 1
	deliveredBit    = 2
	removedBit      = 4
	bitsPerMessage  = 4
	messageMask     = 1<<bitsPerMessage - 1
	messagesPerWord = 64 / bitsPerMessage
)

// ledger accounts for every message of one phase that a part offers or takes, in four
// bits each. All methods may be called at once from many goroutines.
//
// A message is awaited if it comes due before the run ends. The callers of
// confirm, deliver and remove must agree on that for each message.
type ledger struct {
	producers int64
	messages  int64
	words     [][]atomic.Uint64 // by producer, then seq
	// owns tells which messages this part offers.
	owns func(p int, seq int64) bool

	attempted atomic.Int64
	confirmed atomic.Int64
	failed    atomic.Int64
	delivered atomic.Int64
	duplicate atomic.Int64
	early     atomic.Int64
	// outstanding is confirmed, awaited, and neither delivered nor cancelled. It
	// may be off by the operations that are under way, never by more. What a part
	// takes of others' counts against it, so that the sum over all parts is right.
	outstanding atomic.Int64
}

func newLedger(producers int, messages int64, owns func(p int, seq int64) bool) *ledger {
	l := &ledger{producers: int64(producers), messages: messages, owns: owns}
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
	shift := seq % messagesPerWord * bitsPerMessage
	return l.words[p][seq/messagesPerWord].Or(bit<<shift) >> shift & messageMask
}

// confirm notes that the implementation has taken the message over.
func (l *ledger) confirm(p int, seq int64, awaited bool) {
	l.confirmed.Add(1)
	if l.set(p, seq, confirmedBit)&deliveredBit == 0 {
		l.change(1, awaited)
	}
}

// deliver notes a delivery. first is false for a duplicate, known is false for a
// message that this phase does not have.
func (l *ledger) deliver(p int, seq int64, awaited bool) (first, known bool) {
	if !l.has(p, seq) {
		return false, false
	}
	before := l.set(p, seq, deliveredBit)
	if before&deliveredBit != 0 {
		l.duplicate.Add(1)
		return false, true
	}
	l.delivered.Add(1)
	if before&removedBit == 0 && (before&confirmedBit != 0 || !l.owns(p, seq)) {
		l.change(-1, awaited)
	}
	return true, true
}

// remove notes that a confirmed message was cancelled.
func (l *ledger) remove(p int, seq int64, awaited bool) {
	if l.set(p, seq, removedBit)&deliveredBit == 0 {
		l.change(-1, awaited)
	}
}

// has reports whether the phase has such a message.
func (l *ledger) has(p int, seq int64) bool { return p < len(l.words) && seq < l.share(p) }

func (l *ledger) change(by int64, awaited bool) {
	if awaited {
		l.outstanding.Add(by)
	}
}

// bitmap has a bit for each message, by its number in the whole schedule: bit i%8 of
// byte i/8.
func (l *ledger) bitmap(bit uint64) []byte {
	bitmap := make([]byte, (l.messages+7)/8)
	for p := range l.words {
		for w := range l.words[p] {
			seq := int64(w) * messagesPerWord
			for bits := l.words[p][w].Load(); bits != 0; bits >>= bitsPerMessage {
				if bits&bit != 0 {
					i := l.index(p, seq)
					bitmap[i/8] |= 1 << (i % 8)
				}
				seq++
			}
		}
	}
	return bitmap
}
