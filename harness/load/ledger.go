package load

import "sync/atomic"

// Bits of a message: the offer was confirmed, the message was delivered, it was
// called off. All sit in one word, so that of two goroutines that set one each,
// exactly one sees the other's.
const (
	confirmedBit    = 1
	deliveredBit    = 2
	removedBit      = 4
	heldBit         = 1 // of the words of what is held
	futureBit       = 2
	bitsPerMessage  = 4
	messageMask     = 1<<bitsPerMessage - 1
	messagesPerWord = 64 / bitsPerMessage
)

// ledger accounts for every message of one phase, in four bits each. All methods
// may be called at once from many goroutines.
//
// A message is awaited if it comes due before the run ends. The callers of
// confirm, deliver and remove must agree on that for each message.
type ledger struct {
	producers int64
	messages  int64
	// worker says which of them this process offers.
	worker Worker
	words  [][]atomic.Uint64 // by producer, then seq
	held   [][]uint64        // the same shape, nil where nothing is held

	attempted atomic.Int64
	confirmed atomic.Int64
	failed    atomic.Int64
	delivered atomic.Int64
	duplicate atomic.Int64
	early     atomic.Int64
	// revived were delivered although they had been called off.
	revived atomic.Int64
	// outstanding is confirmed, awaited, and neither delivered nor called off. It
	// may be off by the operations that are under way, never by more. What a worker
	// takes of others' counts against it, so that the sum over all workers is right.
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
	shift := seq % messagesPerWord * bitsPerMessage
	return l.words[p][seq/messagesPerWord].Or(bit<<shift) >> shift & messageMask
}

// confirm notes that the implementation has taken the message over.
func (l *ledger) confirm(p int, seq int64, awaited bool) {
	l.confirmed.Add(1)
	if l.set(p, seq, confirmedBit)&deliveredBit == 0 {
		l.change(1, awaited)
	} else {
		l.change(0, awaited)
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
	switch {
	case before&removedBit != 0:
		l.revived.Add(1)
	case before&confirmedBit != 0, !l.worker.owns(p):
		l.change(-1, awaited)
	}
	return true, true
}

// remove notes that a confirmed message was called off.
func (l *ledger) remove(p int, seq int64, awaited bool) {
	if l.set(p, seq, removedBit)&deliveredBit != 0 {
		l.revived.Add(1)
		return
	}
	l.change(-1, awaited)
}

// has reports whether the phase has such a message.
func (l *ledger) has(p int, seq int64) bool { return p < len(l.words) && seq < l.share(p) }

func (l *ledger) change(by int64, awaited bool) {
	if !awaited || l.outstanding.Add(by) != 0 {
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

// missing calls each with the number of every message that is confirmed and
// neither delivered nor called off, until each returns false.
func (l *ledger) missing(each func(i int64) bool) {
	for p := range l.words {
		for w := range l.words[p] {
			word := l.words[p][w].Load()
			for slot := range int64(messagesPerWord) {
				if word>>(bitsPerMessage*slot)&messageMask == confirmedBit && !each(l.index(p, int64(w)*messagesPerWord+slot)) {
					return
				}
			}
		}
	}
}

// hold notes that the implementation still has the message, which is not due yet
// if future is set. Only one goroutine may call it, once the run has ended.
func (l *ledger) hold(p int, seq int64, future bool) {
	if !l.has(p, seq) {
		return
	}
	if l.held == nil {
		l.held = make([][]uint64, len(l.words))
	}
	if l.held[p] == nil {
		l.held[p] = make([]uint64, len(l.words[p]))
	}
	bits := uint64(heldBit)
	if future {
		bits |= futureBit
	}
	l.held[p][seq/messagesPerWord] |= bits << (seq % messagesPerWord * bitsPerMessage)
}

// balance is the state of every message at one instant.
type balance struct{ offered, delivered, removed, pending, notDue, lost int64 }

// close strikes the balance after all calls of hold. A message that is still
// held was taken over, even if its offer failed.
func (l *ledger) close() balance {
	if l.worker.Shared() {
		return l.closeShare()
	}
	var b balance
	for p := range l.words {
		for w := range l.words[p] {
			word, held := l.words[p][w].Load(), uint64(0)
			if l.held != nil && l.held[p] != nil {
				held = l.held[p][w]
			}
			for ; word|held != 0; word, held = word>>bitsPerMessage, held>>bitsPerMessage {
				switch {
				case word&deliveredBit != 0:
					b.delivered++
				case word&removedBit != 0:
					b.removed++
				case held&heldBit != 0:
					b.pending++
					b.notDue += int64(held & futureBit / futureBit)
				case word&confirmedBit != 0:
					b.lost++
				}
			}
		}
	}
	b.offered = b.delivered + b.removed + b.lost + b.pending
	return b
}
