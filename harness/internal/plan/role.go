package plan

import (
	"slices"
	"time"
)

// Role is the share of one part of a run: a member of the fleet, and of it what a
// worker does.
type Role struct {
	// Member is an index of Plan.Members.
	Member int
	Worker Worker
}

// shift is a stretch of time in which the same members are there: from an instant
// after the start of the measured phase to the next shift.
type shift struct {
	from          time.Duration
	offers, takes []int // members, in the order of the plan
}

// Roster says who does what when. It does not change and may be used at once from
// many goroutines.
type Roster struct {
	role   Role
	queues int
	shifts []shift
	member Member
}

// RosterOf returns the roster of a role. In the warm-up the members of the beginning
// do it all.
func RosterOf(p Plan, role Role, phase Phase) *Roster {
	members := p.Members()
	r := &Roster{role: role, queues: max(p.Queues, 1), member: members[role.Member]}
	instants := []time.Duration{0}
	if phase == Measured {
		for _, m := range members {
			instants = append(instants, m.From)
			if m.To > 0 {
				instants = append(instants, m.To)
			}
		}
	}
	slices.Sort(instants)
	for _, at := range slices.Compact(instants) {
		s := shift{from: at}
		for i, m := range members {
			if m.From > at || m.To > 0 && m.To <= at {
				continue
			}
			if m.Offers {
				s.offers = append(s.offers, i)
			}
			if m.Takes {
				s.takes = append(s.takes, i)
			}
		}
		r.shifts = append(r.shifts, s)
	}
	return r
}

// Offers reports whether a message of producer p that is to be sent at an instant
// after the start is this part's. Where nobody offers then, it is for the one that
// begins next.
func (r *Roster) Offers(p int, at time.Duration) bool {
	if !r.role.Worker.Owns(p) {
		return false
	}
	i, _ := slices.BinarySearchFunc(r.shifts, at+1, func(s shift, at time.Duration) int { return int(s.from - at) })
	for i = max(i-1, 0); i < len(r.shifts); i++ {
		if there := r.shifts[i].offers; len(there) > 0 {
			return there[r.role.Worker.nth(p)%len(there)] == r.role.Member
		}
	}
	return false
}

// OffersEver reports whether producer p has any message of this part.
func (r *Roster) OffersEver(p int) bool {
	return slices.ContainsFunc(r.shifts, func(s shift) bool { return r.Offers(p, s.from) })
}

// Takes returns when this part begins consumer c, after the start of the measured
// phase; it goes on to the part's end. ok is false if it never does.
func (r *Roster) Takes(c int) (from time.Duration, ok bool) {
	if !r.member.Takes || !r.role.Worker.Owns(c) {
		return 0, false
	}
	k := r.role.Worker.nth(c / r.queues)
	for _, s := range r.shifts {
		if len(s.takes) > 0 && s.takes[k%len(s.takes)] == r.role.Member {
			return s.from, true
		}
	}
	return 0, false
}
