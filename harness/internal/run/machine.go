package run

import "time"

// Machine is how the machine that dq-bench ran on behaved in the measured phase. What
// came late while it stood still was not held up by the implementation.
type Machine struct {
	Hiccups Hiccups `json:"hiccups"`
	// Late is missing where an implementation does not tell when its messages came.
	Late *LateMessages `json:"late,omitempty"`
	// StealSeconds is processor time that was wanted and that the hypervisor gave to
	// others, over all processors; missing where the kernel does not tell.
	StealSeconds *float64 `json:"steal_seconds,omitempty"`
	// BusyShare is how much of the time of all processors was taken while messages were
	// offered, by whomever, steal included; 0 where the kernel does not tell.
	BusyShare float64 `json:"busy_share,omitempty"`
}

// HiccupBound is by how much a sleep must last too long to be a hiccup.
const HiccupBound = time.Millisecond

// Hiccups are the times in which the machine did not run what was due: a goroutine that
// only sleeps, a millisecond at a time, was woken too late. Another program, the
// hypervisor or the collector of dq-bench may be the reason.
type Hiccups struct {
	Count     int64 `json:"count"`
	TotalNs   int64 `json:"total_ns"`
	LongestNs int64 `json:"longest_ns"`
	// Share is that of the total in the measured phase.
	Share float64 `json:"share"`
	// P99Ns is what 99 of 100 instants of the phase are delayed by at most, those outside
	// any hiccup too.
	P99Ns int64 `json:"p99_ns"`
}

// LateBound is by how much a message must be past due to be late.
const LateBound = time.Millisecond

// LateMessages are the latest hundredth of what was delivered, as far as it was late at
// all.
type LateMessages struct {
	Messages int64 `json:"messages"`
	// InHiccups is how many of them the machine held up: hiccups fill at least half of
	// the time from the due instant to the delivery.
	InHiccups int64 `json:"in_hiccups"`
}
