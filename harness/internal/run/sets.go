package run

import (
	"fmt"
	"math/bits"
)

// Sets is what is known of every message of the measured phase, as bitmaps: bit i%8 of
// byte i/8 stands for message i of the whole schedule, and bytes that are missing at the
// end are 0. The parts of a run, on one machine or on several, are joined by Add.
type Sets struct {
	// Confirmed are the messages whose offer was confirmed; Delivered came, and Removed
	// were cancelled.
	Confirmed, Delivered, Removed []byte
	// Held are those that were held at the end, NotDue those of them that were not due.
	Held, NotDue []byte
	// Again counts deliveries of messages that another part took as well.
	Again int64
}

// Add joins what another part knows. It returns how many messages both say they have
// offered, which none are in parts of one run.
func (s *Sets) Add(o Sets) (offeredTwice int64) {
	offeredTwice = join(&s.Confirmed, o.Confirmed)
	s.Again += o.Again + join(&s.Delivered, o.Delivered)
	join(&s.Removed, o.Removed)
	join(&s.Held, o.Held)
	join(&s.NotDue, o.NotDue)
	return offeredTwice
}

// join adds a bitmap to all, and returns how many both have.
func join(all *[]byte, more []byte) int64 {
	if len(more) > len(*all) {
		*all = append(*all, make([]byte, len(more)-len(*all))...)
	}
	common := 0
	for i, b := range more {
		common += bits.OnesCount8((*all)[i] & b)
		(*all)[i] |= b
	}
	return int64(common)
}

// Counts strikes the balance: delivered before cancelled before held before lost. A
// message that is still held was accepted, even if its offer failed.
func (s *Sets) Counts() Counts {
	c := Counts{Duplicate: s.Again}
	at := func(bitmap []byte, i int) byte {
		if i >= len(bitmap) {
			return 0
		}
		return bitmap[i]
	}
	count := func(b byte) int64 { return int64(bits.OnesCount8(b)) }
	for i := range max(len(s.Confirmed), len(s.Delivered), len(s.Held), len(s.Removed)) {
		delivered := at(s.Delivered, i)
		removed := at(s.Removed, i) &^ delivered
		held := at(s.Held, i) &^ delivered &^ removed
		c.Delivered += count(delivered)
		c.Removed += count(removed)
		c.Revived += count(at(s.Removed, i) & delivered)
		c.Pending += count(held)
		c.NotDue += count(held & at(s.NotDue, i))
		c.Lost += count(at(s.Confirmed, i) &^ delivered &^ removed &^ held)
	}
	c.Offered = c.Delivered + c.Removed + c.Pending + c.Lost
	return c
}

// Ones counts the messages of a bitmap.
func Ones(bitmap []byte) int64 {
	n := 0
	for _, b := range bitmap {
		n += bits.OnesCount8(b)
	}
	return int64(n)
}

// encode keeps what one of several workers knows.
func (w *Worker) encode(s *Sets) error {
	for _, set := range w.named(s) {
		encoded, err := NewMessageSet(*set.bitmap)
		if err != nil {
			return err
		}
		*set.encoded = encoded
	}
	return nil
}

// NewWorker is what one of several workers tells to the join.
func NewWorker(number, count int, s *Sets) (*Worker, error) {
	w := &Worker{Number: number, Count: count}
	return w, w.encode(s)
}

// sets decodes them, of n messages.
func (w *Worker) sets(n int64) (*Sets, error) {
	s := &Sets{}
	for _, set := range w.named(s) {
		bitmap, err := set.encoded.Bitmap(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", set.name, err)
		}
		*set.bitmap = bitmap
	}
	return s, nil
}

type namedSet struct {
	name    string
	encoded *MessageSet
	bitmap  *[]byte
}

func (w *Worker) named(s *Sets) []namedSet {
	return []namedSet{
		{"confirmed", &w.Confirmed, &s.Confirmed}, {"delivered", &w.Delivered, &s.Delivered}, {"removed", &w.Removed, &s.Removed},
		{"held", &w.Held, &s.Held}, {"not_due", &w.NotDue, &s.NotDue},
	}
}
