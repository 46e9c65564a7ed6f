package scripts

import "github.com/dq-bench/dq-bench/dq/wire"

// ReliableNames are the keys of a reliable queue, all in the slot of D. Redisson knows none of them.
type ReliableNames struct {
	// Moved (M) is the LIST of values that BLMOVE took from D and nobody holds yet, and MovedBefore (B)
	// what is left of it from the turn before.
	Moved, MovedBefore string
	// Held (R) is the ZSET of what consumers hold, by the instant in Unix ms up to which they do. A
	// member is a token of 16 bytes, the attempt as a little-endian integer of 4, and the value.
	Held string
	// Attempts (A) is the HASH of how often each value was held: SHA-1 → attempts:Unix ms. Its field
	// "turned" says when M became B.
	Attempts string
	// Dead (X) is the ZSET of dead letters, by when they came there. A member is the token and the
	// attempt as in R, the length of a reason as a little-endian integer of 2 bytes, reason and value.
	Dead string
}

// ReliableNamesOf returns the keys for the destination queue dest.
func ReliableNamesOf(dest string) ReliableNames {
	return ReliableNames{
		Moved:       wire.PrefixName("dq_moved", dest),
		MovedBefore: wire.PrefixName("dq_moved_before", dest),
		Held:        wire.PrefixName("dq_held", dest),
		Attempts:    wire.PrefixName("dq_attempts", dest),
		Dead:        wire.PrefixName("dq_dead", dest),
	}
}

// Hold takes a value out of M or B and holds it.
//
//	KEYS    M, B, R, A
//	ARGV    value; token of 16 bytes; visibility in ms
//	returns the attempt, from 1; nil where it is in neither: it has gone back to D
//	cost    O(length of M and B), which are next to nothing; O(log n) in R
func Hold() Script { return hold }

// HoldNext takes the first values out of D and holds them: several only of those that were never held. One
// that was, which may be what ended its consumer, is held alone.
//
//	KEYS    D, R, A
//	ARGV    how many at most; the first 12 bytes of their tokens; visibility in ms
//	returns the members of R, in the order of D; the last 4 bytes of each token count them
//	cost    O(how many × log n)
func HoldNext() Script { return holdNext }

// Next is LMOVE D M LEFT RIGHT for servers before Redis 6.2, which have none.
//
//	KEYS    D, M
//	returns the value, or nil
//	cost    O(1)
func Next() Script { return next }

// Settle ends, or extends, what a consumer holds.
//
//	KEYS    R, A, X, D, T, Q, C
//	ARGV    "ack"; members
//	        "release"; members, which go back to the front of D in this order, and were never held
//	        "extend"; member; ms from now on
//	        "nack"; member; limit, or 0; reason; due time in Unix ms and the member of Q and T that is to
//	        be offered, both empty to put the value back in front at once
//	returns 0 where it is not held any more, and nothing was done; 2 where it became a dead letter, as
//	        it had limit attempts; else 1; of ack and release an array, for each
//	cost    O(members × log n)
func Settle() Script { return settle }

// Sweep puts back to the front of D what is held too long, and what was in M for a turn and longer.
//
//	KEYS    D, M, B, R, A, X
//	ARGV    limit, or 0; the turn in ms; how many at most; where the look for old counts goes on, 0 at
//	        first; how old they may be, in ms
//	returns [values put back; values that became dead letters, with limit attempts; for how many ms
//	        the first of the rest is still held, or nil; where the look goes on]
//	cost    O(how many × log n)
func Sweep() Script { return sweep }

// Dead drops dead letters, or puts their values to the end of D.
//
//	KEYS    X, D
//	ARGV    "drop" or "replay"; members
//	returns how many there were
//	cost    O(members × log n)
func Dead() Script { return dead }
