package analysis

import (
	"hash/maphash"

	"github.com/dq-bench/dq-bench/dq/wire"
)

// memberKey stands for the bytes of a member: two of its hashes. Among a thousand million
// members two are mixed up with a probability of 10⁻²¹.
type memberKey [2]uint64

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func keyOf(member string) memberKey {
	return memberKey{maphash.String(seeds[0], member), maphash.String(seeds[1], member)}
}

func valueOf(value string) uint64 { return maphash.String(seeds[0], value) }

// place is where a line is.
type place struct {
	file   int32
	number int64
	offset int64
}

// message is a member of a queue that is alive: in the timeout set, or in the pending
// list. It holds no pointer, so that the collector passes over millions of them.
type message struct {
	due     int64 // score: Unix ms by the clock of the client that offered it
	offered int64 // instant of the offer, µs of the server; 0 where it was before the log
	at      place // line of the offer
	value   uint64
	ahead   int32 // ms that client's clock was ahead
	host    int32 // index of its host, -1 if not known
	life    int32 // number of its life, 0 if none is drawn
	listed  int16 // copies in the pending list
	pushed  int16 // times that it was delivered by a transfer that then failed
	layout  wire.Layout
	flags   messageFlags
}

type messageFlags uint8

const (
	inSet      messageFlags = 1 << iota // in the timeout set
	clockKnown                          // ahead is known
	reported                            // as ghost or orphan
	setAside                            // in the quarantine of dq
	byHand                              // put into the set by no script
	beforeLog                           // neither its due time nor its offer is known
)

func (m *message) is(f messageFlags) bool { return m.flags&f != 0 }
func (m *message) set(f messageFlags)     { m.flags |= f }
func (m *message) clear(f messageFlags)   { m.flags &^= f }

// messages are those of all queues in one piece of memory, with the places of the dead
// ones used again.
type messages struct {
	all  []message
	free []int32
}

func (s *messages) add(m message) int32 {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.all[i] = m
		return i
	}
	s.all = append(s.all, m)
	return int32(len(s.all) - 1)
}

func (s *messages) remove(i int32) { s.free = append(s.free, i) }

// unpack returns the layout and the value of a member, whatever wrote it; layout 0 is of
// bytes that nobody can read. likely is tried first.
func unpack(member string, likely wire.Layout) (wire.Layout, string) {
	m, err := likely.UnpackAny([]byte(member))
	if err != nil {
		return 0, ""
	}
	return m.Layout, member[len(member)-len(m.Value):]
}
