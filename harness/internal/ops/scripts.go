package ops

import (
	_ "embed"

	"github.com/dq-bench/dq-bench/dq/scripts"
	"github.com/dq-bench/dq-bench/dq/wire"
	"github.com/dq-bench/dq-bench/internal/redis"
)

var (
	//go:embed guard.lua
	guardBody string
	//go:embed change.lua
	changeBody string
	//go:embed loose.lua
	looseBody string

	// guardStep takes members out of a queue that are due before the horizon, and delivers the due ones.
	//
	//	KEYS    D, T, Q, H (AheadKey), X, U1, U2, V (see scripts.Unlisting), GuardingKey
	//	ARGV    now and horizon in Unix ms, -1 takes no member out; limit
	//	returns [score of the first member left in T with a possible due time, or nil; of the first in H, or nil; how many are in H;
	//	        taken out; of these delivered before, by a transfer that failed; delivered of dLc0; of Bc0Lc0; set aside in X]
	//	cost    O(limit × length of Q), as Redisson's: one LREM for each member
	guardStep = redis.NewScript(scripts.Prelude() + guardBody)

	// change does one thing to some members.
	//
	//	KEYS    T, Q, D, X, G (GhostsKey), U1, U2, P, H, JournalKey
	//	ARGV    action; the index in Q from which on the members were seen, or -1; channel; for each member: the member, its
	//	        new bytes or its value, a due time
	//	returns a digit for each: 1 changed, 0 not there any more, 2 the new member is there already
	//	cost    O(members × log n), and O(nodes of Q) for each that is listed
	change = redis.NewScript(scripts.Prelude() + changeBody)

	// loose does one thing to values in the destination, to messages of Workers, or to members that were set aside.
	//
	//	KEYS    D, X, L, V, N, dead letters (see scripts.LeaseNames), JournalKey
	//	ARGV    action; ready, held, retry, dead or aside; for each: its id, or the value; a value; a score, or the index in D; the count
	//	        of hand-outs
	//	returns as change
	loose = redis.NewScript(looseBody)
)

// Scripts are the texts that this package sends, for the analysis of logs.
func Scripts() []scripts.Script {
	return []scripts.Script{
		{Name: "guard-step", Body: scripts.Prelude() + guardBody, SHA1: guardStep.Hash()},
		{Name: "change", Body: scripts.Prelude() + changeBody, SHA1: change.Hash()},
		{Name: "loose", Body: looseBody, SHA1: loose.Hash()},
	}
}

// AheadKey returns the name of the ZSET of members that a guard has taken out of the queue with the destination dest, and
// delivers when they are due. Like the key of GhostsKey it is in the slot of the other keys.
func AheadKey(dest string) string { return wire.PrefixName("redisson_delay_queue_guard", dest) }

// GhostsKey returns the name of the LIST that keeps the ghosts that were removed.
func GhostsKey(dest string) string { return wire.PrefixName("redisson_delay_queue_ghosts", dest) }

// GuardingKey returns the name of a key that is there for some seconds after a guard has taken members out ahead.
func GuardingKey(dest string) string { return wire.PrefixName("redisson_delay_queue_guarding", dest) }
